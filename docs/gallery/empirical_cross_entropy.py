"""Empirical cross-entropy.

The ECE plot of forensic science: cross-entropy in bits along the prior, with the LLRs (solid),
after PAV (dashed), and with all LLRs set to 0 (dotted). Where the solid line is above the dotted
line, the LLRs do harm.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
systems = {"raw": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}

ax = fp.plotting.empirical_cross_entropy(systems)
