"""What samples are reduced to before a number is made of them; summaries of chunks merge."""

from fastpsr.summaries.bins import BinSums
from fastpsr.summaries.counts import DecisionCounts, PassedPoints
from fastpsr.summaries.rank_cells import RankCells
from fastpsr.summaries.sums import ReferenceSums, ScoreSums

__all__ = [
    "BinSums",
    "DecisionCounts",
    "PassedPoints",
    "RankCells",
    "ReferenceSums",
    "ScoreSums",
]
