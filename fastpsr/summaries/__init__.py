"""Summaries of samples, from which metrics are computed; summaries of parts can be merged."""

from fastpsr.summaries.bins import BinSums
from fastpsr.summaries.counts import DecisionCounts
from fastpsr.summaries.rank_cells import RankCells
from fastpsr.summaries.sums import ReferenceMeans, ScoreSums

__all__ = [
    "BinSums",
    "DecisionCounts",
    "RankCells",
    "ReferenceMeans",
    "ScoreSums",
]
