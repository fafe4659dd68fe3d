"""Ranks and order statistics of data in parts: the numbers of the same data in memory."""

import dataclasses
import itertools

import numpy as np
import pytest

import fastpsr as fp
from fastpsr import kernels
from fastpsr.counts import begin, buckets
from fastpsr.counts.order_statistics import order_statistics, weighted_quantiles
from fastpsr.counts.ranks import pav_blocks, rank_cells
from tests import reference

BUDGETS = ["2KB", "20KB", "1GB"]


def make_scores(kind, n, rng):
    y = (rng.random(n) < rng.choice([0.003, 0.1, 0.5, 0.97])).astype(np.uint8)
    scores = rng.normal(rng.choice([0.0, 0.3, 2.0, 9.0]) * y)
    if kind == "tied":
        scores = scores.round(1)
    elif kind == "far":  # nearly all in one bucket, or the range in none
        scores[rng.integers(n, size=max(1, n // 500))] *= 1e300
    elif kind == "beyond":
        scores = rng.uniform(-1.7, 1.7, n) * 1e308
    elif kind == "subnormal":
        scores *= 1e-310
    elif kind == "infinite":
        scores[rng.random(n) < 0.2] = np.inf
        scores[rng.random(n) < 0.2] = -np.inf
    elif kind == "heavy":
        scores = rng.standard_cauchy(n) + y
    elif kind == "two values":
        scores = np.sign(scores)
    elif kind == "one value":
        scores[:] = 0.0
    elif kind == "falling":
        scores *= -1.0
    elif kind == "zeros":  # -0.0 and 0.0 are ties
        scores = np.where(rng.random(n) < 0.3, rng.choice([-0.0, 0.0], n), scores)
    return scores, y


KINDS = [
    "plain", "tied", "far", "beyond", "subnormal", "infinite", "heavy", "two values", "one value",
    "falling", "zeros",
]  # fmt: skip


def alternating(*lists):
    """Return tuples in which each value of each list occurs."""
    n = max(len(values) for values in lists)
    return [tuple(values[i % len(values)] for values in lists) for i in range(n)]


def cut_into_parts(data, rng, n_parts=7):
    """Slices, some of them empty; the first and last row are parts of their own."""
    inner = np.sort(rng.integers(0, len(data) + 1, n_parts - 1))
    ends = [0, min(1, len(data)), *np.maximum(inner, 1), max(len(data) - 1, 1), len(data)]
    ends = np.sort(ends)
    return fp.from_parts([data[a:b] for a, b in itertools.pairwise(ends)])


def ways(data, rng):
    """The data in memory, and in parts in two orders."""
    return data, cut_into_parts(data, rng), cut_into_parts(ordered(data, "sorted", rng), rng)


def ordered(data, how, rng):
    if how == "sorted":
        return data[np.argsort(data.scores, kind="stable")]
    if how == "by class":
        return data[np.argsort(data.y_true, kind="stable")]
    return data


def assert_equal_fields(found, expected):
    for field in dataclasses.fields(expected):
        np.testing.assert_array_equal(
            getattr(found, field.name), getattr(expected, field.name), err_msg=field.name
        )


@pytest.mark.parametrize(("kind", "budget", "few"), alternating(KINDS, BUDGETS, [0, 1 << 11]))
def test_blocks_against_naive_pooling(kind, budget, few, monkeypatch):
    monkeypatch.setattr(buckets, "_FEW", few)
    monkeypatch.setenv("FASTPSR_MEMORY", budget)
    for n in (1, 2, 3, 40, 500):
        rng = np.random.default_rng(n)
        scores, y = make_scores(kind, n, rng)
        blocks = reference.pool_adjacent_violators(scores, y, np.ones(n))
        lowest, positives, negatives = np.transpose(blocks)
        data = fp.Predictions.from_raw_scores(y, scores)
        for one in ways(data, rng):
            fit = pav_blocks(one)
            np.testing.assert_array_equal(
                [fit.lowest, fit.negatives, fit.positives], [lowest, negatives, positives]
            )


@pytest.mark.parametrize(
    ("kind", "budget", "how"), alternating(KINDS, BUDGETS, ["as it is", "sorted", "by class"])
)
def test_large_fits_are_refined_to_the_same_bits(kind, budget, how, monkeypatch):
    rng = np.random.default_rng(5)
    scores, y = make_scores(kind, 30_000, rng)
    data = ordered(fp.Predictions.from_raw_scores(y, scores), how, rng)
    expected = rank_cells(data).blocks
    monkeypatch.setenv("FASTPSR_MEMORY", budget)
    assert_equal_fields(pav_blocks(data), expected)
    parts = cut_into_parts(data, rng, 30)
    assert_equal_fields(pav_blocks(parts), expected)


def count_picks(monkeypatch):
    """Return a list that grows by the number of values of each part that are picked."""
    picked = []
    pick = kernels.buckets.pick_from_places

    def counting(*arguments):
        found = pick(*arguments)
        picked.append(sum(values.size for values in found))
        return found

    monkeypatch.setattr(kernels.buckets, "pick_from_places", counting)
    return picked


def test_picks_stay_within_the_budget(monkeypatch):
    monkeypatch.setenv("FASTPSR_MEMORY", "10KB")
    picked = count_picks(monkeypatch)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100_000).astype(np.uint8)
    scores = rng.normal(y)
    scores[0] = 1e300
    memory = fp.Predictions.from_raw_scores(y, scores)
    found = pav_blocks(cut_into_parts(memory, rng))
    assert 0 < sum(picked) * 8 <= 10_000
    monkeypatch.delenv("FASTPSR_MEMORY")
    assert_equal_fields(found, rank_cells(memory).blocks)


# Rank cells


@pytest.mark.parametrize(
    ("kind", "share", "n"),
    alternating(
        ["plain", "ties", "apart", "infinite", "far", "equal"], [0.02, 0.5], [2, 900, 30_000]
    ),
)
def test_runs_against_scores_in_order(n, share, kind):
    """A run ends where the next score is of the other class, or either score is of both."""
    rng = np.random.default_rng(n)
    y = (rng.random(n) < share).astype(np.uint8)
    y[:2] = 0, 1
    scores = rng.normal(y, 1.0)
    if kind == "ties":
        scores = scores.round(1)
    elif kind == "apart":
        scores += 10.0 * y
    elif kind == "infinite":
        scores[rng.random(n) < 0.1] = np.inf
        scores[rng.random(n) < 0.1] = -np.inf
    elif kind == "far":
        scores[0] = 1e300
    elif kind == "equal":
        scores[:] = 1.0
    data = fp.Predictions.from_raw_scores(y, scores)
    values, places = np.unique(scores, return_inverse=True)
    counts = np.bincount(2 * places + y, minlength=2 * values.size).reshape(-1, 2)
    kinds = (counts > 0) @ [1, 2]
    starts = np.flatnonzero(np.append(True, (kinds[1:] != kinds[:-1]) | (kinds[1:] == 3)))
    expected = np.add.reduceat(counts, starts)
    weighted = fp.Predictions.from_raw_scores(y, scores, sample_weight=np.full(n, 0.5))
    for one, factor in ((data, 1.0), (cut_into_parts(data, rng), 1.0), (weighted, 0.5)):
        found = rank_cells(one).runs
        np.testing.assert_array_equal(found.negatives, factor * expected[:, 0])
        np.testing.assert_array_equal(found.positives, factor * expected[:, 1])
        # of each run the lowest score, or a number above the scores before it
        assert (found.lowest <= values[starts]).all()
        assert (found.lowest[1:] > values[starts[1:] - 1]).all()


@pytest.mark.parametrize(
    ("kind", "share", "how"),
    alternating(
        ["plain", "ties", "apart", "infinite", "far", "spike"],
        [0.03, 0.5],
        ["as it is", "sorted", "by class"],
    ),
)
def test_areas_by_ranges_are_those_in_memory(kind, share, how, monkeypatch):
    rng = np.random.default_rng(3)
    n = 20_000
    y = (rng.random(n) < share).astype(np.uint8)
    scores = rng.normal(y)
    if kind == "ties":
        scores = scores.round(3)
    elif kind == "apart":
        scores += 3.0 * y
    elif kind == "infinite":
        scores[rng.random(n) < 0.1] = np.inf
        scores[rng.random(n) < 0.1] = -np.inf
    elif kind == "far":
        scores[:2] = 1e300, -1e300
    elif kind == "spike":  # more scores than a range may have, some of them equal
        scores[: n // 2] *= 1e-9
        scores[: n // 4] = 0.5e-9
    data = ordered(fp.Predictions.from_raw_scores(y, scores), how, rng)
    parts = cut_into_parts(data, rng, 20)
    expected = fp.AUC()(data)
    monkeypatch.setenv("FASTPSR_MEMORY", "10KB")
    assert fp.AUC()(parts) == expected


@pytest.mark.parametrize("metric", [fp.AUC(), fp.EER(), fp.MinDCF(0.1), fp.MinCllr()])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_replicates_beyond_the_budget_are_refused(metric, share, monkeypatch):
    rng = np.random.default_rng(1)
    y = (rng.random(4_000) < share).astype(np.uint8)
    parts = cut_into_parts(fp.Predictions.from_raw_scores(y, rng.normal(y)), rng, 5)
    monkeypatch.setenv("FASTPSR_MEMORY", "8KB")
    metric(parts)
    with pytest.raises(fp.ArgumentError, match=r"budget of 8,000.*FASTPSR_MEMORY.*n_resamples=0"):
        fp.bootstrap(metric, parts, n_resamples=100)


# Order statistics


def log_odds(predictions):
    return predictions.log_odds


@pytest.mark.parametrize(("kind", "budget", "n"), alternating(KINDS, BUDGETS, [1, 7, 20_000]))
def test_order_statistics(kind, budget, n, monkeypatch):
    monkeypatch.setenv("FASTPSR_MEMORY", budget)
    rng = np.random.default_rng(n)
    scores, y = make_scores(kind, n, rng)
    data = fp.Predictions.from_logits(y, scores)
    ranks = np.unique(np.concatenate([[0, n - 1], rng.integers(0, n, 20)]))
    expected = np.sort(scores)
    for one in ways(data, rng):
        begin(one)
        values, n_below = order_statistics(one, log_odds, ranks)
        np.testing.assert_array_equal(values, expected[ranks])
        np.testing.assert_array_equal(n_below, np.searchsorted(expected, expected[ranks]))
    weights = rng.integers(0, 5, n) / 4.0  # whose sums are exact
    weights[0] = 1.0
    weighted = fp.Predictions.from_logits(y, scores, sample_weight=weights)
    shares = np.arange(1, 16) / 16
    order = np.argsort(scores, kind="stable")
    order = order[weights[order] > 0]
    cumulated = np.cumsum(weights[order])
    targets = shares * cumulated[-1] * (1.0 - 1e-12)
    quantiles = scores[order][np.searchsorted(cumulated, targets)]
    for one in ways(weighted, rng):
        begin(one)
        np.testing.assert_array_equal(weighted_quantiles(one, log_odds, shares), quantiles)
