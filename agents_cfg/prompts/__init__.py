"""Prompt texts, as data."""
