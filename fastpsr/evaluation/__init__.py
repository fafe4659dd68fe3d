"""Tables of metrics: rows, default metrics, several systems and groups, comparisons."""

from fastpsr.bootstrap.settings import Intervals
from fastpsr.evaluation.best_calibrator import BestCalibrator
from fastpsr.evaluation.decomposition import Decomposition, decompose
from fastpsr.evaluation.evaluate import evaluate, evaluate_systems
from fastpsr.evaluation.fusion_gains import evaluate_fusion
from fastpsr.evaluation.select import Candidate, Selection, select
from fastpsr.evaluation.specification import GroupPairs, Pairs
from fastpsr.evaluation.table import Difference, Evaluation, Group, Row
from fastpsr.evaluation.task import NoIntervalsWarning
from fastpsr.metrics.defaults import default_metrics

__all__ = [
    "BestCalibrator",
    "Candidate",
    "Decomposition",
    "Difference",
    "Evaluation",
    "Group",
    "GroupPairs",
    "Intervals",
    "NoIntervalsWarning",
    "Pairs",
    "Row",
    "Selection",
    "decompose",
    "default_metrics",
    "evaluate",
    "evaluate_fusion",
    "evaluate_systems",
    "select",
]
