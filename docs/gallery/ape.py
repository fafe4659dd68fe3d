"""Error probability along the prior.

The probability of error of Bayes decisions (solid), and of decisions at the best threshold
(dashed), as a function of the prior. The area below the solid line is proportional to Cllr, and the
area between the lines is the loss from miscalibration.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
systems = {"raw": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}

ax = fp.plotting.ape(systems)
