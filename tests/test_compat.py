"""`fastpsr.compat` against the definitions of other packages, written out naively."""

import subprocess
import sys

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.compat import nist
from fastpsr.compat.confidence_intervals import evaluate_with_conf_int
from fastpsr.compat.speechbrain import EER, minDCF
from tests import reference_bootstrap as reference


def lists(seed, n_targets=40, n_nontargets=150, digits=None):
    """Scores of targets and of non-targets, rounded if digits are given."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(1.0, 1.0, n_targets), rng.normal(-0.5, 1.0, n_nontargets)
    return scores if digits is None else tuple(np.round(each, digits) for each in scores)


LISTS = [lists(k) for k in range(6)] + [lists(k, digits=1) for k in range(6)]
LISTS += [lists(9, 1, 1), lists(9, 1, 30), lists(9, 30, 1), (np.arange(3.0), np.arange(3.0)),
          (np.zeros(2), np.zeros(2)), (np.ones(3), np.zeros(4)), (np.zeros(3), np.ones(4)),
          (np.arange(2.0), np.full(1, 2.0)),
          (np.array([-np.inf, 0.0, np.inf]), np.array([-np.inf, 0.5])),
          *((np.full(2, x), np.full(3, x)) for x in (np.inf, -np.inf))]  # fmt: skip


# speechbrain


def points(positives, negatives):
    """(threshold, misses, false alarms) at every score: what is above it is accepted."""
    return [
        (t, int((positives <= t).sum()), int((negatives > t).sum()))
        for t in sorted({*positives.tolist(), *negatives.tolist()})
    ]


@pytest.mark.parametrize("scores", LISTS, ids=range(len(LISTS)))
def test_eer_is_at_the_first_threshold_of_the_least_difference(scores):
    positives, negatives = scores
    n, m = positives.size, negatives.size
    best = min(points(*scores), key=lambda p: abs(p[1] * m - p[2] * n))  # the first of equals
    value, threshold = EER(positives, negatives)
    assert threshold == best[0]
    assert value == pytest.approx((best[1] / n + best[2] / m) / 2.0, rel=1e-14)
    assert type(value) is type(threshold) is float


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scores", LISTS, ids=range(len(LISTS)))
@pytest.mark.parametrize("costs", [(), (1.0, 1.0, 0.5), (10.0, 1.0, 0.05), (0.0, 1.0, 0.1)])
def test_min_dcf_is_the_least_cost(scores, costs):
    c_miss, c_fa, p_target = costs or (1.0, 1.0, 0.01)
    n, m = scores[0].size, scores[1].size
    found = [
        (c_miss * p_target * miss / n + c_fa * (1 - p_target) * fa / m, t)
        for t, miss, fa in points(*scores)
    ]
    value, threshold = minDCF(*scores, *costs)
    assert value == pytest.approx(min(found)[0], rel=1e-12)
    at = next(cost for cost, t in found if t == threshold)
    assert at == pytest.approx(value, rel=1e-12)


def test_order_does_not_matter():
    positives, negatives = lists(0, digits=1)
    expected = EER(positives, negatives), minDCF(positives, negatives)
    assert (EER(positives[::-1], negatives), minDCF(positives, negatives[::-1])) == expected


# wespeaker and 3D-Speaker


def rates_of_single_trials(scores, labels):
    """Rates after each trial of the sorted list, as the scripts compute them."""
    sorted_labels = [label for _, label in sorted(zip(scores, labels, strict=True))]
    n_targets = sum(sorted_labels)
    n_others = len(sorted_labels) - n_targets
    fnr, fpr = [], []
    for place in range(1, len(sorted_labels) + 1):
        targets = sum(sorted_labels[:place])
        fnr.append(targets / n_targets)
        fpr.append(1.0 - (place - targets) / n_others)
    return np.array(fnr), np.array(fpr)


def eer_of_single_trials(fnr, fpr, scores):
    """Where the line from the last point with fnr < fpr to the next crosses fnr = fpr."""
    last = max(k for k in range(fnr.size) if fnr[k] < fpr[k])
    a, b = fpr[last] - fnr[last], fnr[last + 1] - fpr[last + 1]
    return (b * fnr[last] + a * fnr[last + 1]) / (a + b), sorted(scores)[last + 1]


@pytest.mark.parametrize("seed", range(6))
def test_lists_without_ties_have_the_rates_of_the_scripts(seed):
    positives, negatives = lists(seed)
    scores = np.concatenate([negatives, positives])
    labels = np.repeat([0, 1], [negatives.size, positives.size])
    order = np.random.default_rng(seed).permutation(scores.size)
    scores, labels = scores[order], labels[order]
    expected = rates_of_single_trials(scores, labels)
    rates = nist.compute_pmiss_pfa_rbst(scores, labels)
    np.testing.assert_allclose(rates, expected, rtol=0.0, atol=1e-14)
    eer = eer_of_single_trials(*expected, scores)
    assert nist.compute_eer(*rates) == pytest.approx(eer[0], rel=1e-12)
    assert nist.compute_eer(*rates, scores) == (pytest.approx(eer[0], rel=1e-12), eer[1])
    for p, c_miss, c_fa in ((0.01, 1, 1), (0.05, 10, 1), (0.7, 1, 2)):
        cost = (c_miss * p * expected[0] + c_fa * (1 - p) * expected[1]).min()
        found = nist.compute_c_norm(*rates, p, c_miss, c_fa)
        assert found == pytest.approx(cost / min(c_miss * p, c_fa * (1 - p)), rel=1e-12)


def test_ties_are_pooled_in_any_order():
    positives, negatives = lists(3, digits=0)
    scores = np.concatenate([negatives, positives])
    labels = np.repeat([0, 1], [negatives.size, positives.size])
    rates = nist.compute_pmiss_pfa_rbst(scores, labels)
    for place, t in enumerate(np.sort(scores)):
        assert rates[0][place] == pytest.approx((positives <= t).mean(), abs=1e-14)
        assert rates[1][place] == pytest.approx((negatives > t).mean(), abs=1e-14)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(scores.size)
        again = nist.compute_pmiss_pfa_rbst(scores[order], labels[order])
        np.testing.assert_array_equal(again, rates)
    four = nist.compute_pmiss_pfa_rbst([2.0] * 4, [0, 1, 1, 0])
    assert nist.compute_eer(*four, [2.0] * 4) == (0.5, 2.0)


def test_weights_are_repetitions():
    positives, negatives = lists(4, 20, 30)
    scores = np.concatenate([negatives, positives])
    labels = np.repeat([0, 1], [30, 20])
    weights = np.random.default_rng(0).integers(0, 4, 50)
    rates = nist.compute_pmiss_pfa_rbst(scores, labels, weights)
    repeated = nist.compute_pmiss_pfa_rbst(scores.repeat(weights), labels.repeat(weights))
    assert nist.compute_eer(*rates) == pytest.approx(nist.compute_eer(*repeated), rel=1e-12)
    ours, theirs = (nist.compute_c_norm(*each, 0.3) for each in (rates, repeated))
    assert ours == pytest.approx(theirs, rel=1e-12)


# confidence-intervals


def test_intervals_are_percentiles_of_the_bootstrap():
    rng = np.random.default_rng(5)
    labels, conditions = rng.integers(0, 2, 400), rng.integers(0, 15, 400)
    llrs = 2.0 * labels - 1.0 + rng.normal(size=400)
    data = fp.Predictions.from_llrs(labels, llrs)
    for scheme, given in ((fp.IID(), None), (fp.Nested(conditions), conditions)):
        value, interval = evaluate_with_conf_int(llrs, fp.Cllr(), labels, given, 300, alpha=10)
        found = fp.bootstrap(fp.Cllr(), data, n_resamples=300, resampling=scheme, seed=0)
        assert value == fp.Cllr()(data)
        assert interval == tuple(np.percentile(found.replicates, [5, 95]))
        few = evaluate_with_conf_int(llrs, fp.Cllr(), labels, given, 1)
        assert few == (value, (found.replicates[0],) * 2)


@pytest.mark.parametrize("conditions", [None, np.arange(300) % 12])
def test_callables_are_called_with_the_samples_of_the_package(conditions):
    """The distribution of a ratio of two arrays: that of indices drawn as the package says."""
    rng = np.random.default_rng(6)
    effect = rng.normal(size=12)[np.arange(300) % 12]
    one, other = effect + rng.normal(size=300), np.exp(0.2 * rng.normal(size=300))

    def ratio(samples, samples2):
        return samples.sum() / samples2.sum()

    values = []
    value, interval = evaluate_with_conf_int(
        one, lambda *both: values.append(ratio(*both)) or values[-1], samples2=other,
        conditions=conditions, num_bootstraps=1_000,
    )  # fmt: skip
    assert value == values[0] == ratio(one, other)
    assert interval == tuple(np.percentile(values[1:], [2.5, 97.5]))
    naive = []
    for _ in range(1_000):
        if conditions is None:
            rows = rng.integers(0, 300, 300)
        else:
            rows = reference.draw_conditions(rng, conditions.tolist())
        naive.append(ratio(one[rows], other[rows]))
    reference.assert_same_distribution(np.array(values[1:]), np.array(naive))
    assert abs(np.log(np.std(values[1:]) / np.std(naive))) < 5.0 / np.sqrt(1_000)


def test_labels_come_first():
    seen = set()

    def metric(labels, samples, samples2):
        seen.add((labels.dtype.kind, samples.shape[1:], samples2.dtype.kind))
        return 0.0

    rows = np.zeros((10, 3))
    assert evaluate_with_conf_int(rows, metric, np.arange(10), None, 5, 5, ["a"] * 10)[0] == 0.0
    assert seen == {("i", (3,), "U")}


def test_undefined_replicates_are_left_out_with_a_warning():
    labels, scores = np.array([1, 0, 0, 0, 0]), np.array([1.0, 0.5, 2.0, 0.1, 0.2])
    with pytest.warns(RuntimeWarning, match="EER is undefined") as caught:
        _, (low, high) = evaluate_with_conf_int(scores, fp.EER(), labels, num_bootstraps=50)
    assert 0.0 <= low <= high <= 1.0
    assert [each.filename for each in caught] == [__file__]


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
    found = evaluate_with_conf_int(Tensor(scores), np.mean, num_bootstraps=9)
    assert found == evaluate_with_conf_int(scores, np.mean, num_bootstraps=9)


GOOD = ([0.5, 1.0], [0.0, 0.5])
RATES = ([0.5, 1.0], [0.5, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EER([], [1.0]), "positive_scores must not be empty"),
        (
            lambda: EER([1.0], [np.nan]),
            r"negative_scores must not be nan, but negative_scores\[0\]",
        ),
        (lambda: EER([[1.0]], [1.0]), "positive_scores must be 1-dimensional"),
        (lambda: EER(["a"], [1.0]), "positive_scores must be an array of real numbers"),
        (lambda: minDCF(*GOOD, p_target=1.5), "p_target must lie in 0 to 1, not 1.5"),
        (lambda: minDCF(*GOOD, c_miss=-1), "c_miss must be finite and at least 0, not -1"),
        (lambda: nist.compute_eer([0.5, 1.5], [0.5, 0.0]), r"fnr must lie in 0 to 1, but fnr\[1\]"),
        (
            lambda: nist.compute_eer([0.5], [0.5, 0.0]),
            "fpr must have one entry per point: 1, not 2",
        ),
        (lambda: nist.compute_eer([1.0, 0.5], [0.5, 0.0]), "fnr must be ascending"),
        (lambda: nist.compute_eer([0.5, 1.0], [0.0, 0.5]), "fpr must be descending"),
        (lambda: nist.compute_eer([0.0, 0.1], [0.9, 0.5]), "fnr must be at least fpr at the last"),
        (
            lambda: nist.compute_eer(*RATES, [1.0]),
            "scores must have one entry per sample: 2, not 1",
        ),
        (lambda: nist.compute_c_norm(*RATES, 0.0), "p_target must lie between 0 and 1, not 0"),
        (lambda: nist.compute_c_norm(*RATES, 0.1, 0), "c_miss must be finite and above 0, not 0"),
        (lambda: nist.compute_pmiss_pfa_rbst([1.0], [2]), "labels must be integers 0 to 1"),
        (lambda: nist.compute_pmiss_pfa_rbst([1.0], [1, 0]), "labels must have one entry"),
        (lambda: nist.compute_pmiss_pfa_rbst([1.0], [1]), "labels must have trials with label 0"),
        (
            lambda: nist.compute_pmiss_pfa_rbst([1.0, 2.0], [0, 1], [0, 1]),
            "with label 0 and weight",
        ),
        (lambda: evaluate_with_conf_int([1.0], 3), "^metric must be callable, not 3"),
        (
            lambda: evaluate_with_conf_int([1.0], fp.EER, [1]),
            r"^metric must not be the class EER: make one, EER\(...\)$",
        ),
        (
            lambda: evaluate_with_conf_int([0.5, 1.5], fp.CrossEntropy(), [0, 1]),
            r"^samples must lie in 0 to 1, but samples\[1\] is 1.5: (?!pass samples /)",
        ),
        (
            lambda: evaluate_with_conf_int([[0.5, 0.1]] * 2, fp.CrossEntropy(), [0, 1]),
            r"^samples must have rows that sum to 1.*: pass samples / samples.sum",
        ),
        (
            lambda: evaluate_with_conf_int([0.5, 0.1], fp.EER(), ["a", "b"]),
            r"^labels must be .*: pass np.unique\(labels, return_inverse=True\)\[1\]$",
        ),
        (lambda: evaluate_with_conf_int([1.0, 2.0], np.mean, labels=[1]), "labels must have one"),
        (lambda: evaluate_with_conf_int(1.0, np.mean, [1]), "^samples must have a row per sample"),
        (lambda: evaluate_with_conf_int([], np.mean), r"^samples must have.* of shape \(0,\)"),
        (lambda: evaluate_with_conf_int([[1], [1, 2]], np.mean), "^samples must be an array of"),
        (lambda: EER([[1], [1, 2]], [1.0]), "^positive_scores must be an array of real numbers"),
        (
            lambda: evaluate_with_conf_int([1.0, 2.0], np.mean, conditions=[1]),
            "conditions must have",
        ),
        (
            lambda: evaluate_with_conf_int([1.0, 2.0], np.mean, conditions=[1, 1]),
            "conditions must name at least two clusters, not 1",
        ),
        (lambda: evaluate_with_conf_int([1.0], np.mean, num_bootstraps=0), "num_bootstraps must"),
        (lambda: evaluate_with_conf_int([1.0], np.mean, alpha=101), "alpha must lie in 0 to 100"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_modules_are_imported_only_when_asked_for():
    code = (
        "import fastpsr, sys; print(any(name.startswith('fastpsr.compat') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
