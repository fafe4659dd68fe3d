"""Draw the picture of the README: python docs/picture.py docs/picture.svg."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import fastpsr as fp

trials = fp.simulate.trial_list(seed=0)
speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)
systems = {"uncalibrated": raw, "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw)}
metrics = [fp.CrossEntropy(), fp.BrierScore(), fp.ActDCF(0.01)]
axis = np.linspace(-7.0, 7.0, 141)

mpl.rcParams.update({"svg.hashsalt": "fastpsr", "svg.fonttype": "none", "font.size": 10})
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.0, 4.6), width_ratios=[3, 2], layout="constrained"
)
curves = {name: fp.bayes_error(system, axis) for name, system in systems.items()}
bands = {
    name: fp.band(fp.bayes_error, system, points=axis, n_resamples=200, resampling=speakers, seed=0)
    for name, system in systems.items()
}
fp.plotting.bayes_error(curves, band=bands, ax=left)
left.set_title("Cost of Bayes decisions, at every prior")
table = fp.evaluate(systems, metrics, n_resamples=200, resampling=speakers, seed=0)
fp.plotting.metric_bars(table, reference=1.0, ax=right)
right.set_title("Metrics, with 95 % intervals")
figure.savefig(sys.argv[1], metadata={"Date": None})
