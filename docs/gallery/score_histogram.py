"""Scores of both classes.

The densities of the LLRs of targets and of non-targets.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
systems = {"raw": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}

ax = fp.plotting.score_histogram(systems)
