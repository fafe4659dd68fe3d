"""Figures of many systems, of unlike ones, and of small size."""

import itertools

import numpy as np
import pytest

import fastpsr as fp
from tests.figures import draw, labels_of, laid_out, legend_of, lines_of, notes_of

RNG = np.random.default_rng(0)
Y = np.arange(600) % 2
GOOD = fp.Predictions.from_llrs(Y, 2.0 * RNG.normal(size=600) + np.where(Y, 3.0, -3.0))
WILD = fp.Predictions.from_llrs(Y, 40.0 * GOOD.llrs)


def test_many_systems_differ_in_color_or_line():
    systems = {str(k): fp.Predictions.from_llrs(Y, GOOD.llrs + 0.1 * k) for k in range(20)}
    for name, n_lines in (("roc", 20), ("tippett", 40), ("score_histogram", 40)):
        ax = draw(name, systems)
        artists = ax.patches or [line for line in lines_of(ax) if line.get_color() != "0.8"]
        looks = [
            (str(a.get_edgecolor() if ax.patches else a.get_color()), str(a.get_linestyle()))
            for a in artists
        ]
        assert len(set(looks)) == len(looks) == n_lines
        assert len({color for color, _ in looks}) == 10
    bars = draw("metric_bars", {str(k): {"NCE": 0.5} for k in range(12)}).patches
    assert [bar.get_hatch() is not None for bar in bars] == [False] * 10 + [True] * 2


@pytest.mark.parametrize("name", ["det", "empirical_cross_entropy"])
def test_legends_and_notes_are_below_each_other(name):
    ax = laid_out(draw(name, {f"system {k}": GOOD for k in range(8)} | {"wild": WILD}))
    (notes,) = (text for text in ax.texts if text.get_gid())
    artists = (ax, ax.xaxis.label, notes, legend_of(ax))
    boxes = [artist.get_window_extent() for artist in artists]
    for above, below in itertools.pairwise(boxes):
        assert below.y1 <= above.y0 + 1.0
    assert boxes[-1].y0 >= 0.0


@pytest.mark.parametrize("name", ["score_histogram", "tippett", "pav_map"])
def test_one_system_does_not_stretch_the_axis_of_scores(name):
    usual = draw(name, {"A": GOOD, "B": GOOD}).get_xlim()
    ax = draw(name, {"A": GOOD, "B": WILD})
    assert ax.get_xlim() == pytest.approx(usual)
    assert "B: scores from" in notes_of(ax)
    alone = draw(name, {"B": WILD})
    assert alone.get_xlim()[1] > 5.0 * usual[1]
    assert "B: scores from" not in notes_of(alone)


def test_one_system_does_not_flatten_the_others():
    curves = {"A": GOOD, "B": fp.Predictions.from_llrs(Y, GOOD.llrs + 0.5), "C": WILD}
    ax = draw("empirical_cross_entropy", curves)
    assert ax.get_ylim()[1] < 3.0 * np.max(lines_of(ax)[0].get_ydata())
    assert "C: raw cross-entropy reaches" in notes_of(ax)
    tables = {"A": {"Cllr": 0.2, "NCE": 0.3}, "B": {"Cllr": 0.25, "NCE": 0.5}}
    ax = draw("metric_bars", tables | {"C": {"Cllr": 9.0, "NCE": 0.4}})
    assert ax.get_ylim()[1] == pytest.approx(0.525)
    assert notes_of(ax) == "C: Cllr is 9, beyond the axes"


def test_the_roc_of_good_systems_is_its_corner():
    better = fp.Predictions.from_llrs(Y, 2.0 * GOOD.llrs + np.where(Y, 3.0, -3.0))
    for data in (GOOD, better):
        ax = draw("roc", {"A": data})
        end = ax.get_xlim()[1] / 1.01
        assert end == min(e for e in (0.05, 0.1, 0.2, 0.5, 1.0) if e >= 4.0 * fp.EER()(data))
        assert ax.get_ylim()[0] == pytest.approx(1.0 - ax.get_xlim()[1])
        assert f"the axes only show rates up to {100 * end:g} %" in notes_of(ax)
    chance = fp.Predictions.from_llrs(Y, RNG.normal(size=600))
    ax = draw("roc", {"A": chance, "B": better})
    assert ax.get_xlim()[1] < 0.51
    assert "A: the curve lies beyond the axes" in notes_of(ax)
    draw("roc", {"C": chance}, ax=ax)
    assert ax.get_xlim()[1] == draw("roc", {"A": chance}).get_xlim()[1] > 1.0


# Spoofed trials


SPOOF = (Y == 0) & (RNG.random(600) < 0.4)


def test_spoofed_trials_are_apart_from_non_targets():
    masks = (Y == 1, (Y == 0) & ~SPOOF, SPOOF)
    named = fp.Predictions.from_llrs(Y, GOOD.llrs, columns={"attack": SPOOF})
    ax = draw("tippett", {"A": named, "B": GOOD}, spoof={"A": "attack"})
    assert len(lines_of(ax)) == 5
    for line, mask in zip(lines_of(ax), masks, strict=False):
        np.testing.assert_array_equal(np.unique(line.get_xdata()), np.unique(GOOD.llrs[mask]))
    assert "spoofed trials" in labels_of(ax)
    ax = draw("score_histogram", GOOD, spoof=SPOOF)
    names = ["targets", "non-targets", "spoofed trials"]
    assert [patch.get_label() for patch in ax.patches] == names
    for patch, mask in zip(ax.patches, masks, strict=True):
        values, edges, _ = patch.get_data()
        np.testing.assert_allclose(values, np.histogram(GOOD.llrs[mask], edges, density=True)[0])
    for name in ("tippett", "score_histogram"):
        for systems, spoof in ((GOOD, Y), (GOOD, Y == 1), ({"A": GOOD}, {"B": SPOOF})):
            with pytest.raises(fp.ArgumentError) as raised:
                draw(name, systems, spoof=spoof)
            assert raised.value.argument.startswith("spoof")
