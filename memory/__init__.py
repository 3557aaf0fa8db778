"""The lowest floor: records, errors, the expression grammar, and everything that is stored."""
