"""Figures: numbers of the library drawn with matplotlib.

Every function takes results, or a mapping of names to results, and ``ax``; it forwards keywords to
the artists and returns the axes. No function changes a global style or shows a figure. A note names
each system that cannot be drawn, with the reason. Notes stand below the axes, and the legend of a
figure below all of its axes: a figure without a layout engine gets the constrained one, which
leaves space for them.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ModuleNotFoundError as _error:
    raise ImportError('plotting needs matplotlib: pip install "fastpsr[plot]"') from _error

from fastpsr.plotting.bars import metric_bars
from fastpsr.plotting.canvas import in_base_10
from fastpsr.plotting.error_rates import det, precision_recall, roc
from fastpsr.plotting.priors import ape, bayes_error, empirical_cross_entropy
from fastpsr.plotting.reliability import reliability, reliability_bins
from fastpsr.plotting.sample_size import sample_size
from fastpsr.plotting.scores import calibration_map, pav_map, score_histogram, tippett

__all__ = [
    "ape",
    "bayes_error",
    "calibration_map",
    "det",
    "empirical_cross_entropy",
    "in_base_10",
    "metric_bars",
    "pav_map",
    "precision_recall",
    "reliability",
    "reliability_bins",
    "roc",
    "sample_size",
    "score_histogram",
    "tippett",
]
