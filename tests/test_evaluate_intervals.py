"""The table of everything, with intervals."""

import math
import sys

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.evaluation.evaluate import SlowIntervalWarning
from fastpsr.metrics.defaults import default_metrics
from tests.test_evaluate import BY_HAND, DEFAULT, INF, INFINITE, refusing, sample

SCHEMES = {
    "IID": None,
    "Stratified": fp.Stratified(),
    "Clusters": fp.Clusters(np.arange(300) % 40),
    "Nested": fp.Nested(np.arange(300) % 40),
    "TwoWay": fp.TwoWay(np.arange(300) % 40, np.arange(300) // 8),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("method", ["percentile", "basic", "normal"])
@pytest.mark.parametrize("name", SCHEMES)
def test_intervals_are_those_of_the_bootstrap(name, method):
    data = sample()
    options = {
        "n_resamples": 50, "confidence_level": 0.9, "method": method, "resampling": SCHEMES[name],
        "seed": 7,
    }  # fmt: skip
    table = fp.evaluate(data, **options)
    assert [row.value for row in table.rows] == [row.value for row in fp.evaluate(data).rows]
    assert table.row("RCL bound").low is None
    for row in (row for row in table.rows if row.metric != "RCL bound"):
        found = fp.bootstrap(BY_HAND[row.metric](2), data, **options)
        assert (row.low, row.high, row.bias) == (*found.interval, found.bias)
        assert row.n_undefined == found.n_undefined == 0
    assert table.to_dict()["intervals"] == {
        "confidence_level": 0.9, "method": method, "n_resamples": 50, "resampling": name, "seed": 7
    }  # fmt: skip
    assert table.to_dict()["rows"][0]["low"] == table.rows[0].low


def test_metrics_of_the_table_share_passes(monkeypatch):
    calls = []

    def drawn(names, *arguments, **options):
        calls.append([each.metric for each in names])
        return with_intervals(names, *arguments, **options)

    module = sys.modules[fp.evaluate.__module__]
    with_intervals = module.with_intervals
    monkeypatch.setattr(module, "with_intervals", drawn)
    fp.evaluate(sample(), n_resamples=40, seed=0)
    assert calls == [[name for name in DEFAULT[2] if name != "RCL bound"]]


def test_without_a_seed_the_one_that_was_drawn_is_said():
    first = fp.evaluate(sample(), n_resamples=40)
    again = fp.evaluate(sample(), n_resamples=40, seed=first.intervals.seed)
    assert first.to_dict() == again.to_dict()
    assert fp.evaluate(sample(), n_resamples=40).intervals.seed != first.intervals.seed


def test_what_has_no_value_has_no_interval():
    table = fp.evaluate(sample(), {"a": refusing, "NCE": fp.CrossEntropy()}, n_resamples=40, seed=0)
    a, nce = table.rows
    assert (a.low, a.high, a.bias, a.n_undefined) == (None, None, None, 0)
    assert a.note == "not computed: the moon is not full"
    assert nce.low < nce.value < nce.high
    alone = fp.evaluate(sample(), {"a": refusing}, n_resamples=40, seed=0)
    assert alone.rows[0].low is None


def test_undefined_replicates_are_counted_and_warned_of_by_name():
    data = fp.Predictions.from_posteriors([1] + [0] * 9, np.linspace(0.9, 0.1, 10))
    with pytest.warns(RuntimeWarning, match="^score is undefined in "):
        table = fp.evaluate(data, {"score": fp.CrossEntropy()}, n_resamples=100, seed=0)
    assert 10 < table.rows[0].n_undefined < 70  # 0.9**10 = 35 %


def test_infinite_values_have_intervals():
    (row,) = fp.evaluate(
        INFINITE["log-odds"],
        [fp.CrossEntropy()],
        n_resamples=40,
        resampling=fp.Stratified(),
        seed=0,
    ).rows
    assert row.value == row.high == INF
    assert math.isnan(row.bias)


def test_progress_of_replicates():
    seen = []
    fp.evaluate(
        sample(),
        {"NCE": fp.CrossEntropy(), "own": lambda p: float(p.class_weights[0])},
        n_resamples=40,
        seed=0,
        progress=lambda *done: seen.append(done),
    )
    assert seen[:2] == [("NCE", 0, 2), ("own", 1, 2)]
    assert {what for what, *_ in seen[2:-1]} == {"replicates"}
    assert seen[-2:] == [("replicates", 80, 80), ("intervals", 0, 2)]


WRONG = {
    "too few": ({"n_resamples": 39}, "^n_resamples must be .* at least 40 .* not 39"),
    "negative": ({"n_resamples": -1}, "^n_resamples must"),
    "level": ({"n_resamples": 50, "confidence_level": 1.0}, "^confidence_level must .* 1.0"),
    "method": ({"n_resamples": 50, "method": "bayes"}, "^method must .* 'bayes'"),
    "seed": ({"n_resamples": 50, "seed": -1}, "^seed must .* -1"),
    "resampling": ({"n_resamples": 50, "resampling": "iid"}, "^resampling must .* 'iid'"),
    "bca": (
        {"n_resamples": 50, "method": "bca", "resampling": SCHEMES["TwoWay"]}, "^method must not"
    ),
    "ids": ({"n_resamples": 50, "resampling": fp.Clusters([1, 2])}, "^ids must have .* 300, not 2"),
    "resampling alone": ({"resampling": fp.IID()}, "^resampling is for intervals: .*n_resamples"),
    "ids alone": ({"resampling": np.arange(300)}, "^resampling is for intervals"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"), [pytest.param(*case, id=name) for name, case in WRONG.items()]
)
def test_wrong_options(options, words):
    with pytest.raises(ValueError, match=words):
        fp.evaluate(sample(), **options)


def test_wrong_options_are_found_before_the_work():
    def refuse(predictions):
        raise AssertionError("computed for nothing")

    with pytest.raises(ValueError, match="n_resamples"):
        fp.evaluate(sample(), [refuse], n_resamples=3)


def test_printed_table_with_intervals():
    data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    metrics = {"score": fp.BrierScore(), "none": refusing, "RCL": BY_HAND["RCL"](2)}
    table = fp.evaluate(data, metrics, n_resamples=200, seed=0, method="percentile")
    score, _, _ = (f"[{r.low or 0:.4f}, {r.high or 0:.4f}]" for r in table.rows)
    rcl = f"[{table.rows[2].low:.3f}, {table.rows[2].high:.3f}]"
    wide = max(len(score), len(rcl))
    assert str(table).splitlines()[1:] == [
        "95 % intervals: percentile, 200 replicates, resampling IID, seed 0",
        f"score      0.7400  {score:<{wide}}  Brier score over that of the priors",
        f"none          nan  {'':<{wide}}  not computed: the moon is not full",
        f"RCL    {table['RCL']:>8.3f} %  {rcl:<{wide}}  {table.rows[2].note}",
    ]


def test_warnings_of_intervals_point_at_the_caller():
    data = fp.Predictions.from_posteriors([1] + [0] * 9, np.linspace(0.9, 0.1, 10))
    with pytest.warns(RuntimeWarning, match="is undefined in ") as caught:
        fp.evaluate(data, {"score": fp.CrossEntropy()}, n_resamples=100, seed=0)
    assert [each.filename for each in caught] == [__file__]


def interval_of(table, metric):
    row = table.row((None, None, metric))
    return row.low, row.high


def test_a_slow_interval_of_a_default_table_is_left_out_and_can_be_asked_for(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    data = fp.Predictions.from_logits(y, rng.normal(size=(120, 3)) + 2.0 * np.eye(3)[y])
    options = {"n_resamples": 40, "seed": 0}
    before = fp.evaluate(data, **options)
    assert before.row("RCL").low is not None
    loss = default_metrics(3)["RCL"]
    monkeypatch.setattr(sys.modules["fastpsr.evaluation.evaluate"], "_MOST_SECONDS", 1e-9)
    for by in (None, {"room": np.arange(120) % 2}):
        with pytest.warns(SlowIntervalWarning, match="RCL has no interval") as caught:
            table = fp.evaluate(data, by=by, **options)
        assert len(caught) == len(table.warnings) == 1
        assert table.row((None, None, "RCL")).value == before.row("RCL").value
        assert table.row((None, None, "RCL")).low is None
        assert table.row((None, None, "RCL")).note.endswith("without interval")
        assert interval_of(table, "NCE") == interval_of(before, "NCE")
    n_groups = 2  # with all samples, twice the rows
    seconds = loss.seconds_of_refits(data, 40)
    assert caught[0].message.seconds == pytest.approx(n_groups * seconds)
    asked = fp.evaluate(data, metrics=["NCE", "RCL"], **options)  # as the warning says
    assert interval_of(asked, "RCL") == interval_of(before, "RCL")
    assert loss.seconds_of_refits(data[::2], 40) == pytest.approx(seconds / 2)
    assert default_metrics(2)["RCL"].seconds_of_refits(sample(), 1000) == 0.0  # sums on an axis
