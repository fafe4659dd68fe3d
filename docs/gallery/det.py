"""DET curve.

The miss rate against the false-alarm rate on probit axes, with a band from resampling speakers. The
hollow marker is the lowest detection cost; the filled marker is the cost of Bayes decisions with
the LLRs.
"""

import fastpsr as fp

trials = fp.simulate.trial_list(500, 20_000, seed=1)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr, prior=0.01)
speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
band = fp.band(fp.roc, raw, n_resamples=200, resampling=speakers, seed=0)

points = [fp.MinDCF(0.01), fp.ActDCF(0.01)]
ax = fp.plotting.det({"simulated": raw}, operating_points=points, band={"simulated": band})
