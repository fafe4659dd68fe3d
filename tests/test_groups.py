"""Crossed columns: the groups of evaluate, one for each sample."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.groups import Crossed, groups_of

N = 300
RNG = np.random.default_rng(0)
COLUMNS = {
    "word": RNG.choice(["10s", "3s", "x"], N),
    "number": RNG.normal(size=N),
    "code": RNG.integers(0, 3, N),
}
WEIGHTS = RNG.integers(0, 3, N).astype(float)
DATA = fp.Predictions.from_raw_scores(RNG.integers(0, 2, N), RNG.normal(size=N))
WEIGHTED = fp.Predictions.from_raw_scores(DATA.labels, DATA.scores, sample_weight=WEIGHTS)


@pytest.mark.parametrize("names", [["word"], ["number"], ["code", "number"], ["word", "code"]])
@pytest.mark.parametrize("bins", [3, [-0.5, 0.5]])
@pytest.mark.parametrize("data", [DATA, WEIGHTED], ids=["alike", "weighted"])
def test_groups_are_those_of_evaluate(names, bins, data):
    bins = {"number": bins} if "number" in names else None
    by = {name: COLUMNS[name] for name in names}
    crossed, groups = Crossed.of(data, by, bins)
    expected = groups_of(data, {tuple(names): tuple(by.values())}, bins)
    present = data.weights > 0.0 if data.weights.size else np.ones(N, bool)
    names_here = [
        name for name, rows in zip(groups.names, groups.rows, strict=True) if present[rows].any()
    ]
    assert names_here == [group.name for group in expected]
    rows_of = dict(zip(groups.names, groups.rows, strict=True))
    for group in expected:
        assert rows_of[group.name].tolist() == group.rows.tolist()
    # a part of the samples has the groups that it has in the whole
    names_of_rows = np.array(groups.names)[groups.places]
    few = crossed.groups({name: ids[:7] for name, ids in by.items()}, data[:7])
    assert np.array(few.names)[few.places].tolist() == names_of_rows[:7].tolist()


def test_no_samples():
    crossed, groups = Crossed.of(DATA, {"x": COLUMNS["number"]}, 2)
    assert len(groups.names) == 2
    none = crossed.groups({"x": np.zeros(0)}, DATA[:0])
    assert none.names == []
    assert none.rows == []


def test_names_must_differ():
    a, b = np.array(["1", "1, b=2"] * 150), np.array(["2, b=2", "2"] * 150)
    with pytest.raises(fp.ArgumentError, match=r"^by must give groups of different names, but 2"):
        Crossed.of(DATA, {"a": a, "b": b}, None)


def test_what_is_no_number():
    seconds = np.array(["1.5", "3", "none"] * 100)
    with pytest.raises(fp.ArgumentError, match="must be of a column of numbers"):
        Crossed.of(DATA, {"x": seconds}, {"x": 2})
    present = fp.Predictions.from_raw_scores(
        DATA.labels, DATA.scores, sample_weight=np.tile([1.0, 1.0, 0.0], 100)
    )
    _, groups = Crossed.of(present, {"x": seconds}, {"x": [2.0]})
    assert groups.names == ["x=no number", "x=[-inf, 2)", "x=[2, inf]"]
