"""How many samples are needed.

The width of an interval as a function of the number of samples, extrapolated from a pilot.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(200, 4_000, seed=1)
pilot = fp.Predictions.from_llrs(trials.y_true, trials.llr)
needed = fp.sample_size(fp.BrierScore(), pilot, 0.05, n_resamples=200, seed=0)

ax = fp.plotting.sample_size({"Brier score": needed})
