"""Counting of steps side by side, and facts, of `fastpsr.counts`; faults of parts."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.counts import (
    count,
    count_all,
    counting,
    side_by_side,
)
from fastpsr.data import LABELS, budget
from fastpsr.data.budget import memory_budget
from fastpsr.data.steps import Step


def predictions(n=40, seed=0, weights=False):
    rng = np.random.default_rng([seed, n])
    y = rng.integers(0, 2, n)
    w = rng.integers(1, 50, n) * 0.1 if weights else None
    return fp.Predictions.from_llrs(y, rng.normal(size=n) + y, sample_weight=w)


class Reads:
    """Parts as functions, which note what is read."""

    def __init__(self, whole, n_parts=5):
        self.calls = []
        cuts = np.linspace(0, len(whole), n_parts + 1).astype(int)
        self.data = fp.from_parts(
            [functools.partial(self._read, i, whole[cuts[i] : cuts[i + 1]])
             for i in range(n_parts)]
        )  # fmt: skip
        self.n_parts = n_parts
        self.calls.clear()

    def _read(self, number, part):
        self.calls.append(number)
        return part.compact()

    @property
    def n_reads(self):
        counts = np.bincount(self.calls, minlength=self.n_parts)
        assert (counts == counts[0]).all()
        return int(counts[0])


@dataclass(frozen=True, eq=False)
class CountAll(Step):
    """Count rows."""

    name: str = "rows"
    reads: frozenset[str] = LABELS
    log: list = field(default_factory=list)

    @property
    def key(self):
        return self.name

    def prepare(self):
        self.log.append("prepare")
        return 1

    def start(self):
        return 0

    def add(self, accumulator, prepared, *parts):
        self.log.append(parts[0].number)
        return accumulator + prepared * len(parts[0].predictions)


def repeatedly(data, step, n_times=1):
    return sum(count(step.over(data)) for _ in range(n_times))


# Reads


def test_functions_advance_in_lockstep_with_a_read_for_all():
    source = Reads(predictions())
    assert len(source.data) == 40
    assert source.n_reads == 1
    found = side_by_side(
        lambda: repeatedly(source.data, CountAll("a"), 3),
        lambda: repeatedly(source.data, CountAll("b"), 2),
        lambda: repeatedly(source.data, CountAll("c"), 1),
        over=source.data,
    )  # fmt: skip
    assert found == [120, 80, 40]
    assert source.n_reads == 1 + 3


def test_more_functions_than_run_at_a_time(monkeypatch):
    monkeypatch.setattr(counting, "_MOST_TASKS", 3)
    source = Reads(predictions())
    assert len(source.data) == 40

    def both(i):
        def one():
            return repeatedly(source.data, CountAll(f"{i}"), 2)

        return sum(side_by_side(one, one, over=source.data))

    found = side_by_side(*(lambda i=i: both(i) for i in range(10)), over=source.data)
    assert found == [160] * 10
    assert source.n_reads > 1 + 2


def test_equal_keys_are_computed_once():
    source = Reads(predictions())
    steps = [CountAll("same"), CountAll("same"), CountAll("other")]
    assert count_all(step.over(source.data) for step in steps) == [40, 40, 40]
    assert steps[0].log == ["prepare", 0, 1, 2, 3, 4]
    assert steps[1].log == []
    assert steps[2].log == steps[0].log


# Facts


@pytest.mark.parametrize("seed", range(5))
def test_class_weights_are_exact_in_any_order(seed):
    rng = np.random.default_rng(seed)
    n = 300
    y = rng.integers(0, 3, n)
    w = rng.uniform(0.1, 1.0, n) * 10.0 ** rng.integers(-12, 12, n)
    z = rng.normal(size=(n, 3))
    exact = [math.fsum(w[y == k]) for k in range(3)]
    for order in (np.arange(n), rng.permutation(n), np.argsort(w)):
        parts = [
            fp.Predictions.from_logits(y[rows], z[rows], sample_weight=w[rows])
            for rows in np.array_split(order, int(rng.integers(1, 30)))
        ]
        assert fp.from_parts(parts).class_weights.tolist() == exact
        assert fp.Predictions.joined(parts).class_weights.tolist() == exact


def test_facts_of_weights_in_some_parts():
    weighted = fp.Predictions.from_llrs([0, 1, 1], [0.0, 1.0, 2.0], sample_weight=[0.5, 0.0, 2.0])
    plain = fp.Predictions.from_llrs([0, 1], [0.0, 1.0])
    data = fp.from_parts([weighted, plain])
    assert data.has_weights
    assert data.class_weights.tolist() == [1.5, 3.0]
    assert data.class_sizes.tolist() == [2, 2]
    assert data.facts.ranks.tolist() == [[0, 0], [1, 1], [2, 2]]
    whole = data.compute()
    assert whole.class_weights.tolist() == [1.5, 3.0]
    for metric in (fp.CrossEntropy(), fp.Cllr(), fp.EER(), fp.MinDCF(0.1), fp.ECE()):
        assert metric(data) == pytest.approx(metric(whole), rel=1e-12)


# Data


def test_map():
    whole = predictions()
    source = Reads(whole)
    twice = source.data.map(lambda part: part.replace_scores(part.kind, 2.0 * part.scores))
    expected = whole.replace_scores(whole.kind, 2.0 * whole.scores)
    assert fp.EER()(twice) == fp.EER()(expected)
    assert fp.Cllr()(twice) == pytest.approx(fp.Cllr()(expected), rel=1e-12)
    assert len(twice) == 40
    assert twice.priors.tolist() == whole.priors.tolist()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda part: part[:-1], "Predictions of the same rows"),
        (lambda part: part.scores, "Predictions of the same rows"),
        (lambda part: part.replace_scores("raw scores", part.scores), "same kind, classes"),
        (lambda part: 1 / 0, "division by zero"),
        (
            lambda part: fp.Predictions.from_llrs(part.y_true, part.llrs, prior=0.3),
            "same kind, classes and priors",
        ),
        (lambda part: part[np.arange(len(part))[::-1]], "labels and weights"),
    ],
)
def test_functions_that_map_otherwise(function, message):
    data = Reads(predictions()).data
    with pytest.raises(fp.ArgumentError, match=message) as caught:
        fp.Cllr()(data.map(function))
    assert "parts[0]" in str(caught.value)


def test_map_needs_a_function():
    with pytest.raises(fp.ArgumentError, match="function must be callable, not 3"):
        Reads(predictions()).data.map(3)


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 5 * 10**8), ("1.5 GiB", 3 << 29), ("70000", 70_000), ("2kb", 2000)]
)
def test_budget(monkeypatch, text, size):
    monkeypatch.setenv("FASTPSR_MEMORY", text)
    assert memory_budget() == size


@pytest.mark.parametrize("text", ["much", "-1", "0", "5 parsecs", "1e9", "nan"])
def test_budgets_that_are_none(monkeypatch, text):
    monkeypatch.setenv("FASTPSR_MEMORY", text)
    with pytest.raises(ValueError, match="FASTPSR_MEMORY must be a positive number of bytes"):
        memory_budget()


def test_budget_without_a_wish(monkeypatch):
    monkeypatch.delenv("FASTPSR_MEMORY", raising=False)
    for installed, size in ((2 * 10**9, 5 * 10**8), (10**12, 10**9), (None, 10**9)):
        monkeypatch.setattr(budget, "_installed", lambda installed=installed: installed)
        assert memory_budget() == size


# A metric of one's own


class MeanScore(fp.metrics.Metric):
    label = "mean"

    def summarize(self, predictions):
        return np.array([predictions.scores.sum(), len(predictions)])

    def finish(self, summary):
        return float(summary[0] / summary[1])


class Mergeable(MeanScore):
    def merge(self, one, other):
        return one + other


def test_metrics_of_ones_own():
    whole = predictions()
    data = Reads(whole).data
    assert Mergeable()(data) == pytest.approx(MeanScore()(whole), rel=1e-12)
    with pytest.raises(ValueError, match=r"metric mean does not take data in parts: .*merge"):
        MeanScore()(data)
    assert MeanScore()(fp.from_parts([whole])) == MeanScore()(whole)


def test_parts_that_were_looked_at_before_follow_the_whole():
    """Their posteriors were made with frequencies of their own then."""
    rng = np.random.default_rng(0)
    y, llr = rng.random(60) < 0.3, rng.normal(size=60)
    y[:2], y[30:32] = (0, 1), (0, 1)
    parts = [fp.Predictions.from_llrs(y[:30], llr[:30]), fp.Predictions.from_llrs(y[30:], llr[30:])]
    for part in parts:
        fp.CrossEntropy()(part)
    whole = fp.Predictions.from_llrs(y, llr)
    for data in (fp.from_parts(parts), fp.from_parts([whole[:30], whole[30:]])):
        assert fp.CrossEntropy()(data) == pytest.approx(fp.CrossEntropy()(whole), rel=1e-13)
