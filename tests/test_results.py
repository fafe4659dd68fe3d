"""What results look like in a notebook, as strict JSON, and as data frames."""

import json
import re
import sys
from collections import Counter
from html import unescape

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS
from fastpsr.curves import BANDS, CURVES

Y = np.arange(40) % 2
X = np.linspace(-2.0, 2.0, 40) + 0.8 * (Y - 0.5) + np.sin(np.arange(40.0))
LLRS = fp.Predictions.from_llrs(Y, X)
INFINITE = fp.Predictions.from_llrs(Y, np.where(np.arange(40) == 3, np.inf, X))
FEW = {"n_resamples": 40, "seed": 0, "method": "percentile"}
INTERVAL = fp.bootstrap({"<i>AUC</i>": fp.AUC()}, LLRS, **FEW)[0]
RISK = fp.risk_curve(
    fp.Predictions.from_logits(np.arange(40) % 3, np.eye(3)[np.arange(40) % 3]),
    [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],
)
BAND_OF = {c.__name__: fp.band(c, INFINITE, n_resamples=40, seed=0) for c in BANDS}
RESULTS = {
    **{curve.__name__: curve(LLRS, **options(2)) for curve, options in CURVES.items()},
    **{f"band of {name}": band for name, band in BAND_OF.items()},
    **{f"value of {name}": band.value for name, band in BAND_OF.items()},
    "risk of 3 classes": RISK,
    "infinite": fp.tippett(INFINITE),
    "interval": INTERVAL,
    "difference": fp.compare({"a < b": fp.EER()}, LLRS, INFINITE, **FEW | {"seed": 2**70})[0],
    "sample size": fp.sample_size(fp.BrierScore(), LLRS, 0.1, n_resamples=40, seed=0),
    "point": fp.EER().operating_point(LLRS),
    "point without threshold": fp.OperatingPoint(np.nan, 1.0, 0.0),
    "decomposition": fp.ExpectedDivergence(
        fp.rules.Log(), fp.DirectionPreserving(), fp.TrainOnTest()
    ).decompose(LLRS),
}
UNLABELED = fp.Predictions.from_posteriors(None, np.full((3, 3), 1 / 3), priors=[0.2, 0.3, 0.5])
SHOWN = {
    **RESULTS,
    "predictions": LLRS,
    "unlabeled": UNLABELED,
    "parts": fp.from_parts([LLRS, lambda: pytest.fail("read to be shown")]),
    **{name: kind() for name, kind in CALIBRATORS.items()},
    **{f"{name}, fitted": kind().fit(LLRS) for name, kind in CALIBRATORS.items()},
    "a rule with <": fp.DirectionPreserving(fp.rules.Weighted(lambda a: a[:, 0])),
}


def test_results_are_small_plain_tables():
    """Their tags have no attributes, and each that is opened is closed."""
    for name, result in SHOWN.items():
        html = result._repr_html_()
        opened, closed = (Counter(re.findall(tag, html)) for tag in (r"<(\w[^>]*)>", r"</(\w+)>"))
        assert opened == closed, name
        assert opened.keys() <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}, name
        assert len(html) < 2_000, name


def cells_of(result):
    return [unescape(cell) for cell in re.findall(r">([^<]+)<", result._repr_html_())]


def test_cells_of_tables():
    n = RESULTS["roc"].p_miss.size
    assert cells_of(RESULTS["roc"])[:3] == ["Roc", "attribute", "value"]
    assert f"shape ({n},), 0 to 1" in cells_of(RESULTS["roc"])
    few = fp.tippett(fp.Predictions.from_llrs([0] * 6 + [1], np.arange(7.0)))
    assert "0, 1, 2, 3, 4, 5" in cells_of(few)
    assert cells_of(fp.PAV(floor=0.01)) == [
        "PAV, not fitted", "attribute", "value", "floor", "0.01", "laplace", "False",
    ]  # fmt: skip
    fitted = fp.DirectionPreserving().fit(LLRS)
    assert cells_of(fitted)[0] == "DirectionPreserving, fitted to likelihoods"
    assert f"{fitted.scale_:.5g}" in cells_of(fitted)


def test_every_class_of_results_is_here():
    kinds = {type(result) for result in SHOWN.values()}
    exported = {value for value in vars(fp.curves).values() if isinstance(value, type)}
    assert {kind for kind in exported if hasattr(kind, "to_frame")} <= kinds
    assert {getattr(fp, n) for n in fp.__all__ if n.endswith(("Result", "Predictions"))} <= kinds


def test_results_are_strict_json_and_frames(monkeypatch):
    for name, result in RESULTS.items():
        content = result.to_dict()
        assert json.loads(json.dumps(content, allow_nan=False)) == content, name
        frame = result.to_frame()
        assert isinstance(frame, polars.DataFrame), name
        assert frame.height > 0, name
    monkeypatch.setitem(sys.modules, "polars", None)
    for result in RESULTS.values():
        with pytest.raises(ValueError, match=r'pip install "fastpsr\[cli\]"'):
            result.to_frame()


def test_frames_of_curves_have_their_arrays():
    curve = RESULTS["roc"]
    frame = curve.to_frame()
    assert frame.columns == ["threshold", "p_miss", "p_fa", "on_hull"]
    assert np.array_equal(frame["p_fa"], curve.p_fa)
    assert np.array_equal(np.flatnonzero(frame["on_hull"]), curve.hull)
    assert curve.to_dict()["threshold"][-1] == "inf"
    tippett = RESULTS["tippett"]
    of_targets = tippett.to_frame().filter(polars.col("is_target"))
    assert np.array_equal(of_targets["score"], tippett.target_scores)
    assert np.array_equal(of_targets["fraction"], tippett.p_target)
    histogram = RESULTS["score_histogram"]
    assert np.array_equal(histogram.to_frame()["low"], histogram.edges[:-1])
    assert np.array_equal(histogram.to_frame()["high"], histogram.edges[1:])
    assert RISK.to_frame().columns == ["points_0", "points_1", "points_2", "risk"]
    assert RISK.to_frame()["points_2"].to_list() == [0.5, 0.8]


def test_content_of_an_interval():
    content = INTERVAL.to_dict()
    assert content.pop("replicates") == INTERVAL.replicates.tolist()
    assert content == {
        "name": "<i>AUC</i>", "value": INTERVAL.value, "low": INTERVAL.interval.low,
        "high": INTERVAL.interval.high, "standard_error": INTERVAL.standard_error,
        "bias": INTERVAL.bias, "n_undefined": 0, "confidence_level": 0.95, "method": "percentile",
        "seed": 0, "degrees_of_freedom": None, "corrected": None, "caution": "",
        "p_value": None,
        "resampling": "IID",
        "n_resamples": 40, "fastpsr": fp.__version__, "unit": "probability",
    }  # fmt: skip
    cells = cells_of(INTERVAL)
    assert cells[0] == "95 % intervals: percentile, 40 replicates, resampling IID, seed 0"
    assert "<i>AUC</i>" in cells
    assert "replicates" not in INTERVAL.to_frame().columns
    assert RESULTS["difference"].to_frame()["seed"].item() == 2**70
    two = polars.concat([INTERVAL.to_frame(), fp.bootstrap(fp.EER(), LLRS, **FEW).to_frame()])
    assert two["value"].to_list() == [INTERVAL.value, fp.EER()(LLRS)]
