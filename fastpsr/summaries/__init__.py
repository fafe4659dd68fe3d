"""Summaries of samples, from which metrics are computed; summaries of parts can be merged."""

from fastpsr.summaries.bins import BinTotals
from fastpsr.summaries.counts import DecisionCounts
from fastpsr.summaries.losses import ReferenceMeans, ScoreTotals
from fastpsr.summaries.rank_table import RankTable

__all__ = [
    "BinTotals",
    "DecisionCounts",
    "RankTable",
    "ReferenceMeans",
    "ScoreTotals",
]
