"""Maps of calibrators.

LLRs after calibration against LLRs before it. The affine map cannot follow their bend, the spline
can; the isotonic map (PAV) is constant outside the range of its training data.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
bent = trials.llr * abs(trials.llr) / 8
raw = fp.Predictions.from_llrs(trials.y_true, bent, prior=0.01)
calibrators = {
    "affine": fp.DirectionPreserving(),
    "spline": fp.Spline(),
    "PAV": fp.PAV(laplace=True),
}

ax = fp.plotting.calibration_map({name: each.fit(raw) for name, each in calibrators.items()})
