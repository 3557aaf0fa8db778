"""The shipped corpus of cheats and honest candidates, and what the judge must make of each."""
