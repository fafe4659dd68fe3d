"""`fastpsr.compat` against the definitions of other packages, written out naively."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.compat import nist
from fastpsr.compat.confidence_intervals import evaluate_with_conf_int
from fastpsr.compat.speechbrain import EER, minDCF
from tests.refusal import refuses


def lists(seed, n_targets=40, n_nontargets=150, digits=None):
    """Scores of targets and of non-targets, rounded if digits are given."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(1.0, 1.0, n_targets), rng.normal(-0.5, 1.0, n_nontargets)
    return scores if digits is None else tuple(np.round(rates_of, digits) for rates_of in scores)


LISTS = [
    *(lists(k) for k in range(2)),
    *(lists(k, digits=1) for k in range(4)),
    lists(9, 1, 1),
    lists(9, 1, 30),
    lists(9, 30, 1),
    (np.arange(3.0), np.arange(3.0)),
    (np.zeros(2), np.zeros(2)),
    (np.ones(3), np.zeros(4)),
    (np.zeros(3), np.ones(4)),
    (np.arange(2.0), np.full(1, 2.0)),
    (np.array([-np.inf, 0.0, np.inf]), np.array([-np.inf, 0.5])),
    (np.full(2, np.inf), np.full(3, np.inf)),
    (np.full(2, -np.inf), np.full(3, -np.inf)),
]


# speechbrain


def points(positives, negatives):
    """(threshold, misses, false alarms) at every score: what is above it is accepted."""
    return [
        (t, int((positives <= t).sum()), int((negatives > t).sum()))
        for t in sorted({*positives.tolist(), *negatives.tolist()})
    ]


@pytest.mark.parametrize("scores", LISTS, ids=range(len(LISTS)))
def test_eer_and_min_dcf_are_those_at_the_best_threshold(scores):
    positives, negatives = scores
    n, m = positives.size, negatives.size
    best = min(points(*scores), key=lambda p: abs(p[1] * m - p[2] * n))  # the first of equals
    value, threshold = EER(positives, negatives)
    assert threshold == best[0]
    assert value == pytest.approx((best[1] / n + best[2] / m) / 2.0, rel=1e-14)
    assert type(value) is type(threshold) is float
    assert EER(positives[::-1], negatives[::-1]) == (value, threshold)
    for costs in ((), (1.0, 1.0, 0.5), (10.0, 1.0, 0.05), (0.0, 1.0, 0.1)):
        c_miss, c_fa, p_target = costs or (1.0, 1.0, 0.01)
        cost_at = {
            t: c_miss * p_target * miss / n + c_fa * (1 - p_target) * fa / m
            for t, miss, fa in points(*scores)
        }
        value, threshold = minDCF(*scores, *costs)
        assert value == pytest.approx(min(cost_at.values()), rel=1e-12)
        assert cost_at[threshold] == pytest.approx(value, rel=1e-12)


# wespeaker and 3D-Speaker


def labeled(positives, negatives, seed=0):
    """Scores and labels of both classes, in random order."""
    scores = np.concatenate([negatives, positives])
    order = np.random.default_rng(seed).permutation(scores.size)
    return scores[order], (order >= negatives.size).astype(int)


@pytest.mark.parametrize("digits", [None, 1, 0])
def test_rates_are_those_at_each_score_in_any_order(digits):
    positives, negatives = lists(3, digits=digits)
    scores, labels = labeled(positives, negatives)
    rates = nist.compute_pmiss_pfa_rbst(scores, labels)
    above = np.sort(scores)[:, None]
    np.testing.assert_allclose(rates[0], (positives <= above).mean(axis=1), atol=1e-14)
    np.testing.assert_allclose(rates[1], (negatives > above).mean(axis=1), atol=1e-14)
    again = nist.compute_pmiss_pfa_rbst(*labeled(positives, negatives, seed=1))
    np.testing.assert_array_equal(again, rates)
    eer, threshold = nist.compute_eer(*rates, scores)
    data = fp.Predictions.from_raw_scores(labels, scores)
    assert nist.compute_eer(*rates) == eer == pytest.approx(fp.EER("crossing")(data), rel=1e-12)
    crossed = rates[0] >= rates[1]
    assert threshold == np.sort(scores)[crossed][0]
    for p, c_miss, c_fa in ((0.01, 1, 1), (0.05, 10, 1), (0.7, 1, 2)):
        cost = (c_miss * p * rates[0] + c_fa * (1 - p) * rates[1]).min()
        normalized = nist.compute_c_norm(*rates, p, c_miss, c_fa)
        assert normalized == pytest.approx(cost / min(c_miss * p, c_fa * (1 - p)), rel=1e-12)
    four = nist.compute_pmiss_pfa_rbst([2.0] * 4, [0, 1, 1, 0])
    assert nist.compute_eer(*four, [2.0] * 4) == (0.5, 2.0)


def test_weights_are_repetitions():
    scores, labels = labeled(*lists(4, 20, 30))
    weights = np.random.default_rng(0).integers(0, 4, 50)
    weighted = nist.compute_pmiss_pfa_rbst(scores, labels, weights)
    repeated = nist.compute_pmiss_pfa_rbst(scores.repeat(weights), labels.repeat(weights))
    for result in (nist.compute_eer, lambda *rates: nist.compute_c_norm(*rates, 0.3)):
        assert result(*weighted) == pytest.approx(result(*repeated), rel=1e-12)


