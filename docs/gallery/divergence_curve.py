"""Divergence from a constant.

The mean divergence of posteriors from a constant. Score divergences have their minimum at the mean
of the posteriors, the L1 distance has not (Ferrer and Ramos, 2024, Figure 4).
"""

import numpy as np

import fastpsr as fp

posteriors = np.random.default_rng(0).beta(0.5, 2.0, 2_000)
data = fp.Predictions.from_posteriors(None, posteriors)
points = np.linspace(0.01, 0.99, 99)
divergences = {"log": fp.rules.Log(), "Brier": fp.rules.Brier(), "L1": fp.rules.l1_distance}

ax = fp.plotting.divergence_curve(
    {name: fp.divergence_curve(data, each, points) for name, each in divergences.items()}
)
