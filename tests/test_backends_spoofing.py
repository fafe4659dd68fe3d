"""The minimal a-DCF against the package `a_dcf`, which the evaluation of ASVspoof 5 adopted."""

import numpy as np
import pytest

import fastpsr as fp

theirs = pytest.importorskip("a_dcf.a_dcf")


def min_a_dcf(targets, nontargets, spoofs, model):
    """As `calculate_a_dcf`, which reads a file with a type that NumPy no longer has."""
    fa, fa_spoof, miss, _ = theirs.compute_a_det_curve(targets, nontargets, spoofs)
    costs = model.Cmiss * model.Ptrg * np.array(miss) + model.Cfa_asv * model.Pnontrg * np.array(fa)
    costs += model.Cfa_cm * model.Pspf * np.array(fa_spoof)
    return theirs.normalize(costs, model).min()


def scores(seed, digits=15):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(20, 500, 3)
    return [
        np.round(rng.normal(m, 1.0, n), digits) for m, n in zip((2, -1, 0.5), sizes, strict=True)
    ]


def ours(targets, nontargets, spoofs, *costs):
    kinds = np.repeat([2, 0, 1], [targets.size, nontargets.size, spoofs.size])
    everything = np.concatenate([targets, nontargets, spoofs])
    return fp.MinADCF(kinds == 1, *costs)(kinds == 2, everything)


@pytest.mark.parametrize("seed", range(5))
def test_other_costs(seed):
    by_kind = scores(seed)
    model = theirs.CostModel(Pspf=0.3, Pnontrg=0.2, Ptrg=0.5, Cmiss=2, Cfa_asv=1, Cfa_cm=5)
    expected = min_a_dcf(*by_kind, model)
    assert ours(*by_kind, 0.2, 0.3, 2.0, 1.0, 5.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("digits", [0, 1, 15])
@pytest.mark.parametrize("seed", range(3))
def test_values_and_ties(seed, digits):
    """Theirs takes ties apart, but misses targets first, which is never better."""
    by_kind = scores(seed, digits)
    assert ours(*by_kind) == pytest.approx(min_a_dcf(*by_kind, theirs.CostModel()), rel=1e-12)


def test_scores_that_tell_nothing():
    equal = [np.zeros(n) for n in (4, 3, 2)]
    assert min_a_dcf(*equal, theirs.CostModel()) == ours(*equal) == 1.0
