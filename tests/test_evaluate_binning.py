"""`fp.evaluate(by=, bins=)`: which samples each bin holds, and what the bins are called."""

import itertools

import numpy as np
import pytest

import fastpsr as fp
from tests.evaluations import refusal

INF = np.inf
N = 600
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
SNR = RNG.normal(5.0, 4.0, N)
COLUMNS = {
    "snr": SNR,
    "db": np.round(SNR).astype(np.int64),
    "half": np.round(SNR * 2).astype(np.float32) / 2,
    "text": np.round(SNR, 1).astype(str),
    "gender": np.where(RNG.random(N) < 0.4, "f", "m"),
}
WEIGHTS = RNG.integers(0, 4, N) * 0.3


def data_of(y=Y, weights=None):
    """Samples whose scores are their row numbers."""
    return fp.Predictions.from_raw_scores(y, np.arange(len(y), dtype=float), sample_weight=weights)


def in_parts(data, columns, cuts=(0, 130, 130, 350, N)):
    bounds = [slice(*ends) for ends in itertools.pairwise(cuts)]
    return fp.from_parts([(data[at], {k: columns[k][at] for k in columns}) for at in bounds])


def bins_of(data, by, bins):
    """The name of each group, and its rows."""
    rows = []
    table = fp.evaluate(
        data, {"rows": lambda p: rows.append(p.scores.astype(int)) or 0.0}, by=by, bins=bins
    )
    return dict(zip([group.group for group in table.groups[1:]], rows[1:], strict=True))


def assert_parts_have_the_same_bins(data, columns, by, bins, expected):
    """The same names and sizes, and values that depend on the samples."""
    table = fp.evaluate(in_parts(data, columns), ["AUC"], by=by, bins=bins)
    assert [group.group for group in table.groups[1:]] == list(expected)
    for row, group, rows in zip(table.rows[1:], table.groups[1:], expected.values(), strict=True):
        assert group.n_samples == len(rows)
        assert row.value == pytest.approx(fp.AUC()(data[rows]), rel=1e-12)


def naive_edges(values, weights, bins):
    """The largest values with at most i / bins of the weight below, by exhaustion."""
    distinct = np.unique(values[weights > 0.0])
    below = np.array([weights[values < value].sum() for value in distinct]) / weights.sum()
    return [distinct[below <= i / bins + 1e-9][-1] for i in range(1, bins)]


@pytest.mark.parametrize(
    ("name", "bins", "weights"),
    [("snr", 4, None), ("snr", 7, WEIGHTS), ("db", 2, WEIGHTS), ("db", 7, None),
     ("half", 4, WEIGHTS), ("half", 2, None), ("text", 7, WEIGHTS), ("text", 2, None)],
)  # fmt: skip
def test_quantile_bins(name, bins, weights):
    column, data = COLUMNS[name], data_of(weights=weights)
    binned = bins_of(data, {name: column}, bins)
    values = column.astype(float)
    edges = naive_edges(values, np.ones(N) if weights is None else weights, bins)
    places = np.searchsorted(np.unique(edges), values, side="right")
    assert len(binned) == len(set(places))
    for place, rows in enumerate(binned.values()):
        # edges are rounded down by less than a hundredth of a bin, below which few values are
        differing = np.setxor1d(rows, np.flatnonzero(places == place))
        assert differing.size <= (4 if name == "snr" else 0)
    for group, rows in binned.items():  # names are true, and short
        low, high = group.removeprefix(f"{name}=[").rstrip(")]").split(", ")
        inside = (values >= float(low)) & (values < float(high))
        np.testing.assert_array_equal(rows, np.flatnonzero(inside))
    assert_parts_have_the_same_bins(data, {name: column}, name, bins, binned)


@pytest.mark.parametrize("name", ["snr", "db", "half", "text"])
def test_edges(name):
    column, edges = COLUMNS[name], [0, 2.5, 5, 1e3]
    labels = ["[-inf, 0)", "[0, 2.5)", "[2.5, 5)", "[5, 1000)"]  # none is at 1000 or above
    places = np.searchsorted(edges, column.astype(float), side="right")
    expected = {f"{name}={label}": np.flatnonzero(places == k) for k, label in enumerate(labels)}
    np.testing.assert_equal(bins_of(data_of(), {name: column}, edges), expected)
    assert_parts_have_the_same_bins(data_of(), {name: column}, name, edges, expected)


