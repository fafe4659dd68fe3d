"""Groups of samples: by values of columns, their combinations, and bins of numbers."""

from fastpsr.groups.binning import Bins
from fastpsr.groups.crossed import Crossed
from fastpsr.groups.groups import By, Grouping, Rows, SharedTargets, Subgroup, groups_of

__all__ = ["Bins", "By", "Crossed", "Grouping", "Rows", "SharedTargets", "Subgroup", "groups_of"]
