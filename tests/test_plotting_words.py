"""Data that cannot be drawn: the figure says so in words, and draws nothing false."""

import re

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
from matplotlib.figure import Figure  # noqa: E402

import fastpsr as fp  # noqa: E402
from fastpsr import plotting  # noqa: E402
from fastpsr.plotting.canvas import is_guide  # noqa: E402
from fastpsr.plotting.notes import notes_of  # noqa: E402

RNG = np.random.default_rng(0)
Y = np.arange(200) % 2
GOOD = fp.Predictions.from_llrs(Y, RNG.normal(size=200) + np.where(Y, 1.0, -1.0))
NO_TARGETS = fp.Predictions.from_llrs([0, 0, 0], [1.0, 2.0, 3.0], prior=0.5)
ONE = fp.Predictions.from_llrs([1], [1.0], prior=0.5)
EQUAL = fp.Predictions.from_llrs([0, 1, 0, 1], [0.5] * 4)
INFINITE = fp.Predictions.from_llrs([0, 1, 1, 0, 1], [-np.inf, -np.inf, 2.0, 1.0, np.inf])
PARTED = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0])
BINARY = ["ape", "bayes_error", "det", "empirical_cross_entropy", "pav_map", "reliability", "roc",
          "score_histogram", "tippett"]  # fmt: skip


def draw(name, systems, **options):
    ax = getattr(plotting, name)(systems, ax=Figure().subplots(), **options)
    ax.figure.canvas.draw()
    return ax


def own(ax):
    return [line for line in ax.lines if not is_guide(line) and line.get_color() != "0.8"]


def words(ax):
    return " ".join(notes_of(ax).split())


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("data", "what"), [(NO_TARGETS, "no targets|class 1 has none|class 1 has no weight"),
                       (ONE, "no non-targets|class 0 has none|class 0 has no weight")]
)  # fmt: skip
def test_a_missing_class_is_said(name, data, what):
    ax = draw(name, {"good": GOOD, "phone": data})
    assert re.search(rf"phone\b.*({what})", words(ax)), words(ax)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "good" in shown
    if name != "score_histogram":  # which draws the class that is there
        assert "phone" not in shown
    alone = draw(name, data)
    assert words(alone)
    if name != "score_histogram":
        assert own(alone) == []
        text = alone.texts[0]
        assert text.xy == (0.5, 0.5)


@pytest.mark.parametrize("name", ["risk_curve", "reliability_bins"])
def test_one_class_has_risks_and_bins(name):
    ax = draw(name, fp.Predictions.from_posteriors([0, 0], [0.2, 0.7]))
    artists = own(ax) or ax.patches
    assert artists


@pytest.mark.parametrize("name", ["det", "roc"])
def test_equal_scores_are_no_curve(name):
    ax = draw(name, {"A": EQUAL})
    assert "A: all scores are equal" in words(ax)
    assert own(ax) == []


@pytest.mark.parametrize(
    ("name", "what"),
    [("tippett", "all scores are equal"), ("score_histogram", "all scores are equal"),
     ("pav_map", "PAV maps all scores to one value")],
)  # fmt: skip
def test_equal_scores_are_said(name, what):
    assert f"A: {what}" in words(draw(name, {"A": EQUAL}))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", [*BINARY, "risk_curve", "reliability_bins"])
@pytest.mark.parametrize("data", [EQUAL, INFINITE, PARTED])
def test_nothing_that_is_drawn_is_infinite_or_fails(name, data):
    ax = draw(name, {"A": data})
    for line in own(ax):
        heights = np.asarray(line.get_ydata(), float)
        assert not np.isinf(heights).any()
        assert np.isfinite(heights).any() or not heights.size
    assert all(np.isfinite([*ax.get_xlim(), *ax.get_ylim()]))


def test_infinite_llrs_are_said():
    found = words(draw("tippett", {"A": INFINITE}))
    assert "A: 33.3 % of targets at minus infinity" in found
    assert "A: 33.3 % of targets at infinity" in found
    assert "A: 50 % of non-targets at minus infinity" in found
    found = words(draw("score_histogram", {"A": INFINITE}))
    assert "A: 50 % of non-targets at minus infinity, not drawn" in found
    ax = draw("empirical_cross_entropy", {"A": INFINITE})
    assert "A: raw cross-entropy is infinite" in words(ax)
    assert len(own(ax)) == 1  # after PAV
    found = words(draw("pav_map", {"A": INFINITE}))
    assert "infinite scores that PAV maps to finite LLRs" in found


