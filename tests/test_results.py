"""What results look like in a notebook, as strict JSON, and as data frames."""

import json
import sys
from html.parser import HTMLParser

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.bootstrap.intervals import Interval
from fastpsr.calibration import CALIBRATORS
from fastpsr.curves import BANDS, CURVES
from fastpsr.html import table
from fastpsr.results import Result
from fastpsr.strict_json import strict

Y = np.arange(40) % 2
X = np.linspace(-2.0, 2.0, 40) + 0.8 * (Y - 0.5) + np.sin(np.arange(40.0))
LLRS = fp.Predictions.from_llrs(Y, X)
INFINITE = fp.Predictions.from_llrs(Y, np.where(np.arange(40) == 3, np.inf, X))


def interval(metric=None, **options):
    options = {"n_resamples": 40, "seed": 0, "method": "percentile"} | options
    return fp.bootstrap(metric or {"<i>AUC</i>": fp.AUC()}, LLRS, **options)


def intervals():
    (found,) = interval()
    (difference,) = fp.compare(
        {"a < b": fp.EER()}, LLRS, INFINITE, n_resamples=40, seed=2**64 - 1, method="percentile"
    )
    return {"bootstrap": found, "compare": difference}


CURVES_FOUND = {
    **{curve.__name__: curve(LLRS, **options(2)) for curve, options in CURVES.items()},
    "risk_curve of 3 classes": fp.risk_curve(
        fp.Predictions.from_logits(np.arange(40) % 3, np.eye(3)[np.arange(40) % 3]),
        [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],
    ),
    "infinite": fp.tippett(INFINITE),
}
BANDS_FOUND = {curve: fp.band(curve, INFINITE, n_resamples=40, seed=0) for curve in BANDS}
RESULTS = {
    **CURVES_FOUND,
    **intervals(),
    **{f"band of {curve.__name__}": band for curve, band in BANDS_FOUND.items()},
    **{f"value of {curve.__name__}": band.value for curve, band in BANDS_FOUND.items()},
    "sample size": fp.sample_size(fp.BrierScore(), LLRS, 0.1, n_resamples=40, seed=0),
    "point": fp.EER().operating_point(LLRS),
    "point without threshold": fp.OperatingPoint(np.nan, 1.0, 0.0),
    "decomposition": fp.ExpectedDivergence(
        fp.rules.Log(), fp.DirectionPreserving(), fp.TrainOnTest()
    ).decompose(LLRS),
}
SHOWN = {
    **RESULTS,
    "interval": Interval(0.1, np.inf),
    "Predictions": LLRS,
    "unlabeled": fp.Predictions.from_posteriors(
        None, np.full((3, 3), 1 / 3), priors=[0.2, 0.3, 0.5]
    ),
    "parts": fp.from_parts([LLRS]),
    **{f"{name}, not fitted": kind() for name, kind in CALIBRATORS.items()},
    **{f"{name}, fitted": kind().fit(LLRS) for name, kind in CALIBRATORS.items()},
    "a rule with <": fp.DirectionPreserving(fp.rules.Weighted(lambda a: a[:, 0])),
}  # fmt: skip


