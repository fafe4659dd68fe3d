"""Figures of many systems, of unusual ones, of good ones, and of small size."""

import itertools

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
from matplotlib.figure import Figure  # noqa: E402

import fastpsr as fp  # noqa: E402
from fastpsr import plotting  # noqa: E402
from fastpsr.plotting.canvas import COLORS, is_guide  # noqa: E402
from fastpsr.plotting.notes import notes_of  # noqa: E402

RNG = np.random.default_rng(0)
Y = np.arange(600) % 2
GOOD = fp.Predictions.from_llrs(Y, 2.0 * RNG.normal(size=600) + np.where(Y, 3.0, -3.0))
WILD = fp.Predictions.from_llrs(Y, 40.0 * GOOD.llrs)


def ax_of(name, systems, size=(6.4, 4.8), **options):
    figure = Figure(size)  # which gets a layout that has room for what is below the axes
    ax = getattr(plotting, name)(systems, ax=figure.subplots(), **options)
    figure.draw_without_rendering()
    return ax


def own(ax):
    return [line for line in ax.lines if not is_guide(line) and line.get_color() != "0.8"]


def words(ax):
    return " ".join(notes_of(ax).split())


def test_twenty_systems_differ_in_color_or_line():
    systems = {str(k): fp.Predictions.from_llrs(Y, GOOD.llrs + 0.1 * k) for k in range(20)}
    for name in ("roc", "tippett", "bayes_error"):
        ax = ax_of(name, systems)
        looks = [(line.get_color(), line.get_linestyle()) for line in own(ax)]
        assert len(set(looks)) == len(looks) == (20 if name == "roc" else 40)
        assert len({color for color, _ in looks}) == len(set(COLORS)) == 10
    looks = [
        (patch.get_edgecolor(), str(patch.get_linestyle()))
        for patch in ax_of("score_histogram", systems).patches
    ]
    assert len(set(looks)) == 40
    maps = {str(k): fp.DirectionPreserving().fit(GOOD) for k in range(12)}
    looks = {
        (line.get_color(), line.get_linestyle()) for line in own(ax_of("calibration_map", maps))
    }
    assert len(looks) == 12
    bars = ax_of("metric_bars", {str(k): {"NCE": 0.5} for k in range(12)}).patches
    assert [bar.get_hatch() is not None for bar in bars] == [False] * 10 + [True] * 2


@pytest.mark.parametrize("name", ["roc", "det", "score_histogram", "tippett", "bayes_error"])
def test_equal_curves_are_said(name):
    systems = {"A": GOOD, "B": WILD, "C": GOOD}
    said = words(ax_of(name, systems))
    assert "C: the same curve as A" in said
    assert said.count("same curve") == (2 if name in ("roc", "det") else 1)  # B ranks like A


@pytest.mark.parametrize("name", ["det", "pav_map", "empirical_cross_entropy"])
def test_legends_and_notes_hide_nothing(name):
    ax = ax_of(name, {f"system {k}": GOOD for k in range(8)} | {"wild": WILD})
    legend, (notes,) = ax.get_legend(), [text for text in ax.texts if text.get_gid()]
    label = ax.xaxis.label.get_window_extent()
    boxes = [ax.get_window_extent(), label, legend.get_window_extent(), notes.get_window_extent()]
    for above, below in itertools.pairwise(boxes):
        assert below.y1 <= above.y0 + 1.0
    assert boxes[-1].y0 >= 0.0


@pytest.mark.parametrize("name", ["score_histogram", "tippett", "pav_map"])
def test_one_system_does_not_stretch_the_axis_of_scores(name):
    usual = ax_of(name, {"A": GOOD, "B": GOOD}).get_xlim()
    ax = ax_of(name, {"A": GOOD, "B": WILD})
    assert ax.get_xlim() == pytest.approx(usual)
    assert "B: scores of" in words(ax)
    alone = ax_of(name, {"B": WILD})
    assert alone.get_xlim()[1] > 5.0 * usual[1]
    assert "B: scores of" not in words(alone)


def test_one_system_does_not_flatten_the_others():
    curves = {"A": GOOD, "B": fp.Predictions.from_llrs(Y, GOOD.llrs + 0.5), "C": WILD}
    ax = ax_of("empirical_cross_entropy", curves)
    assert ax.get_ylim()[1] < 3.0 * np.max(own(ax)[0].get_ydata())
    assert "C: raw cross-entropy reaches" in words(ax)
    tables = {"A": {"Cllr": 0.2, "NCE": 0.3}, "B": {"Cllr": 0.25, "NCE": 0.5}}
    ax = ax_of("metric_bars", tables | {"C": {"Cllr": 9.0, "NCE": 0.4}})
    assert ax.get_ylim()[1] == pytest.approx(0.525)
    assert words(ax) == "C: Cllr is 9, beyond the axes"


