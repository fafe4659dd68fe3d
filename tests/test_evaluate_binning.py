"""Groups by several columns and by bins of numbers: as if the groups were given as text."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.groups import groups_of
from fastpsr.groups.binning import ranks_of
from fastpsr.plans import PartitionedPredictions

N = 600
METRICS = [fp.EER(), fp.Cllr()]


def columns(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N)
    snr = rng.normal(5.0, 4.0, N)
    return {
        "y": y,
        "llr": np.round(rng.normal(size=N) + y, 2),
        "weight": rng.integers(0, 4, N) * 0.3,
        "gender": np.where(rng.random(N) < 0.4, "f", "m"),
        "length": np.array(["10s", "3s", "30s"])[rng.integers(0, 3, N)],
        "snr": snr,
        "db": np.round(snr).astype(np.int64),
        "half": np.round(snr * 2).astype(np.float32) / 2,
        "text": np.round(snr, 1).astype(str),
    }


IDS = ("gender", "length", "snr", "db", "half", "text")


def in_memory(data, weighted=False):
    weights = data["weight"] if weighted else None
    return fp.Predictions.from_llrs(data["y"], data["llr"], sample_weight=weights)


def in_parts(data, weighted=False, cuts=(0, 130, 130, 350, N), names=IDS):
    whole = in_memory(data, weighted)
    bounds = [slice(*at) for at in pairwise(cuts)]
    return fp.from_parts([(whole[at], {name: data[name][at] for name in names}) for at in bounds])


def rows_of(data, by, bins=None):
    """The rows that each group selects, of data in memory or in parts."""
    found = {}
    for group in groups_of(data, by, bins):
        if isinstance(data, PartitionedPredictions):
            first, rows = 0, []
            for whole, part in zip(data, data.source._parts, strict=True):
                columns = part[1]
                found_here = group.rows.rows(_Part(whole, columns))
                rows.append(first + np.flatnonzero(found_here))
                first += len(whole)
            found[group.name] = np.concatenate(rows)
        else:
            found[group.name] = group.rows
    return found


class _Part:
    def __init__(self, predictions, columns):
        self.predictions, self._columns = predictions, columns

    def ids(self, name, column):
        return np.asarray(self._columns[column])

    def remember(self, key, make):
        return make()


def both(data, by, bins=None, weighted=False):
    """The rows of each group, which must be the same in memory and in parts."""
    here = rows_of(in_memory(data, weighted), by(data), bins)
    there = rows_of(in_parts(data, weighted), by({name: name for name in IDS}), bins)
    assert list(here) == list(there)
    for name in here:
        np.testing.assert_array_equal(here[name], there[name], err_msg=name)
    return here


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_combinations_are_groups(weighted):
    data = columns()
    data["weight"][(data["gender"] == "f") & (data["length"] == "3s")] = 0.0
    found = both(
        data, lambda c: {("gender", "length"): (c["gender"], c["length"])}, weighted=weighted
    )
    expected = {}
    for gender in ("f", "m"):
        for length in ("3s", "10s", "30s"):
            rows = np.flatnonzero((data["gender"] == gender) & (data["length"] == length))
            if not weighted or data["weight"][rows].any():
                expected[f"gender={gender}, length={length}"] = rows
    assert list(found) == list(expected)
    for name, rows in expected.items():
        np.testing.assert_array_equal(found[name], rows)


def test_combinations_in_lists_of_names():
    data = columns()
    parts = in_parts(data)
    listed = rows_of(parts, ["gender", ("gender", "length")])
    nested = rows_of(parts, ["gender", ["gender", "length"]])
    assert list(listed) == list(nested)
    assert list(listed)[:3] == ["gender=f", "gender=m", "gender=f, length=3s"]
    groups = groups_of(parts, ["gender", ("gender", "length")])
    assert {group.grouping for group in groups} == {"gender", "gender, length"}


def edges_by_hand(values, weights, bins):
    """The largest values with at most i / bins of the weight below, by exhaustion."""
    distinct = np.unique(values[weights > 0.0])
    below = np.array([weights[values < value].sum() for value in distinct]) / weights.sum()
    return [distinct[below <= i / bins + 1e-9][-1] for i in range(1, bins)]


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("bins", [2, 4, 7])
@pytest.mark.parametrize("name", ["snr", "db", "half", "text"])
def test_quantile_bins(name, bins, weighted):
    data = columns()
    found = both(data, lambda c: {name: c[name]}, bins, weighted)
    values = data[name].astype(float)
    weights = data["weight"] if weighted else np.ones(N)
    edges = edges_by_hand(values, weights, bins)
    places = np.searchsorted(np.unique(edges), values, side="right")
    assert len(found) == len(set(places))
    for place, rows in enumerate(found.values()):
        # edges are rounded down by less than a hundredth of a bin, below which few values are
        expected = np.flatnonzero(places == place)
        assert np.setxor1d(rows, expected).size <= (4 if name == "snr" else 0)


@pytest.mark.parametrize("name", ["snr", "db", "half", "text"])
def test_given_edges_are_numpys(name):
    data = columns()
    found = both(data, lambda c: {name: c[name]}, [0, 2.5, 5, 1e3])
    values = data[name].astype(float)
    names = ["[-inf, 0)", "[0, 2.5)", "[2.5, 5)", "[5, 1000)"]  # none is at 1000 or above
    assert list(found) == [f"{name}={each}" for each in names]
    for rows, (low, high) in zip(
        found.values(), pairwise([-np.inf, 0, 2.5, 5, np.inf]), strict=True
    ):
        np.testing.assert_array_equal(rows, np.flatnonzero((values >= low) & (values < high)))


def test_names_are_true():
    data = columns()
    for name, rows in both(data, lambda c: {"snr": c["snr"]}, 5).items():
        low, high = name.removeprefix("snr=[").rstrip(")]").split(", ")
        inside = (data["snr"] >= float(low)) & (data["snr"] < float(high))
        np.testing.assert_array_equal(rows, np.flatnonzero(inside))
        assert len(name) < 24


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1.0, 1e12])
@pytest.mark.parametrize("shift", [0.0, 1.6e9])
def test_rounded_edges_do_not_merge_bins(scale, shift):
    values = scale * (shift + np.arange(-50.0, 50.0))
    data = fp.Predictions.from_llrs(np.arange(100) % 2, np.zeros(100))
    sizes = [group.rows.size for group in groups_of(data, {"t": values}, 4)]
    assert sizes == [25, 25, 25, 25]


TIED = {
    "half at the least": ([0] * 50 + list(range(1, 51)), 4, [50, 25, 25]),
    "most at the greatest": ([0] * 10 + [1] * 90, 4, [10, 90]),
    "all alike": ([3] * 100, 4, [100]),
    "two values": ([0] * 50 + [1] * 50, 2, [50, 50]),
    "infinite": ([-np.inf] * 30 + [1.0] * 40 + [np.inf] * 30, 2, [30, 70]),
}


@pytest.mark.parametrize("case", TIED)
def test_tied_values_are_in_one_bin(case):
    values, bins, sizes = TIED[case]
    values = np.array(values, float)
    y = np.arange(100) % 2
    data = fp.Predictions.from_llrs(y, np.zeros(100))
    parts = fp.from_parts([(data[at], {"v": values[at]}) for at in (range(37), range(37, 100))])
    for whole, by in ((data, {"v": values}), (parts, "v")):
        found = groups_of(whole, by, bins)
        assert [len(group.data) for group in found] == sizes
    names = [group.name for group in found]
    assert names[0].startswith("v=[-inf, ")
    assert names[-1].endswith(", inf]")


def test_infinite_values_are_in_the_outer_bins():
    values = np.array([-np.inf, -1.0, 0.0, np.inf])
    data = fp.Predictions.from_llrs([0, 1, 0, 1], np.zeros(4))
    found = rows_of(data, {"v": values}, [0.0])
    assert {name: rows.tolist() for name, rows in found.items()} == {
        "v=[-inf, 0)": [0, 1], "v=[0, inf]": [2, 3],
    }  # fmt: skip


@pytest.mark.parametrize("bins", [3, [2.0, 6.0]])
def test_targets_are_shared_by_bins(bins):
    data = columns()
    found = both(
        data,
        lambda c: {("snr", "gender"): fp.SharedTargets((c["snr"], c["gender"]))},
        {"snr": bins},
        weighted=True,
    )
    assert len(found) == 6
    targets = np.flatnonzero(data["y"] == 1)
    negatives = [np.setdiff1d(rows, targets) for rows in found.values()]
    for rows in found.values():
        np.testing.assert_array_equal(np.intersect1d(rows, targets), targets)
    np.testing.assert_array_equal(
        np.sort(np.concatenate(negatives)), np.flatnonzero(data["y"] == 0)
    )
    weights = np.where(data["y"] == 0, data["weight"], 0.0)
    if bins == 3:
        edges = edges_by_hand(data["snr"], weights, 3)
        middle = np.concatenate(negatives[2:4])
        expected = (data["y"] == 0) & (data["snr"] >= edges[0]) & (data["snr"] < edges[1])
        assert np.setxor1d(middle, np.flatnonzero(expected)).size <= 2


def test_words_of_targets_do_not_count_where_targets_are_shared():
    data = columns()
    data["text"] = np.where(data["y"] == 1, "-", data["text"])
    found = both(data, lambda c: {"text": fp.SharedTargets(c["text"])}, {"text": 2})
    assert len(found) == 2


def test_a_part_of_targets_alone_has_no_bins():
    data = columns()
    order = np.argsort(-data["y"], kind="stable")
    data = {name: column[order] for name, column in data.items()}
    assert data["y"][:130].all()
    assert len(both(data, lambda c: {"snr": fp.SharedTargets(c["snr"])}, 3)) == 3


def test_no_negatives_make_no_bins():
    data = fp.Predictions.from_llrs([1, 1, 1], [0.0, 1.0, 2.0])
    parts = fp.from_parts([(data, {"snr": [1.0, 2.0, 3.0]})])
    assert groups_of(data, {"snr": fp.SharedTargets([1.0, 2.0, 3.0])}, 2) == []
    assert groups_of(parts, {"snr": fp.SharedTargets("snr")}, 2) == []


def test_samples_without_weight_are_as_if_absent():
    data = columns()
    absent = np.arange(N) % 3 == 0
    data["weight"] = np.where(absent, 0.0, 1.0)
    data["snr"] = np.where(absent, 1e6, data["snr"])
    data["text"] = np.where(absent, "unknown", data["text"])
    rest = {name: column[~absent] for name, column in data.items()}
    alone = fp.Predictions.from_llrs(rest["y"], rest["llr"])
    for name in ("snr", "text"):
        found = both(data, lambda c, name=name: {name: c[name]}, {name: 4}, weighted=True)
        expected = groups_of(alone, {name: rest[name]}, {name: 4})
        assert list(found) == [group.name for group in expected]
        for rows, group in zip(found.values(), expected, strict=True):
            np.testing.assert_array_equal(data["llr"][rows[~absent[rows]]], rest["llr"][group.rows])


def test_weights_are_repetitions():
    rng = np.random.default_rng(3)
    values, times = rng.integers(0, 30, 80) * 0.5, rng.integers(0, 4, 80)
    y = np.arange(80) % 2
    weighted = fp.Predictions.from_llrs(y, np.zeros(80), sample_weight=times)
    again = np.repeat(np.arange(80), times)
    repeated = fp.Predictions.from_llrs(y[again], np.zeros(again.size))
    for bins in (2, 3, 4, 5):
        names = [
            [group.name for group in groups_of(data, {"v": ids}, bins)]
            for data, ids in ((weighted, values), (repeated, values[again]))
        ]
        assert names[0] == names[1]


def test_tables_are_those_of_the_same_groups_as_text():
    data = columns()
    whole = in_memory(data)
    options = {"n_resamples": 240, "seed": 0, "group_differences": "all", "method": "percentile"}
    by = {("gender", "snr"): (data["gender"], data["snr"])}
    binned = fp.evaluate(whole, METRICS, by=by, bins={"snr": [5]}, **options)
    texts = np.char.add(data["gender"], (data["snr"] >= 5).astype(int).astype(str))
    expected = fp.evaluate(whole, METRICS, by={"g": texts}, **options)
    names = [f"gender={g}, snr={s}" for g in "fm" for s in ("[-inf, 5)", "[5, inf]")]
    assert [group.group for group in binned.groups] == [None, *names]
    for row, other in zip(binned.rows, expected.rows, strict=True):
        assert (row.value, row.low, row.high) == (other.value, other.low, other.high)
    assert len(binned.differences) == 6 * 2
    for one, other in zip(binned.differences, expected.differences, strict=True):
        assert (one.value, one.low, one.high) == (other.value, other.low, other.high)
    parts = fp.evaluate(in_parts(data), METRICS, by=[("gender", "snr")], bins={"snr": [5]})
    for row, other in zip(parts.rows, binned.rows, strict=True):
        assert (row.group, row.metric) == (other.group, other.metric)
        assert row.value == pytest.approx(other.value, rel=1e-9)


def test_reports_take_bins(tmp_path):
    pytest.importorskip("matplotlib")
    data = columns()
    whole, options = in_memory(data), {"by": {"snr": data["snr"]}, "bins": [5]}
    table = fp.evaluate(whole, METRICS, **options)
    table.to_report(tmp_path / "page.html", whole, **options)
    assert "[-inf, 5)" in (tmp_path / "page.html").read_text("utf-8")


def test_parquet(tmp_path):
    pl = pytest.importorskip("polars")
    data = columns()
    path = tmp_path / "scores.parquet"
    pl.DataFrame({name: data[name] for name in ("y", "llr", *IDS)}).write_parquet(
        path, row_group_size=170
    )
    parts = fp.scan_parquet(path, y_true="y", llrs="llr")
    by = ["half", ("gender", "text")]
    found = fp.evaluate(parts, [fp.EER()], by=by, bins=3)
    by = {"half": data["half"], ("gender", "text"): (data["gender"], data["text"])}
    expected = fp.evaluate(in_memory(data), [fp.EER()], by=by, bins=3)
    assert [(row.group, row.value) for row in found.rows] == [
        (row.group, row.value) for row in expected.rows
    ]


NATURAL = [
    (["30s", "3s", "10s"], ["3s", "10s", "30s"]),
    (["10", "9", "-1", "1e1", "0.5"], ["-1", "0.5", "9", "10", "1e1"]),
    (["1.25s", "1.5s", "1.125s", "s"], ["1.125s", "1.25s", "1.5s", "s"]),
    (["b", "a10", "a9", "", "a"], ["", "a", "a9", "a10", "b"]),
    (["007", "7", "07", "6"], ["6", "007", "07", "7"]),
    ([b"x10", b"x9"], [b"x9", b"x10"]),
    ([10, 9, -1], [-1, 9, 10]),
    (["nan", "2", "10"], ["2", "10", "nan"]),
    (["²", "٣", "3"], ["3", "٣", "²"]),
]


@pytest.mark.parametrize(("values", "ordered"), NATURAL)
def test_natural_order(values, ordered):
    ranks = ranks_of(np.array(values))
    assert sorted(values, key=ranks.__getitem__) == ordered
    assert sorted(ranks.values()) == list(range(len(values)))


def test_many_numbers_need_bins():
    data = columns()
    whole, parts = in_memory(data), in_parts(data)
    few = np.arange(N) % 20
    assert len(groups_of(whole, {"n": few})) == 20
    for name in ("snr", "db", "text"):
        n = np.unique(data[name]).size
        message = rf"^by\['{name}'\] must have at most 20 different numbers, not {n}: pass bins="
        for given, by in ((whole, {name: data[name]}), (parts, name)):
            with pytest.raises(fp.ArgumentError, match=message) as caught:
                groups_of(given, by)
            assert len(groups_of(given, by, **caught.value.pass_)) == 4
            for bins in ("each", {name: "each"}):
                assert len(groups_of(given, by, bins)) == n
    with pytest.raises(fp.ArgumentError, match="at most 20 different numbers"):
        groups_of(whole, {("gender", "db"): (data["gender"], data["db"])})


def test_many_groups_are_wanted_by_name():
    n = 1_001
    words = np.array([f"w{i}" for i in range(n)])
    data = fp.Predictions.from_llrs(np.arange(n) % 2, np.zeros(n))
    parts = fp.from_parts([(data[at], {"w": words[at]}) for at in (range(400), range(400, n))])
    for given, by in ((data, {"w": words}), (parts, "w")):
        with pytest.raises(
            fp.ArgumentError, match=r"^by\['w'\] must have at most 1,000 groups, not 1,001"
        ):
            groups_of(given, by)
        names = [group.name for group in groups_of(given, by, {"w": "each"})]
        assert names == [f"w=w{i}" for i in range(n)]
    words[-1] = "w0"
    assert len(groups_of(data, {"w": words})) == 1_000


def test_values_of_parts_are_not_collected_without_end(monkeypatch):
    monkeypatch.setattr("fastpsr.groups.groups._MOST_COLLECTED", 150)
    data = columns()
    with pytest.raises(fp.ArgumentError, match=r"numbers, not \d+ or more: pass bins="):
        groups_of(in_parts(data), "snr")
    assert len(groups_of(in_parts(data), "snr", "each")) == N


BAD = {
    "no columns": (None, 3, "^bins are for groups of samples: pass by="),
    "another column": ("snr", {"db": 3}, r"^bins must be for columns of by: 'snr', not 'db'"),
    "words": ("gender", 3, "^bins are for columns of numbers, but 'gender' has 'f'"),
    "words by name": ("gender", {"gender": [0]}, "^bins must be of a column of numbers, but 'gen"),
    "one bin": ("snr", 1, "^bins must be an integer of at least 2, not 1"),
    "a fraction": ("snr", {"snr": 2.5}, r"^bins\['snr'\] must be an integer of at least 2"),
    "a flag": ("snr", True, "^bins must be an integer"),
    "another word": ("snr", "all", "^bins must be a number, edges or \"each\", not 'all'"),
    "no edges": ("snr", [], "^bins must not be empty"),
    "edges that descend": ("snr", [0, 5, 5], r"^bins must have finite edges.* bins\[2\] is 5"),
    "nan": ("snr", [0, np.nan], r"^bins must have finite edges that ascend, but bins\[1\] is nan"),
    "infinite edges": ("snr", [-np.inf, np.inf], r"^bins must have finite edges.* bins\[0\]"),
    "words as edges": ("snr", ["low"], "^bins must be an array of real numbers"),
}


@pytest.mark.parametrize("where", ["memory", "parts"])
@pytest.mark.parametrize(("name", "bins", "message"), BAD.values(), ids=BAD)
def test_bins_that_are_none(name, bins, message, where):
    data = columns()
    by = None if name is None else {name: name if where == "parts" else data[name]}
    with pytest.raises(fp.ArgumentError, match=message):
        fp.evaluate(
            in_parts(data) if where == "parts" else in_memory(data), METRICS, by=by, bins=bins
        )


def test_words_among_numbers_are_named():
    data = columns()
    data["text"][77] = "n/a"
    for given, by in ((in_memory(data), {"text": data["text"]}), (in_parts(data), "text")):
        with pytest.raises(fp.ArgumentError, match="column of numbers, but 'text' has 'n/a'"):
            groups_of(given, by, {"text": 4})


def test_names_of_groups_differ():
    data = fp.Predictions.from_llrs([0, 1, 0, 1], np.zeros(4))
    one, other = ["x, b=y", "x, b=y", "x", "x"], ["z", "z", "y, b=z", "y, b=z"]
    with pytest.raises(fp.ArgumentError, match=r"^by must give groups of different names, but 2"):
        groups_of(data, {("a", "b"): (one, other)})
    groups = {"g": one, ("g",): (one,)}
    with pytest.raises(fp.ArgumentError, match=r"^by must give groups of different names"):
        groups_of(data, groups)


@pytest.mark.parametrize("ids", ["gender", ("gender",), (), None])
def test_combinations_have_ids_of_each_column(ids):
    data = columns()
    message = r"^by must (give ids of|name) 2 columns for \('gender', 'length'\)"
    for given in (in_memory(data), in_parts(data)):
        with pytest.raises(fp.ArgumentError, match=message):
            groups_of(given, {("gender", "length"): ids})


def test_a_column_is_not_combined_with_itself():
    data = columns()
    by = {("snr", "snr"): (data["snr"], data["snr"])}
    for given, argument in ((in_memory(data), by), (in_parts(data), [("snr", "snr")])):
        with pytest.raises(fp.ArgumentError, match=r"^by must name different columns, not \('snr'"):
            groups_of(given, argument)


def test_short_columns_of_combinations_are_named():
    data = columns()
    with pytest.raises(fp.ArgumentError, match=r"^by\['length'\] must have"):
        groups_of(in_memory(data), {("gender", "length"): (data["gender"], data["length"][1:])})


def test_groups_by_bins_can_be_sent_elsewhere():
    data = columns()
    group = groups_of(in_parts(data), ["snr"], 3)[1]
    again = pickle.loads(pickle.dumps(group.rows))
    part = _Part(in_memory(data), {"snr": data["snr"]})
    np.testing.assert_array_equal(again.rows(part), group.rows.rows(part))
    assert 190 < again.rows(part).sum() < 210
