"""Normalized Bayes error.

Actual DCF (solid) and minimum DCF (dashed) along the prior, normalized. Above 1, it would be better
to ignore the scores.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
systems = {"raw": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}

ax = fp.plotting.bayes_error(systems)
