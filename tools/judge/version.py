"""The judge's version: part of every verdict's key, raised whenever a verdict could come out differently."""

JUDGE_VERSION = "3"
