"""Bayes risk along the operating point.

Bayes risks against the log-odds of the operating point, weighted so that the area is the cross-
entropy. Overconfident posteriors lose far from 0.
"""

import fastpsr as fp

made = fp.simulate.gaussian_classes(4_000, scale=2.0, seed=1)
systems = {
    "calibrated": fp.Predictions.from_log_posteriors(made.y_true, made.cal),
    "overconfident": fp.Predictions.from_log_posteriors(made.y_true, made.mcs),
}

ax = fp.plotting.risk_curve(systems)
