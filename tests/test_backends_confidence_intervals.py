"""`fastpsr.compat.confidence_intervals` against confidence-intervals itself, without conditions."""

import inspect

import numpy as np
import pytest

theirs = pytest.importorskip("confidence_intervals")

import fastpsr as fp
from fastpsr.compat.confidence_intervals import evaluate_with_conf_int
from tests import reference_bootstrap as reference

N = 600


def sample(seed=0):
    """Labels and LLRs."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(N) < 0.3).astype(int)
    return labels, 3.0 * labels - 1.0 + rng.normal(size=N)


def test_signatures_are_equal():
    ours, original = map(inspect.signature, (evaluate_with_conf_int, theirs.evaluate_with_conf_int))
    assert list(ours.parameters) == list(original.parameters)
    for name, parameter in original.parameters.items():
        assert ours.parameters[name].default == parameter.default


@pytest.mark.parametrize("metric", [fp.Cllr(), fp.EER(), fp.ActDCF(0.2)], ids=lambda m: m.label)
def test_replicates_are_distributed_alike(metric):
    """Kolmogorov-Smirnov, means and spreads: 1,500 replicates against 400 of the package."""
    labels, llrs = sample()
    data = fp.Predictions.from_llrs(labels, llrs)
    ours = fp.bootstrap(metric, data, n_resamples=1_500, seed=1).replicates
    state = np.random.RandomState(3)
    rows = [theirs.get_bootstrap_indices(N, None, random_state=state) for _ in range(400)]
    original = np.array([metric(labels[r], llrs[r]) for r in rows])
    reference.assert_same_distribution(ours, original)
    error = np.sqrt(ours.var() / ours.size + original.var() / original.size)
    assert abs(ours.mean() - original.mean()) < 5.0 * error
    assert abs(np.log(ours.std() / original.std())) < 5.0 * np.sqrt(0.5 / 1_500 + 0.5 / 400)
