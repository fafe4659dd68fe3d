"""LLRs after PAV.

LLRs after the best monotone map (PAV) against the LLRs before it. Calibrated LLRs follow the
diagonal.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
systems = {"raw": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}

ax = fp.plotting.pav_map(systems)
