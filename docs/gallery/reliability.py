"""Reliability diagram.

The frequency of class 1 after PAV against its posterior, without bins, with bootstrap bands.
Calibrated posteriors follow the diagonal.
"""

import fastpsr as fp

made = fp.simulate.gaussian_classes(4_000, scale=2.0, seed=1)
systems = {
    "calibrated": fp.Predictions.from_log_posteriors(made.y_true, made.cal),
    "overconfident": fp.Predictions.from_log_posteriors(made.y_true, made.mcs),
}

ax = fp.plotting.reliability(systems, n_resamples=100, seed=0)
