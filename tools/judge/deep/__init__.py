"""Profilers and checkers over one call of a candidate: they explain and warn, and decide no verdict on speed."""
