"""Proper scoring rules, their entropies and score divergences."""

from fastpsr.rules.base import Brier, Cost, Log, ScoringRule, l1_distance
from fastpsr.rules.weighted import Beta, Weighted

__all__ = ["Beta", "Brier", "Cost", "Log", "ScoringRule", "Weighted", "l1_distance"]
