"""Figures: numbers of the library drawn with matplotlib.

Every function takes results, or a mapping of names to results, and ``ax``; it forwards keywords to
the artists and returns the axes. None changes a global style, and none shows a figure. Legends and
notes are below the axes: a figure without a layout engine gets the constrained one, which makes
room for them.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ModuleNotFoundError as _error:
    raise ImportError('plotting needs matplotlib: pip install "fastpsr[plot]"') from _error

from fastpsr.plotting.bars import metric_bars
from fastpsr.plotting.bayes_error import ape, bayes_error
from fastpsr.plotting.calibration_map import calibration_map
from fastpsr.plotting.cross_entropy import empirical_cross_entropy
from fastpsr.plotting.det import det
from fastpsr.plotting.divergence import divergence_curve
from fastpsr.plotting.histogram import score_histogram
from fastpsr.plotting.pav import pav_map
from fastpsr.plotting.reliability import reliability
from fastpsr.plotting.reliability_bins import reliability_bins
from fastpsr.plotting.risk import risk_curve
from fastpsr.plotting.roc import roc
from fastpsr.plotting.rules import rule_losses
from fastpsr.plotting.sample_size import sample_size
from fastpsr.plotting.tippett import tippett

__all__ = [
    "ape",
    "bayes_error",
    "calibration_map",
    "det",
    "divergence_curve",
    "empirical_cross_entropy",
    "metric_bars",
    "pav_map",
    "reliability",
    "reliability_bins",
    "risk_curve",
    "roc",
    "rule_losses",
    "sample_size",
    "score_histogram",
    "tippett",
]
