"""Metrics with intervals.

Metrics as bars, with confidence intervals. A useful system has normalized metrics below 1.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
systems = {"raw": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}

metrics = [fp.CrossEntropy(), fp.BrierScore(), fp.ActDCF(0.01)]
table = fp.evaluate(systems, metrics, n_resamples=200, seed=0)

ax = fp.plotting.metric_bars(table, reference=1.0)
