"""Data that cannot be drawn: the figure says so in words, and draws nothing false."""

import re

import numpy as np
import pytest

import fastpsr as fp
from tests.figures import draw, labels_of, lines_of, notes_of, several
from tests.refusal import refuses

INF = np.inf
Y = np.arange(200) % 2
GOOD = fp.Predictions.from_llrs(
    Y, np.random.default_rng(0).normal(size=200) + np.where(Y, 1.0, -1.0)
)
RAW = fp.Predictions.from_raw_scores(Y, GOOD.llrs)
NO_TARGETS = fp.Predictions.from_llrs([0, 0, 0], [1.0, 2.0, 3.0], prior=0.5)
NO_NONTARGETS = fp.Predictions.from_llrs([1], [1.0], prior=0.5)
EQUAL = fp.Predictions.from_llrs([0, 1, 0, 1], [0.5] * 4)
INFINITE = fp.Predictions.from_llrs([0, 1, 1, 0, 1], [-INF, -INF, 2.0, 1.0, INF])
SEPARABLE = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0])
BINARY = ["ape", "bayes_error", "det", "empirical_cross_entropy", "pav_map", "precision_recall",
          "reliability", "roc", "score_histogram", "tippett"]  # fmt: skip


def own_lines(ax):
    return [line for line in lines_of(ax) if line.get_color() != "0.8"]


@pytest.mark.parametrize("name", BINARY)
def test_a_missing_class_and_unsuited_data(name):
    for data, what in ((NO_TARGETS, "no targets|class 1 has n"),
                       (NO_NONTARGETS, "no non-targets|class 0 has n")):  # fmt: skip
        ax = draw(name, {"good": GOOD, "phone": data})
        assert re.search(rf"phone\b.*({what})", notes_of(ax))
        assert "good" in labels_of(ax)
        if name != "score_histogram":  # which draws the class that is there
            assert "phone" not in labels_of(ax)
            assert own_lines(draw(name, data)) == []
    refused = [fp.Predictions.from_llrs(None, [1.0], prior=0.5)]
    refused += [several()] if name != "reliability" else []  # which draws several classes
    for data in refused:
        with refuses("systems['A']"):
            draw(name, {"A": data})


def test_one_class_has_bins():
    one_class = fp.Predictions.from_posteriors([0, 0], [0.2, 0.7])
    assert draw("reliability_bins", one_class).patches


@pytest.mark.parametrize("name", [*BINARY, "reliability_bins"])
def test_nothing_that_is_drawn_is_infinite(name):
    for data in (EQUAL, INFINITE, SEPARABLE):
        ax = draw(name, {"A": data})
        for line in own_lines(ax):
            heights = np.asarray(line.get_ydata(), float)
            assert not np.isinf(heights).any()
            assert np.isfinite(heights).any() or not heights.size
        assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()


NOTES = [
    ("det", EQUAL, "A: all scores are equal"),
    ("roc", EQUAL, "A: all scores are equal"),
    ("tippett", EQUAL, "A: all scores are equal"),
    ("score_histogram", EQUAL, "A: all scores are equal"),
    ("pav_map", EQUAL, "A: PAV maps all scores to one value"),
    ("tippett", INFINITE, "A: 33.3 % of targets at minus infinity"),
    ("tippett", INFINITE, "A: 33.3 % of targets at infinity"),
    ("tippett", INFINITE, "A: 50 % of non-targets at minus infinity"),
    ("score_histogram", INFINITE, "A: 50 % of non-targets at minus infinity are not drawn"),
    ("empirical_cross_entropy", INFINITE, "A: raw cross-entropy is infinite"),
    ("pav_map", INFINITE, "infinite scores that PAV maps to finite LLRs"),
    ("det", SEPARABLE, "A: a threshold separates the classes"),
    ("pav_map", SEPARABLE, "A: the classes do not overlap"),
    ("det", GOOD, "rates of 0 and 100 % are not shown"),
    ("bayes_error", RAW, "A: raw scores have only a minimum error"),
]


@pytest.mark.parametrize(("name", "data", "words"), NOTES)
def test_notes(name, data, words):
    assert words in notes_of(draw(name, {"A": data}))


def test_notes_only_where_there_is_something_to_say():
    assert notes_of(draw("score_histogram", GOOD)) == ""
    overlapping = fp.Predictions.from_llrs([1, 0, 1, 0, 1, 0], [-3.0, -2.0, 0.0, 1.0, 2.0, 3.0])
    assert "beyond the ends" not in notes_of(draw("pav_map", overlapping))
    assert "beyond the ends of a curve" in notes_of(draw("pav_map", {"A": GOOD, "B": GOOD}))


def test_what_cannot_be_drawn_is_left_out():
    for name, data, n_lines in (("det", EQUAL, 0), ("pav_map", SEPARABLE, 0), ("roc", EQUAL, 0),
                                ("empirical_cross_entropy", INFINITE, 1)):  # fmt: skip
        assert len(own_lines(draw(name, {"A": data}))) == n_lines
    targets = own_lines(draw("tippett", INFINITE))[0].get_ydata()
    assert targets[[0, -1]] == pytest.approx([2 / 3, 1 / 3])
    for name in ("bayes_error", "empirical_cross_entropy"):
        ax = draw(name, {"A": fp.Predictions.from_llrs(Y, 30.0 * GOOD.llrs)})
        assert "beyond the axes" in notes_of(ax)
        assert ax.get_ylim()[1] == pytest.approx(1.5)


def test_raw_scores():
    assert [line.get_linestyle() for line in own_lines(draw("bayes_error", RAW))] == ["--"]
    for name in ("empirical_cross_entropy", "reliability", "reliability_bins"):
        with pytest.raises(ValueError, match="raw scores"):
            draw(name, {"A": RAW})
    with pytest.raises(ValueError, match="raw scores"):
        draw("reliability", {"A": fp.pav_steps(RAW)})
    for name in ("tippett", "pav_map", "score_histogram"):
        assert draw(name, {"A": RAW}).get_xlabel() == "Score"
        has_identity = ["identity" in labels_of(draw(name, {"A": data})) for data in (RAW, GOOD)]
        assert has_identity == [False, name == "pav_map"]
        with refuses("systems"):
            draw(name, {"A": RAW, "B": GOOD})


def test_infinite_and_undefined_bars():
    ax = draw("metric_bars", {"A": {"NCE": INF, "RCL": np.nan, "NBS": 0.5, "low": -INF}})
    assert "A: NCE is infinite A: RCL is undefined A: low is minus infinity" in notes_of(ax)
    assert [bar.get_height() for bar in ax.patches] == [0.5]


def test_replicates_of_bands_without_a_class():
    few = fp.Predictions.from_llrs([0, 1, 0, 0], [0.0, 0.2, 0.5, -1.0], prior=0.5)
    ax = draw("reliability", {"A": few}, n_resamples=60, seed=0)
    assert "A: the band leaves out" in notes_of(ax)


def test_notes_of_several_calls_are_one_text():
    ax = draw("det", {"A": GOOD})
    draw("det", {"B": EQUAL, "C": NO_TARGETS}, ax=ax)
    draw("det", {"B": EQUAL}, ax=ax)
    notes = notes_of(ax)
    assert notes.count("B: all scores") == 1
    assert "rates of 0 and 100 %" in notes
    assert "C: y_true must have both classes" in notes
