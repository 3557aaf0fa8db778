"""The judge: reference, secret seeds, expected outputs, comparison and clock on one side; the candidate on the other."""