def test_combinations_with_bins():
    by = {("gender", "snr"): (COLUMNS["gender"], SNR)}
    expected = {
        f"gender={g}, snr={label}": np.flatnonzero((COLUMNS["gender"] == g) & inside)
        for g in "fm"
        for label, inside in (("[-inf, 5)", SNR < 5), ("[5, inf]", SNR >= 5))
    }
    binned = bins_of(data_of(), by, {"snr": [5]})
    np.testing.assert_equal(binned, expected)
    assert list(binned) == list(expected)
    columns = {name: COLUMNS[name] for name in ("gender", "snr")}
    assert_parts_have_the_same_bins(data_of(), columns, [("gender", "snr")], {"snr": [5]}, expected)


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1.0, 1e12])
@pytest.mark.parametrize("shift", [0.0, 1.6e9])
def test_rounded_edges_do_not_merge_bins(scale, shift):
    values = scale * (shift + np.arange(-50.0, 50.0))
    binned = bins_of(data_of(np.arange(100) % 2), {"t": values}, 4)
    assert [len(rows) for rows in binned.values()] == [25, 25, 25, 25]


TIED = {
    "half at the least": ([0] * 50 + list(range(1, 51)), 4, [50, 25, 25]),
    "most at the greatest": ([0] * 10 + [1] * 90, 4, [10, 90]),
    "all equal": ([3] * 100, 4, [100]),
    "infinite values and an edge": ([-INF] * 30 + [1.0] * 40 + [INF] * 30, [1], [30, 70]),
}


@pytest.mark.parametrize("case", TIED)
def test_tied_values_are_in_one_bin(case):
    values, bins, sizes = TIED[case]
    column, data = {"v": np.array(values, float)}, data_of(np.arange(100) % 2)
    binned = bins_of(data, column, bins)
    assert [len(rows) for rows in binned.values()] == sizes
    assert next(iter(binned)).startswith("v=[-inf, ")
    assert list(binned)[-1].endswith(", inf]")
    parts = fp.evaluate(in_parts(data, column, (0, 37, 100)), ["EER"], by="v", bins=bins)
    assert [group.group for group in parts.groups[1:]] == list(binned)


def test_bins_of_groups_that_share_targets():
    by = {("snr", "gender"): fp.SharedTargets((SNR, COLUMNS["gender"]))}
    data, targets = data_of(weights=WEIGHTS), np.flatnonzero(Y == 1)
    for bins in (3, [2.0, 6.0]):
        edges = naive_edges(SNR, np.where(Y == 0, WEIGHTS, 0.0), 3) if bins == 3 else bins
        binned = list(bins_of(data, by, {"snr": bins}).values())
        assert len(binned) == 6
        places = np.searchsorted(edges, SNR, side="right")
        for k, rows in enumerate(binned):
            of_column = COLUMNS["gender"] == "fm"[k % 2]
            expected = np.flatnonzero((Y == 1) | (of_column & (places == k // 2)))
            assert np.setxor1d(rows, expected).size <= (2 if bins == 3 else 0)
            np.testing.assert_array_equal(np.intersect1d(rows, targets), targets)
    text = np.where(Y == 1, "-", COLUMNS["text"])  # words of targets do not matter
    assert len(bins_of(data_of(), {"text": fp.SharedTargets(text)}, {"text": 2})) == 2
    no_negatives = {"snr": fp.SharedTargets([1.0, 2.0, 3.0])}
    assert bins_of(data_of(np.ones(3, int)), no_negatives, 2) == {}


def test_samples_without_weight_are_as_if_absent():
    absent = np.arange(N) % 3 == 0
    for name, value in (("snr", 1e6), ("text", "unknown")):
        column = np.where(absent, value, COLUMNS[name])
        binned = bins_of(data_of(weights=np.where(absent, 0.0, 1.0)), {name: column}, {name: 4})
        kept = np.flatnonzero(~absent)
        alone = bins_of(data_of(Y[kept]), {name: column[kept]}, {name: 4})
        assert list(binned) == list(alone)
        for rows, expected in zip(binned.values(), alone.values(), strict=True):
            np.testing.assert_array_equal(
                np.setdiff1d(rows, np.flatnonzero(absent)), kept[expected]
            )


INVALID = {
    "no columns": (None, 3),
    "another column": ("snr", {"db": 3}),
    "words": ("gender", 3),
    "one bin": ("snr", 1),
    "a flag": ("snr", True),
    "no edges": ("snr", []),
    "edges that descend": ("snr", [0, 5, 5]),
    "nan": ("snr", [0, np.nan]),
    "infinite edges": ("snr", [-INF, INF]),
    "words as edges": ("snr", ["low"]),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_bins(case):
    name, bins = INVALID[case]
    in_memory = None if name is None else {name: COLUMNS[name]}
    for data, by in ((data_of(), in_memory), (in_parts(data_of(), COLUMNS), name)):
        assert refusal(data, ["EER"], by=by, bins=bins).argument.startswith("bins")


def test_words_among_numbers_are_named():
    text = np.where(np.arange(N) == 77, "n/a", COLUMNS["text"])
    for data, by in ((data_of(), {"text": text}), (in_parts(data_of(), {"text": text}), "text")):
        assert "'text' has 'n/a'" in str(refusal(data, ["EER"], by=by, bins={"text": 4}))
