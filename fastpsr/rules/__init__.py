"""Proper scoring rules, their entropies and score divergences."""

from fastpsr.rules.base import ScoringRule
from fastpsr.rules.standard import Brier, Cost, Log, l1_distance

__all__ = ["Brier", "Cost", "Log", "ScoringRule", "l1_distance"]
