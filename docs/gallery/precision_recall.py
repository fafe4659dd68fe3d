"""Precision and recall.

The precision against the recall, with a pointwise 95 % band. The dotted line is the precision of
chance, which is the share of class 1.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 9_500, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)

band = fp.band(fp.precision_recall, raw, seed=0)
ax = fp.plotting.precision_recall({"simulated": raw}, band={"simulated": band})