class Table(HTMLParser):
    """The tags and the text of a table."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.cells = set(), [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert attributes == []  # the notebook's own looks, in light and in dark
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def shown(result):
    return Table(result._repr_html_())


@pytest.mark.parametrize("name", SHOWN)
def test_results_are_small_plain_tables(name):
    text = SHOWN[name]._repr_html_()
    assert Table(text).tags <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert len(text) < 2_000


def test_every_class_of_results_is_here():
    made = {type(result) for result in SHOWN.values()}
    exported = {value for value in vars(fp.curves).values() if isinstance(value, type)}
    curves = {kind for kind in exported if issubclass(kind, Result)}
    assert len(curves) >= len(CURVES)
    assert curves <= made
    assert {getattr(fp, n) for n in fp.__all__ if n.endswith(("Result", "Predictions"))} <= made


@pytest.mark.parametrize("name", RESULTS)
def test_content_is_strict_json(name):
    content = RESULTS[name].to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content


@pytest.mark.parametrize("name", RESULTS)
def test_frames(name):
    frame = RESULTS[name].to_frame()
    assert isinstance(frame, polars.DataFrame)
    assert frame.height > 0


def test_what_a_curve_shows():
    curve = fp.roc(LLRS)
    cells = shown(curve).cells
    assert cells[:3] == ["Roc", "attribute", "value"]
    assert cells[cells.index("p_miss") + 1] == f"shape ({curve.p_miss.size},), 0 to 1"
    assert curve.to_dict()["threshold"][-1] == "inf"


def test_frames_of_curves_hold_their_arrays():
    curve = fp.roc(LLRS)
    frame = curve.to_frame()
    assert frame.columns == ["threshold", "p_miss", "p_fa", "on_hull"]
    assert np.array_equal(frame["p_fa"], curve.p_fa)
    assert np.array_equal(np.flatnonzero(frame["on_hull"]), curve.hull)
    tippett = fp.tippett(LLRS)
    of_targets = tippett.to_frame().filter(polars.col("is_target"))
    assert np.array_equal(of_targets["score"], tippett.target_scores)
    assert np.array_equal(of_targets["fraction"], tippett.p_target)
    histogram = fp.score_histogram(LLRS, bins=4)
    frame = histogram.to_frame()
    assert np.array_equal(frame["high"], histogram.edges[1:])
    assert frame["low"][0] == histogram.edges[0]
    risk = CURVES_FOUND["risk_curve of 3 classes"].to_frame()
    assert risk.columns == ["points_0", "points_1", "points_2", "risk"]
    assert risk["points_2"].to_list() == [0.5, 0.8]


def test_what_an_interval_says_of_itself():
    (found,) = interval(resampling=fp.Stratified(), method="basic", confidence_level=0.9)
    content = found.to_dict()
    assert content["replicates"] == found.replicates.tolist()
    assert {name: content[name] for name in list(content) if name != "replicates"} == {
        "name": "<i>AUC</i>", "value": found.value, "low": found.interval.low,
        "high": found.interval.high, "standard_error": found.standard_error, "bias": found.bias,
        "n_undefined": 0, "confidence_level": 0.9, "method": "basic", "seed": 0,
        "degrees_of_freedom": None, "corrected": None, "caution": "",
        "resampling": "Stratified", "n_resamples": 40, "fastpsr": fp.__version__,
        "unit": "probability",
    }  # fmt: skip
    cells = shown(found).cells
    assert cells[0] == "90 % intervals: basic, 40 replicates, resampling Stratified, seed 0"
    assert "<i>AUC</i>" in cells


def test_frames_of_intervals_go_together():
    found = intervals().values()
    frame = polars.concat([result.to_frame() for result in found])
    assert frame["value"].to_list() == [result.value for result in found]
    assert frame["seed"].to_list() == [0, 2**64 - 1]
    assert "replicates" not in frame.columns
    (large,) = interval(seed=2**70)
    assert large.to_frame()["seed"].item() == 2**70


def test_what_calibrators_show():
    assert shown(fp.PAV(floor=0.01)).cells == [
        "PAV, not fitted", "attribute", "value", "floor", "0.01", "laplace", "False",
    ]  # fmt: skip
    fitted = fp.DirectionPreserving().fit(LLRS)
    cells = shown(fitted).cells
    assert cells[0] == "DirectionPreserving, fitted to likelihoods"
    assert cells[cells.index("scale_") + 1] == f"{fitted.scale_:.5g}"


def test_parts_are_not_read_to_be_shown():
    def part():
        raise AssertionError("read")

    assert "not counted" in fp.from_parts([LLRS, part])._repr_html_()


def test_text_is_escaped():
    nasty = '<script>&"</td>'
    found = Table(table(nasty, [nasty], [[nasty], [None], [np.float64(0.1234567)]]))
    assert found.cells == [nasty, nasty, nasty, "0.12346"]
    assert "script" not in found.tags


def test_strict_content():
    given = {"a": (np.float32(np.nan), -np.inf), 3: np.array([[1, 2]]), "b": [True, None, "x"]}
    assert strict(given) == {"a": [None, "-inf"], "3": [[1, 2]], "b": [True, None, "x"]}


def test_frames_say_what_they_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    for result in RESULTS.values():
        with pytest.raises(ValueError, match=r'need polars: pip install "fastpsr\[cli\]"'):
            result.to_frame()
