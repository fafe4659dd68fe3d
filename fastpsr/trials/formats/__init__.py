"""Formats of trial files: how each is detected, read and written."""

from fastpsr.trials.formats.registry import FORMATS, REGISTRY, endings_of, may_end_in

__all__ = ["FORMATS", "REGISTRY", "endings_of", "may_end_in"]
