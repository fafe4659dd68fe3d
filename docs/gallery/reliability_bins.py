"""Reliability in bins.

The frequency of class 1 in bins of its posterior. The expected calibration error averages the gaps
between frequency and mean posterior. The upper panel shows the number of samples in each bin.
"""

import fastpsr as fp

made = fp.simulate.gaussian_classes(4_000, scale=2.0, seed=1)
systems = {
    "calibrated": fp.Predictions.from_log_posteriors(made.y_true, made.cal),
    "overconfident": fp.Predictions.from_log_posteriors(made.y_true, made.mcs),
}

ax = fp.plotting.reliability_bins(systems["overconfident"])
