"""The judge: reference, seeds, expected outputs and clock on one side, the candidate on the other."""