def test_the_roc_of_good_systems_is_its_corner():
    better = fp.Predictions.from_llrs(Y, 2.0 * GOOD.llrs + np.where(Y, 3.0, -3.0))
    for data in (GOOD, better):
        ax, eer = ax_of("roc", {"A": data}), fp.EER()(data)
        assert 4.0 * eer <= ax.get_xlim()[1] < 0.51
        assert ax.get_ylim()[0] == pytest.approx(1.0 - ax.get_xlim()[1])
        assert "the corner of rates up to" in words(ax)
    chance = fp.Predictions.from_llrs(Y, RNG.normal(size=600))
    ax = ax_of("roc", {"A": chance, "B": better})
    assert ax.get_xlim()[1] < 0.51
    assert "A: beyond the axes" in words(ax)
    assert ax_of("roc", {"A": chance}).get_xlim()[1] > 1.0
    plotting.roc({"C": chance}, ax=ax)
    assert ax.get_xlim()[1] > 1.0


def test_bins_grow_with_the_smaller_class():
    for n, n_bins in ((4, 10), (600, 27), (200_000, 186)):
        data = fp.Predictions.from_llrs(np.arange(n) % 2, RNG.normal(size=n))
        assert len(ax_of("score_histogram", data).patches[0].get_data().values) == n_bins


SPOOF = (Y == 0) & (RNG.random(600) < 0.4)


def test_spoofed_trials_are_apart_from_non_targets():
    ax = ax_of("tippett", {"A": GOOD, "B": GOOD}, spoof={"A": SPOOF})
    targets, others, spoofs = own(ax)[:3]
    assert len(own(ax)) == 5
    llrs = GOOD.llrs
    for line, mask in ((targets, Y == 1), (others, (Y == 0) & ~SPOOF), (spoofs, SPOOF)):
        np.testing.assert_array_equal(np.unique(line.get_xdata()), np.unique(llrs[mask]))
    assert "spoofed trials" in [text.get_text() for text in ax.get_legend().get_texts()]
    ax = ax_of("score_histogram", GOOD, spoof=SPOOF)
    assert [patch.get_label() for patch in ax.patches] == [
        "targets",
        "non-targets",
        "spoofed trials",
    ]
    for patch, mask in zip(ax.patches, (Y == 1, (Y == 0) & ~SPOOF, SPOOF), strict=True):
        values, edges, _ = patch.get_data()
        np.testing.assert_allclose(values, np.histogram(llrs[mask], edges, density=True)[0])


@pytest.mark.parametrize("name", ["tippett", "score_histogram"])
def test_other_masks_of_spoofed_trials_are_refused(name):
    draw = getattr(plotting, name)
    with pytest.raises(ValueError, match=r"spoof must be bool, of shape \(600,\), not int"):
        draw(GOOD, spoof=Y)
    with pytest.raises(
        ValueError, match=r"spoof must be False for targets, and is True at index 1"
    ):
        draw(GOOD, spoof=Y == 1)
    with pytest.raises(ValueError, match=r"spoof\['B'\] must be of a system of labeled"):
        draw({"A": GOOD}, spoof={"B": SPOOF})


@pytest.mark.parametrize("name", ["det", "roc", "bayes_error", "tippett", "score_histogram"])
def test_labels_of_small_figures_do_not_touch_or_leave_them(name):
    ax = ax_of(name, {"A": GOOD, "B": WILD}, size=(3.4, 3.0))
    for axis, (low, high) in ((ax.xaxis, ["x0", "x1"]), (ax.yaxis, ["y0", "y1"])):
        boxes = [label.get_window_extent() for label in axis.get_ticklabels()]
        inside = ax.get_window_extent()
        boxes = [box for box in boxes if box.overlaps(ax.figure.bbox)]
        boxes = [
            b
            for b in boxes
            if getattr(inside, low) - 15 <= getattr(b, low) <= getattr(inside, high)
        ]
        assert len(boxes) >= 3
        gaps = [getattr(b, low) - getattr(a, high) for a, b in itertools.pairwise(boxes)]
        assert min(gaps) > 0.0
    label = ax.xaxis.label.get_window_extent()
    assert 0.0 <= label.x0 < label.x1 <= ax.figure.bbox.x1
