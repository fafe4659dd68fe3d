"""Empirical cross-entropy.

The ECE plot of forensics: cross-entropy in bits as a function of the prior, of the LLRs (solid),
after PAV (dashed), and of LLRs that are all 0. A solid line above the last does harm.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
systems = {"raw": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}

ax = fp.plotting.empirical_cross_entropy(systems)
