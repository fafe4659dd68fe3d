"""Tables of metrics: rows, default metrics, several systems and groups, comparisons."""

from fastpsr.bootstrap.settings import Intervals
from fastpsr.evaluation.comparison import Difference, Pairs
from fastpsr.evaluation.defaults import default_metrics, detection_metrics
from fastpsr.evaluation.evaluate import NoIntervalsWarning, evaluate, evaluate_systems
from fastpsr.evaluation.groups import Grouping, SharedTargets
from fastpsr.evaluation.table import Evaluation, Group, Row

__all__ = [
    "Difference",
    "Evaluation",
    "Group",
    "Grouping",
    "Intervals",
    "NoIntervalsWarning",
    "Pairs",
    "Row",
    "SharedTargets",
    "default_metrics",
    "detection_metrics",
    "evaluate",
    "evaluate_systems",
]
