"""`decompose` against model-diagnostics, where that is installed."""

import numpy as np
import pytest

import fastpsr as fp

scoring = pytest.importorskip("model_diagnostics.scoring")

RULES = {
    # for two classes the Brier score, with its factor 1/K, is the squared error of P(class 1)
    "squared error": (fp.rules.Brier(), scoring.SquaredError),
    "log loss": (fp.rules.Log(), scoring.LogLoss),
}


@pytest.mark.parametrize("rule_name", RULES)
@pytest.mark.parametrize(
    ("n", "weighted", "digits"),
    [(50, False, 1), (50, True, 12), (5_000, False, 12), (5_000, True, 1)],
)
def test_decompose_equals_model_diagnostics(rule_name, n, weighted, digits):
    rule, score = RULES[rule_name]
    rng = np.random.default_rng([n, digits])
    y = np.arange(n) % 3 == 0
    q = np.round(1.0 / (1.0 + np.exp(-1.3 * rng.normal(size=n) - y)), digits).clip(0.01, 0.99)
    w = rng.integers(1, 9, n) * 0.7 if weighted else None
    ours = fp.decompose(fp.Predictions.from_posteriors(y, q, sample_weight=w), rule)
    theirs = scoring.decompose(y.astype(float), q, weights=w, scoring_function=score())
    for name in ("score", "miscalibration", "discrimination", "uncertainty"):
        assert getattr(ours, name) == pytest.approx(theirs[name].item(), rel=1e-12, abs=1e-12)