# confidence-intervals


def test_intervals_are_percentiles_of_the_bootstrap():
    rng = np.random.default_rng(5)
    labels, conditions = rng.integers(0, 2, 400), rng.integers(0, 15, 400)
    llrs = 2.0 * labels - 1.0 + rng.normal(size=400)
    data = fp.Predictions.from_llrs(labels, llrs)
    for scheme, ids in ((fp.IID(), None), (fp.Nested(conditions), conditions)):
        value, interval = evaluate_with_conf_int(llrs, fp.Cllr(), labels, ids, 300, alpha=10)
        result = fp.bootstrap(fp.Cllr(), data, n_resamples=300, resampling=scheme, seed=0)
        assert value == fp.Cllr()(data)
        assert interval == tuple(np.percentile(result.replicates, [5, 95]))
        from_one = evaluate_with_conf_int(llrs, fp.Cllr(), labels, ids, 1)
        assert from_one == (value, (result.replicates[0],) * 2)


@pytest.mark.parametrize("conditions", [None, np.arange(300) % 12])
def test_callables_are_called_with_the_rows_of_replicates(conditions):
    """A ratio of two arrays has the replicates of one of weighted sums."""
    a, b = np.exp(0.2 * np.random.default_rng(6).normal(size=(2, 300)))
    values = []

    def ratio(samples, samples2):
        values.append(samples.sum() / samples2.sum())
        return values[-1]

    value, interval = evaluate_with_conf_int(
        a, ratio, samples2=b, conditions=conditions, num_bootstraps=100
    )
    assert value == values[0] == a.sum() / b.sum()
    assert interval == tuple(np.percentile(values[1:], [2.5, 97.5]))

    def of_weights(predictions):
        weights = predictions.sample_weight
        return value if weights is None else (weights @ a) / (weights @ b)

    data = fp.Predictions.from_raw_scores(np.arange(300) % 2, a)
    scheme = fp.IID() if conditions is None else fp.Nested(conditions)
    result = fp.bootstrap(of_weights, data, n_resamples=100, resampling=scheme, seed=0)
    np.testing.assert_allclose(values[1:], result.replicates, rtol=1e-12)


# All


class Tensor:
    """What is used of a PyTorch tensor; NumPy refuses it before `detach` and `cpu`."""

    def __init__(self, values, is_free=False):
        self.values, self.is_free = values, is_free

    def __array__(self, dtype=None, copy=None):
        if not self.is_free:
            raise TypeError("call detach() and cpu() first")
        return np.asarray(self.values, dtype)

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.values, is_free=True)


def test_tensors_are_taken():
    positives, negatives = lists(1)
    assert EER(Tensor(positives), Tensor(negatives)) == EER(positives, negatives)
    assert minDCF(Tensor(positives), negatives) == minDCF(positives, negatives)
    labels = np.array([0, 1, 0, 1, 1])
    scores = np.array([0.1, 0.3, 0.2, 0.9, 0.15])
    rates = nist.compute_pmiss_pfa_rbst(Tensor(scores), Tensor(labels), Tensor(np.ones(5)))
    np.testing.assert_array_equal(rates, nist.compute_pmiss_pfa_rbst(scores, labels))
    assert nist.compute_eer(*map(Tensor, rates)) == nist.compute_eer(*rates)
    interval = evaluate_with_conf_int(Tensor(scores), np.mean, num_bootstraps=9)
    assert interval == evaluate_with_conf_int(scores, np.mean, num_bootstraps=9)


SCORES = ([0.5, 1.0], [0.0, 0.5])
RATES = ([0.5, 1.0], [0.5, 0.0])
with_intervals = evaluate_with_conf_int


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("positive_scores", lambda: EER([], [1.0])),
        ("negative_scores", lambda: EER([1.0], [np.nan])),
        ("p_target", lambda: minDCF(*SCORES, p_target=1.5)),
        ("c_miss", lambda: minDCF(*SCORES, c_miss=-1)),
        ("fnr", lambda: nist.compute_eer([0.5, 1.5], [0.5, 0.0])),
        ("fpr", lambda: nist.compute_eer([0.5, 1.0], [0.0, 0.5])),
        ("fnr", lambda: nist.compute_eer([0.0, 0.1], [0.9, 0.5])),
        ("scores", lambda: nist.compute_eer(*RATES, [1.0])),
        ("c_miss", lambda: nist.compute_c_norm(*RATES, 0.1, 0)),
        ("labels", lambda: nist.compute_pmiss_pfa_rbst([1.0], [1])),
        ("labels", lambda: nist.compute_pmiss_pfa_rbst([1.0, 2.0], [0, 1], [0, 1])),
        ("metric", lambda: with_intervals([1.0], 3)),
        ("samples", lambda: with_intervals([[0.5, 0.1]] * 2, fp.CrossEntropy(), [0, 1])),
        ("labels", lambda: with_intervals([0.5, 0.1], fp.EER(), ["a", "b"])),
        ("conditions", lambda: with_intervals([1.0, 2.0], np.mean, conditions=[1])),
        ("num_bootstraps", lambda: with_intervals([1.0], np.mean, num_bootstraps=0)),
        ("alpha", lambda: with_intervals([1.0], np.mean, alpha=101)),
    ],
)
def test_bad_input(argument, call):
    with refuses(argument):
        call()
