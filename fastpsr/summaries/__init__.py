"""Summaries of samples, from which metrics are computed; summaries of parts can be merged."""

from fastpsr.summaries.bins import BinTotals
from fastpsr.summaries.counts import DecisionCounts
from fastpsr.summaries.losses import ReferenceMeans, ScoreTotals
from fastpsr.summaries.rank_cells import RankCells

__all__ = [
    "BinTotals",
    "DecisionCounts",
    "RankCells",
    "ReferenceMeans",
    "ScoreTotals",
]