def test_tippett_curves_of_infinite_llrs_do_not_reach_the_end():
    targets = own(draw("tippett", INFINITE))[0].get_xydata()
    assert targets[0, 1] == pytest.approx(2 / 3)
    assert targets[-1, 1] == pytest.approx(1 / 3)


def test_parted_classes_are_said():
    assert "A: a threshold parts the classes" in words(draw("det", {"A": PARTED}))
    ax = draw("pav_map", {"A": PARTED})
    assert "A: the classes do not overlap" in words(ax)
    assert own(ax) == []


def test_det_says_where_rates_of_zero_are():
    assert "rates of 0 and 100 % lie beyond the axes" in words(draw("det", GOOD))


def test_what_lies_beyond_the_axes_is_said():
    wild = fp.Predictions.from_llrs(Y, 30.0 * GOOD.llrs)
    for name in ("bayes_error", "empirical_cross_entropy"):
        ax = draw(name, {"A": wild})
        assert "beyond the axes" in words(ax)
        assert ax.get_ylim()[1] == pytest.approx(1.5)


def test_raw_scores():
    raw = fp.Predictions.from_raw_scores(Y, GOOD.llrs)
    ax = draw("bayes_error", {"A": raw})
    assert "A: raw scores have no actual error" in words(ax)
    assert [line.get_linestyle() for line in own(ax)] == ["--"]
    for name in ("risk_curve", "empirical_cross_entropy", "reliability", "reliability_bins"):
        with pytest.raises(ValueError, match="raw scores"):
            draw(name, {"A": raw})
    with pytest.raises(ValueError, match="raw scores"):
        draw("reliability", {"A": fp.pav_steps(raw)})
    for name in ("tippett", "pav_map", "score_histogram"):
        assert draw(name, {"A": raw}).get_xlabel() == "Score"
        with pytest.raises(ValueError, match="share an axis"):
            draw(name, {"A": raw, "B": GOOD})


@pytest.mark.parametrize("name", BINARY)
def test_unlabeled_and_multiclass_are_refused(name):
    with pytest.raises(ValueError, match="labeled"):
        draw(name, fp.Predictions.from_llrs(None, [1.0], prior=0.5))
    if name != "reliability":  # which draws several classes
        with pytest.raises(ValueError, match="binary"):
            draw(name, fp.Predictions.from_posteriors([0, 1, 2], np.eye(3)))


def test_infinite_and_undefined_bars_are_said():
    table = {"NCE": np.inf, "RCL": np.nan, "NBS": 0.5, "low": -np.inf}
    ax = draw("metric_bars", {"A": table})
    assert "A: NCE is infinite A: RCL is undefined A: low is minus infinity" in words(ax)
    assert [bar.get_height() for bar in ax.patches] == [0.5]
    y = [0, 1] * 20
    infinite = fp.Predictions.from_llrs(y, [-1.0, -np.inf, *[-1.0, 1.0] * 19], prior=0.5)
    result = fp.bootstrap(fp.CrossEntropy(), infinite, n_resamples=50, seed=0)
    assert "is infinite" in words(draw("metric_bars", result))


def test_infinite_divergences_are_said():
    data = fp.Predictions.from_posteriors(None, [0.5, 0.25])
    curve = fp.divergence_curve(data, lambda r, q: np.full(len(r), np.inf))
    assert "A: the expected divergence is infinite" in words(draw("divergence_curve", {"A": curve}))
    short = fp.divergence_curve(data, fp.rules.Log(), [0.1, 0.2])
    assert "lies beyond the points" in words(draw("divergence_curve", short))


def test_bands_say_how_many_replicates_lack_a_class():
    few = fp.Predictions.from_llrs([0, 1, 0, 0], [0.0, 0.2, 0.5, -1.0], prior=0.5)
    ax = draw("reliability", {"A": few}, n_resamples=60, seed=0)
    assert "A: a class is missing in" in words(ax)


def test_notes_of_several_calls_are_one_text():
    ax = Figure().subplots()
    plotting.det({"A": GOOD}, ax=ax)
    plotting.det({"B": EQUAL, "C": NO_TARGETS}, ax=ax)
    plotting.det({"B": EQUAL}, ax=ax)
    assert len([text for text in ax.texts if text.get_gid()]) == 1
    assert words(ax).count("B: all scores") == 1
    assert "rates of 0 and 100 %" in words(ax)
    assert "C: y_true must have both classes" in words(ax)
