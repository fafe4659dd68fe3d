"""Ids by the name of a column are those in an array, in memory as in parts."""

import numpy as np
import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import ROUNDING, outcome, require_same
from tests.contract.data import Case

CASE = Case(cuts="empty parts")
COLUMNS = CASE.columns
SPOOF = CASE.rows["y"] * 0 + (np.arange(CASE.n) % 3 == 0) * (CASE.rows["y"] == 0)


def data(columns=COLUMNS):
    """Return the predictions without columns, with columns, and in parts that have them."""
    whole = CASE.predictions()
    with_columns = fp.Predictions.from_llrs(whole.y_true, whole.llrs, columns=columns)
    return whole, with_columns, CASE.parts(columns)


def ways(columns=COLUMNS):
    """Return data and columns, by arrays and by names; the first is that in memory, by arrays."""
    whole, with_columns, parts = data(columns)
    names = {name: name for name in columns}
    return [(whole, columns), (with_columns, names), (parts, names), (parts, columns)]


@pytest.mark.parametrize("kind", registry.RESAMPLING_KINDS)
def test_schemes(kind):
    results = [
        fp.bootstrap(fp.Cllr(), given, resampling=registry.resampling(kind, columns),
                     n_resamples=40, seed=3).replicates
        for given, columns in ways()
    ]  # fmt: skip
    np.testing.assert_array_equal(results[1], results[0])
    for result in results[2:]:
        np.testing.assert_allclose(result, results[2], rtol=1e-12)
    if kind in ("Clusters", "TwoWay"):
        np.testing.assert_allclose(results[2], results[0], rtol=1e-12)


@pytest.mark.parametrize("kind", registry.TRAINING_KINDS)
def test_trainings(kind):
    for place in range(len(registry.trainings(kind, CASE.predictions(), COLUMNS))):
        expected = None
        for given, columns in ways():
            train = registry.trainings(kind, CASE.predictions(), columns)[place]
            calibrated = outcome(fp.cross_fit, fp.DirectionPreserving(), given, train)
            if isinstance(calibrated, fp.PartitionedPredictions):
                calibrated = calibrated.compute()
            if given.columns if isinstance(given, fp.Predictions) else False:
                assert [*calibrated.columns] == [*COLUMNS]
            scores = getattr(calibrated, "llrs", calibrated)
            expected = scores if expected is None else expected
            require_same(scores, expected, 1e-9, f"{kind} {place}")


@pytest.mark.parametrize(
    ("by", "bins"),
    [
        ("group", None),
        (["group", "fold"], None),
        ([("group", "fold")], {"fold": 2}),
        ({"g": "group"}, None),
        ({("g", "u"): ("group", "unit")}, {"u": 3}),
        ({"g": fp.SharedTargets("group")}, None),
    ],
)
def test_groups(by, bins):
    names = [by] if isinstance(by, str) else by
    named = by if isinstance(by, dict) else {name: name for name in names}

    def ids(spec):
        if isinstance(spec, fp.SharedTargets):
            return fp.SharedTargets(ids(spec.ids))
        return COLUMNS[spec] if isinstance(spec, str) else tuple(map(ids, spec))

    arrays = {name: ids(spec) for name, spec in named.items()}
    whole, with_columns, parts = data()
    tables = [
        fp.evaluate(given, ["EER", "Cllr"], by=by, bins=bins)
        for given, by in ((whole, arrays), (with_columns, by), (parts, by), (parts, arrays))
    ]
    for table in tables[1:]:
        assert list(map(str, table.groups)) == list(map(str, tables[0].groups))
        for row, expected in zip(table.rows, tables[0].rows, strict=True):
            require_same(row.value, expected.value, ROUNDING, str(row))


def test_groups_are_drawn_by_their_own_ids():
    tables = [
        fp.evaluate(given, ["Cllr"], by={"g": columns["group"]}, n_resamples=40, seed=1,
                    resampling=fp.TwoWay(columns["left"], columns["right"]))
        for given, columns in ways()
    ]  # fmt: skip
    for table in tables[1:]:
        for row, expected in zip(table.rows, tables[0].rows, strict=True):
            require_same((row.low, row.high), (expected.low, expected.high), 1e-9, str(row))


@pytest.mark.parametrize("metric", [fp.MinADCF, fp.ActADCF])
def test_spoofed_trials(metric):
    columns = {"spoof": SPOOF, "x": np.arange(CASE.n)}
    values = [metric(names["spoof"])(given) for given, names in ways(columns)]
    assert values == values[:1] * 4


