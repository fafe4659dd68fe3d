"""Evaluate probabilistic classifiers the way decision theory says it should be done."""

__version__ = "0.1.0"
