"""The work itself: tasks, templates, the judge and the evaluator that everybody asks."""
