"""Reliability in bins.

Frequencies in bins, whose distances from the mean posteriors the expected calibration error
averages. Above are the numbers of samples.
"""

import fastpsr as fp

made = fp.simulate.gaussian_classes(4_000, scale=2.0, seed=1)
systems = {
    "calibrated": fp.Predictions.from_log_posteriors(made.y_true, made.cal),
    "overconfident": fp.Predictions.from_log_posteriors(made.y_true, made.mcs),
}

ax = fp.plotting.reliability_bins(systems["overconfident"])
