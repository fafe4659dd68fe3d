"""ROC.

The hit rate against the false-alarm rate, with the convex hull.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)

ax = fp.plotting.roc({"simulated": raw}, hull=True)