def test_measures_and_conditions():
    columns = {"one": np.arange(CASE.n) % 7.0, "two": np.arange(CASE.n) % 5.0}
    fused = [
        fp.LinearFusion().fit({"x": given, "q": fp.Quality(names["one"], names["two"])}).weights_
        for given, names in ways(columns)
    ]
    for weights in fused[1:]:
        np.testing.assert_allclose(weights, fused[0], rtol=1e-9)
    (whole, _), (named, _), *_ = ways()
    maker = fp.ByCondition(min_per_class=5)
    fits = [maker.fit(whole, {"group": COLUMNS["group"]}), maker.fit(named, "group")]
    assert fits[0].groups_ == fits[1].groups_
    transformed = fits[0].transform(named, ["group"])
    np.testing.assert_array_equal(
        transformed.llrs, fits[0].transform(whole, {"group": COLUMNS["group"]}).llrs
    )
    assert [*transformed.columns] == [*COLUMNS]


def test_a_name_that_is_no_column_is_refused_with_those_there_are():
    _, named, parts = data()
    for given in (named, parts):
        for use in (
            lambda d: fp.evaluate(d, ["EER"], by="nothing"),
            lambda d: fp.bootstrap(fp.EER(), d, resampling=fp.Clusters("nothing")),
            lambda d: fp.cross_fit(fp.PAV(), d, fp.CrossFit(groups="nothing")),
            lambda d: fp.cross_fit(fp.PAV(), d, fp.CrossFit("nothing")),
            lambda d: fp.MinADCF("nothing")(d),
        ):
            with pytest.raises(fp.ArgumentError, match=r"'nothing'; there are: .*unit"):
                use(given)
    with pytest.raises(fp.ArgumentError, match="pass columns="):
        fp.evaluate(CASE.predictions(), ["EER"], by="nothing")
    for spec in (COLUMNS["unit"][1:], [1, 2]):
        for given in (named, parts):
            with pytest.raises(fp.ArgumentError, match="one entry per sample: 300"):
                fp.bootstrap(fp.EER(), given, resampling=fp.Clusters(spec))


def test_systems_that_are_compared_have_the_same_columns():
    y, scores = np.tile([0, 1], 30), np.random.default_rng(0).normal(size=(2, 60))
    groups = np.repeat(["a", "b"], 30)
    of = {"columns": {"g": groups}}, {"columns": {"g": groups[::-1]}}
    a, b = (fp.Predictions.from_llrs(y, s + y, **each) for s, each in zip(scores, of, strict=True))
    same = a.with_columns(b.columns)
    message = r"must have the same column 'g', but it differs in row 0"
    with pytest.raises(ValueError, match=message):
        fp.compare(fp.Cllr(), a, b, resampling=fp.Clusters("g"), n_resamples=40)
    with pytest.raises(ValueError, match=f"'x' and 'y' {message}"):
        fp.evaluate({"x": a, "y": b}, [fp.Cllr()], by="g", differences="first")
    drawn = {"differences": "first", "n_resamples": 40, "resampling": fp.Nested("g")}
    with pytest.raises(ValueError, match=message):
        fp.evaluate({"x": a, "y": b}, [fp.Cllr()], **drawn)
    assert len(fp.evaluate({"x": a, "y": b}, [fp.Cllr()], by="g").rows) == 6
    assert len(fp.evaluate({"x": same, "y": b}, [fp.Cllr()], by="g", differences="first").rows) == 6


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (np.where(np.arange(40) == 35, np.nan, 1.0), r"\[35\] is nan"),
        (["a", 1] * 20, "all integers or all strings"),
        ([*range(35), None, *range(4)], r"\[35\] is None"),
    ],
)
def test_invalid_ids_have_the_same_message_in_parts(ids, words):
    y = np.tile([0, 1], 20)
    data = fp.Predictions.from_llrs(y, y + np.arange(40.0) / 9)
    parts = fp.from_parts([data[:30], data[30:]])
    calls = [
        lambda d: fp.bootstrap(fp.Cllr(), d, resampling=fp.Clusters(ids), n_resamples=40),
        lambda d: fp.cross_fit(fp.PAV(), d, fp.CrossFit(ids)),
        lambda d: fp.cross_fit(fp.PAV(), d, fp.CrossFit(groups=ids)),
        lambda d: fp.evaluate(d, [fp.Cllr()], by={"g": ids}),
    ]
    for call in calls:
        messages = []
        for each in (data, parts):
            with pytest.raises(ValueError, match=words) as error:
                call(each)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


def test_columns_of_parts_are_joined_if_their_entries_are_alike():
    y, words = [0, 1] * 10, ["a", "b"] * 10
    of = [words, np.array(words, object), np.array(words)]
    parts = [fp.Predictions.from_llrs(y, np.arange(20.0), columns={"g": each}) for each in of]
    assert fp.from_parts([*parts, parts[0][:0]]).compute().columns["g"].tolist() == words * 3
