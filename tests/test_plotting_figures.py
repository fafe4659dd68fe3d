"""What figures draw: the data of their artists against the curves."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import ndtri

import fastpsr as fp
from tests.figures import (
    detector,
    draw,
    is_guide,
    labels_of,
    laid_out,
    legend_of,
    lines_of,
    notes_of,
    several,
)
from tests.refusal import refuses

from matplotlib import pyplot as plt  # isort: skip
from matplotlib.colors import same_color, to_rgb  # isort: skip

A, B = detector(0), detector(1, shift=0.6)
SYSTEMS = {"A": A, "B": B}
SCORES = [fp.CrossEntropy(), fp.BrierScore()]
FIRST, SECOND = "#0072B2", "#D55E00"


def sizes(data):
    return fp.sample_size(SCORES[1], data, 0.1, n_resamples=40, seed=0)


CURVES = {  # two systems for each figure, of results and predictions
    "ape": {"A": A, "B": fp.bayes_error(B)},
    "bayes_error": {"A": fp.bayes_error(A), "B": B},
    "calibration_map": {"A": fp.DirectionPreserving().fit(A), "B": fp.PAV(0.01).fit(A)},
    "det": {"A": fp.roc(A), "B": B},
    "empirical_cross_entropy": {"A": fp.empirical_cross_entropy(A), "B": B},
    "metric_bars": {"A": fp.evaluate(A, SCORES), "B": {"NCE": 0.5, "NBS": 0.4}},
    "pav_map": {"A": fp.pav_steps(A), "B": B},
    "precision_recall": {"A": fp.precision_recall(A), "B": B},
    "reliability": {"A": fp.pav_steps(A), "B": B},
    "reliability_bins": {"A": A, "B": B},
    "roc": {"A": fp.roc(A), "B": B},
    "sample_size": {"A": sizes(A), "B": sizes(B)},
    "score_histogram": {"A": fp.score_histogram(A), "B": B},
    "tippett": {"A": fp.tippett(A), "B": B},
}
OPTIONS = {"reliability": {"band": None}}


def figure(name, systems=None, **options):
    return draw(
        name, CURVES[name] if systems is None else systems, **OPTIONS.get(name, {}), **options
    )


# All figures


@pytest.mark.parametrize("name", [*CURVES])
def test_systems_share_axes_and_are_told_apart(name):
    ax = figure(name)
    assert labels_of(ax)[:2] == ["A", "B"]
    handles = legend_of(ax).legend_handles[:2]
    for handle, color in zip(handles, (FIRST, SECOND), strict=True):
        look = handle.get_facecolor() if name == "metric_bars" else handle.get_color()
        assert same_color(look, color)
    assert ax.get_ylabel()
    assert ax.get_xlabel() or name == "metric_bars"
    natural = {"ape", "bayes_error", "calibration_map", "empirical_cross_entropy", "pav_map",
               "score_histogram", "tippett"}  # fmt: skip
    assert ("(natural logarithm)" in ax.get_xlabel().replace("\n", " ")) == (name in natural)
    if name == "metric_bars":
        return  # bars of another call would hide those of the first
    one, two = ({key: CURVES[name][key]} for key in "AB")
    if name == "reliability_bins":
        one = two = CURVES[name]  # several: lines
    ax = figure(name, one)
    before = labels_of(ax)
    figure(name, two, ax=ax)
    assert len(labels_of(ax)) > len(before)
    guides = [line.get_gid() for line in ax.lines if is_guide(line)]
    assert len(guides) == len(set(guides))


@pytest.mark.parametrize("name", CURVES)
def test_keywords_and_names(name):
    names = ["$\\frac$ <script>", "_hidden"]  # mathtext would fail
    options = {"lw": 3.5, "color": "#123456", "alpha": 0.5}
    ax = figure(name, {names[0]: CURVES[name]["A"]}, **options)
    artists = [artist for artist in (*lines_of(ax), *ax.patches) if artist.get_alpha() == 0.5]
    assert {artist.get_linewidth() for artist in artists} == {3.5}
    get = {"metric_bars": "get_facecolor", "reliability_bins": "get_facecolor",
           "score_histogram": "get_edgecolor"}.get(name, "get_color")  # fmt: skip
    assert same_color(to_rgb(getattr(artists[0], get)()), "#123456")
    ax = laid_out(figure(name, dict(zip(names, CURVES[name].values(), strict=True))))
    assert [label.strip("\u200b") for label in labels_of(ax)][:2] == names


@pytest.mark.parametrize("name", CURVES)
def test_new_figures_are_not_shown_and_refusals_leave_none(name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("shown"))
    plt.close("all")
    plot = getattr(fp.plotting, name)
    for wrong in (3, {}, {1: A}, {"A": "scores.txt"}):
        with pytest.raises(fp.ArgumentError) as raised:
            plot(wrong)
        assert raised.value.argument.startswith("systems")
    with pytest.raises(fp.ArgumentError):
        plot(CURVES[name], ax=3)
    assert plt.get_fignums() == []
    ax = plot(CURVES[name], **OPTIONS.get(name, {}))
    assert plt.get_fignums() == [ax.figure.number]
    plt.close("all")


WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from fastpsr import *
import fastpsr as fp
try:
    fp.plotting
except ImportError as error:
    print(error)
"""


def test_plotting_without_matplotlib():
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATPLOTLIB], capture_output=True, text=True, timeout=100,
        check=True,
    )  # fmt: skip
    assert 'pip install "fastpsr[plot]"' in process.stdout


# Error rates


def test_roc_and_det_draw_error_rates():
    curve = fp.roc(A)
    kept = lines_of(draw("roc", curve))[0].get_xydata()
    rates = np.column_stack([curve.p_fa, 1 - curve.p_miss])
    assert {tuple(row) for row in kept} <= {tuple(row) for row in rates}
    np.testing.assert_allclose(-trapezoid(kept[:, 1], kept[:, 0]), fp.AUC()(A), rtol=1e-12)
    ax = draw("det", curve)
    np.testing.assert_array_equal(lines_of(ax)[0].get_xdata(), kept[:, 0])
    hull = lines_of(draw("roc", curve, hull=True))[1].get_xydata()
    np.testing.assert_array_equal(hull, rates[curve.hull])
    of_class = lines_of(draw("roc", several(), class_=1))[0].get_xydata()
    area = -trapezoid(of_class[:, 1], of_class[:, 0])
    assert area == pytest.approx(fp.AUC(class_=1)(several()), rel=1e-12)


def test_precision_over_recall_has_the_average_precision_as_area():
    data = several(priors=[0.2, 0.3, 0.5])
    ax = draw("precision_recall", {"A": data, "B": A}, class_=1)
    for line, expected in zip(
        lines_of(ax), [fp.AveragePrecision(1)(data), fp.AveragePrecision()(A)], strict=True
    ):
        recall, precision = line.get_xydata().T
        assert line.get_drawstyle() == "steps-post"
        assert -np.diff(recall) @ precision[:-1] == pytest.approx(expected, rel=1e-12)
    guides = [line.get_ydata() for line in ax.lines if is_guide(line)]
    assert guides == [[0.3, 0.3], [0.5, 0.5]]
    assert labels_of(ax) == ["A", "B", "chance (0.3)", "chance (0.5)"]
    assert labels_of(draw("precision_recall", {"A": fp.precision_recall(A)})) == ["A"]


def test_det_axes_are_probit():
    ax = laid_out(draw("det", detector(n=100_000)))
    data = lines_of(ax)[0].get_xydata()
    pixels = ax.transData.transform(data[((data > 0.02) & (data < 0.5)).all(axis=1)])
    line = np.polyfit(pixels[:, 0], pixels[:, 1], 1)  # of normal scores of one variance
    assert np.abs(np.polyval(line, pixels[:, 0]) - pixels[:, 1]).max() < 3.0
    rates = np.array([0.01, 0.1, 0.5])
    places = ax.transData.transform(np.column_stack([rates, rates]))
    np.testing.assert_allclose(
        np.diff(places, axis=0)[0] / np.ptp(places, axis=0),
        (ndtri(0.1) - ndtri(0.01)) / (ndtri(0.5) - ndtri(0.01)),
    )
    ax = draw("det", {"A": detector(n=200)})
    before = ax.get_xlim()
    draw("det", {"B": detector(n=40_000)}, ax=ax)
    assert ax.get_xlim()[0] == 1e-5 < before[0]  # the tick below 1 / 20,000
    assert (before[1], draw("det", detector(shift=0.0)).get_xlim()[1]) == (0.5, 0.99)
    formatter = ax.xaxis.get_major_formatter()
    assert [formatter(rate) for rate in (0.001, 0.05, 0.999)] == ["0.1", "5", "99.9"]
    ax.set_xlim(-1.0, 2.0)  # beyond rates
    laid_out(ax)


@pytest.mark.parametrize("low", [1e-9, 1e-4, 0.005])
@pytest.mark.parametrize("high", [0.5, 0.99])
def test_labels_of_det_axes_do_not_touch(low, high):
    ax = draw("det", {"A": A})
    ax.set_xlim(low, high)
    laid_out(ax)
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) > 5
    assert min(b.x0 - a.x1 for a, b in itertools.pairwise(boxes)) > 2.0


POINTS = [fp.MinDCF(0.3), fp.ActDCF(0.3), fp.MinDCF(0.6, 1.0, 2.0)]


def marks_of(ax):
    """The marked operating points: labels and rates."""
    points = [line for line in lines_of(ax) if line.get_linestyle() == "None"]
    return [(line.get_label(), *line.get_xydata()[0]) for line in points]


def test_operating_points_of_det():
    ax = draw("det", SYSTEMS, operating_points=POINTS)
    marks = marks_of(ax)
    names = ["minDCF(0.3)", "actDCF(0.3)", "minDCF(0.6:1:2)"]
    assert [label for label, *_ in marks] == 2 * [f"_{name}" for name in names]
    for data, points in ((A, marks[:3]), (B, marks[3:])):
        for point, (_, p_fa, p_miss) in zip(POINTS, points, strict=True):
            cost = point.costs[0].normalized(p_miss, p_fa)
            assert cost == pytest.approx(point(data), rel=1e-12)
    assert set(names) <= set(labels_of(ax))
    raw = draw("det", fp.Predictions.from_raw_scores(A.y_true, A.llrs), operating_points=POINTS)
    assert [label for label, *_ in marks_of(raw)] == ["_minDCF(0.3)", "_minDCF(0.6:1:2)"]
    assert "actDCF(0.3) is not marked" in notes_of(raw)
    for points, argument in (([fp.ActDCF(0.3)], "systems"), ([0.01], "operating_points")):
        with refuses(argument):
            draw("det", fp.roc(A), operating_points=points)


# Scores and calibration


def test_tippett_steps_have_the_shares():
    curves = fp.tippett(A)
    targets, others = lines_of(draw("tippett", curves))
    for line, scores, shares in (
        (targets, curves.target_scores, curves.p_target),
        (others, curves.nontarget_scores, curves.p_nontarget),
    ):
        x, y = line.get_xydata().T
        assert (np.diff(y) <= 0).all()
        np.testing.assert_allclose(y[np.searchsorted(x, scores - 1e-9)], shares)
        assert y[-1] == 0.0
    assert others.get_linestyle() == "--"


def test_histograms_have_an_outline_per_class():
    counts = fp.score_histogram(A, 12)
    ax = draw("score_histogram", counts)
    for patch, densities in zip(ax.patches, counts.densities[::-1], strict=True):
        np.testing.assert_allclose(patch.get_data().values, densities)
        np.testing.assert_allclose(patch.get_data().edges, counts.edges)
    assert labels_of(ax) == ["targets", "non-targets"]
    for n, n_bins in ((4, 10), (600, 27), (200_000, 186)):  # grow with the smaller class
        (outline, _) = draw("score_histogram", detector(n=n)).patches
        assert len(outline.get_data().values) == n_bins


def test_calibration_maps_are_those_of_the_calibrators():
    fitted = fp.BetaCalibration().fit(A)
    (line,) = lines_of(draw("calibration_map", fitted, low=-3.0, high=5.0))
    x, y = line.get_xydata().T
    assert (x[0], x[-1]) == (-3.0, 5.0)
    np.testing.assert_array_equal(y, fitted.transform(fp.Predictions.from_llrs(None, x)).llrs)
    raw = fp.PAV().fit(fp.Predictions.from_raw_scores(A.y_true, A.scores))
    for systems, options in (
        (fp.PAV(), {}), (fitted, {"low": 3.0, "high": 3.0}), ({"A": fitted, "B": raw}, {}),
        (fp.TemperatureScaling().fit(several()), {}),
    ):  # fmt: skip
        with pytest.raises(fp.ArgumentError):
            draw("calibration_map", systems, **options)


def test_pav_maps_draw_finite_steps():
    steps = fp.pav_steps(A)
    data = lines_of(draw("pav_map", steps))[0].get_xydata()
    finite = np.isfinite(steps.llr)
    assert data[0].tolist() == [steps.lowest[finite][0], steps.llr[finite][0]]
    assert data[-1].tolist() == [steps.highest[finite][-1], steps.llr[finite][-1]]
    assert set(data[:, 1]) == set(steps.llr[finite])
    rows = np.arange(len(A)) % 4 != 0  # two thirds of targets
    few = fp.Predictions.from_llrs(A.y_true[rows], A.llrs[rows])
    posteriors = fp.Predictions.from_posteriors(few.y_true, few.posteriors)
    at_llrs, expected = (lines_of(draw("pav_map", x))[0].get_xydata() for x in (posteriors, few))
    np.testing.assert_allclose(at_llrs, expected, atol=1e-9)  # not at log-odds


def test_reliability_joins_the_steps():
    steps = fp.pav_steps(A)
    ax = draw("reliability", {"A": steps})
    data = lines_of(ax)[0].get_xydata()
    low, high = steps.forecast
    assert data[0].tolist() == [low[0], steps.posterior[0]]
    assert data[-1].tolist() == [high[-1], steps.posterior[-1]]
    assert (np.diff(data, axis=0) >= 0).all()
    assert labels_of(ax) == ["A", "calibrated"]


def test_reliability_of_several_classes():
    data = several(sample_weight=np.arange(300) % 4 + 1.0, priors=[0.2, 0.3, 0.5])
    best = data.posteriors.argmax(axis=1)

    def expected(events, posteriors):
        event = fp.Predictions.from_posteriors(
            events, posteriors, sample_weight=data.balanced_weights()
        )
        return lines_of(draw("reliability", fp.pav_steps(event)))[0].get_xydata()

    of_confidence = expected(best == data.y_true, data.posteriors.max(axis=1))
    of_classes = [expected(data.y_true == k, data.posteriors[:, k]) for k in range(3)]
    for options, names, curves in (
        ({}, ["A"], [of_confidence]),
        ({"on": "class"}, ["A, class 0", "A, class 1", "A, class 2"], of_classes),
    ):
        ax = draw("reliability", {"A": data}, **options)
        assert labels_of(ax)[:-1] == names
        for line, curve in zip(lines_of(ax), curves, strict=True):
            np.testing.assert_allclose(line.get_xydata(), curve)
    binary = lines_of(draw("reliability", A, on="confidence"))[0].get_xydata()
    np.testing.assert_allclose(binary[-1, 0], A.posteriors.max(), rtol=1e-12)


def test_bins_show_what_the_ece_sums():
    ax = draw("reliability_bins", A, ece=fp.ECE(bins=8))
    bars, gaps = ax.containers
    place = np.minimum((8 * A.positive_posteriors).astype(int), 7)
    shares = np.bincount(place, minlength=8) / len(A)
    used = shares > 0
    frequency = np.array([A.y_true[place == k].mean() for k in np.flatnonzero(used)])
    np.testing.assert_allclose([bar.get_height() for bar in bars], frequency)
    heights = np.abs([gap.get_height() for gap in gaps])
    np.testing.assert_allclose(heights @ shares[used], fp.ECE(bins=8)(A))
    (above,) = ax.child_axes
    counts = above.patches[0].get_data().values
    np.testing.assert_array_equal(np.nan_to_num(counts), np.bincount(place, minlength=8))
    assert (above.get_ylabel(), above.get_yscale()) == ("Samples", "log")
    weighted = fp.Predictions.from_posteriors([0, 1], [0.2, 0.7], sample_weight=[0.1, 2.0])
    (above,) = draw("reliability_bins", weighted).child_axes
    assert above.get_ylabel() == "Weight"
    assert np.nansum(above.patches[0].get_data().values) == pytest.approx(2.1)
    ax = figure("reliability_bins")  # of two systems: lines
    assert [line.get_marker() for line in lines_of(ax)] == ["o", "o"]
    assert draw("reliability_bins", several()).get_xlabel() == "Largest posterior"


# Bars


def bars_of(ax):
    return [bar.get_height() for bar in ax.patches]


def ends_of(ax):
    return [bar.get_segments()[0][:, 1].tolist() for bar in ax.collections]


def test_bars_have_values_and_intervals():
    results = fp.bootstrap(SCORES, A, n_resamples=100, seed=0)
    one = fp.bootstrap(SCORES[0], B, n_resamples=100, seed=0)
    ax = draw("metric_bars", {"A": results, "B": one}, reference=1.0)
    np.testing.assert_allclose(bars_of(ax)[:3], [r.value for r in (*results, one)])
    np.testing.assert_allclose(ends_of(ax), [result.interval for result in (*results, one)])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["NCE", "NBS"]
    assert labels_of(ax) == ["A", "B", "reference"]
    assert ax.get_ylim()[1] >= 1.0
    middles = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    np.testing.assert_allclose(middles, [-0.2, 0.8, 0.2])
    values = {"NCE": 0.5, "NBS": 0.25}
    assert bars_of(draw("metric_bars", values, metrics=["NBS"])) == [0.25]
    for systems, options in ((values, {"metrics": ["RCL"]}), ([one, one], {})):
        with pytest.raises(fp.ArgumentError):
            draw("metric_bars", systems, **options)


def test_bars_of_one_axis_have_one_unit():
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving())
    table = fp.evaluate(A, [fp.CrossEntropy(), loss, fp.ECE()], n_resamples=40, seed=0)
    nce, rcl, ece = table.rows
    ax = draw("metric_bars", table)
    np.testing.assert_allclose(bars_of(ax), [nce.value, rcl.value / 100, ece.value])
    np.testing.assert_allclose(ends_of(ax)[1], [rcl.low / 100, rcl.high / 100])
    assert ax.get_ylabel() == "Value (percentages as fractions)"
    shares = draw("metric_bars", table.rows[1:])
    np.testing.assert_allclose(bars_of(shares), [rcl.value, 100 * ece.value])
    assert shares.get_ylabel() == "Percent"
    mixed = fp.evaluate(A, [fp.Cllr(), fp.CrossEntropy()])
    assert draw("metric_bars", mixed).get_ylabel() == "Value"
    assert draw("metric_bars", fp.evaluate(A, [fp.Cllr()])).get_ylabel() == "Bits"


def test_bars_of_each_system_and_group():
    by = {"half": np.arange(len(A)) // 2 % 2}
    of_both, of_groups = fp.evaluate(SYSTEMS, SCORES, by=by), fp.evaluate(A, SCORES, by=by)
    places = ["pooled", "half=0", "half=1"]
    of_systems = [f"{system}, {place}" for system in "AB" for place in places]
    for systems, names in (
        (of_both, of_systems), (of_groups, places),
        ({"x": of_groups, "y": fp.evaluate(B, SCORES)}, [*(f"x: {p}" for p in places), "y"]),
    ):  # fmt: skip
        ax = draw("metric_bars", systems)
        assert labels_of(ax) == names
        assert len(ax.patches) == len(SCORES) * len(names)


# Bands


BANDED = {  # figure: curve, x of the band, and the series that is drawn
    "det": (fp.roc, lambda c: c.p_fa, lambda c: c.p_miss),
    "roc": (fp.roc, lambda c: c.p_fa, lambda c: 1.0 - c.p_miss),
    "precision_recall": (fp.precision_recall, lambda c: c.recall, lambda c: c.precision),
    "bayes_error": (fp.bayes_error, lambda c: c.prior_log_odds, lambda c: c.normalized_actual),
    "ape": (fp.bayes_error, lambda c: c.prior_log_odds, lambda c: c.actual),
    "pav_map": (fp.pav_steps, lambda c: c.score, lambda c: c.llr),
    "reliability": (fp.pav_steps, lambda c: c.forecast, lambda c: c.posterior),
}  # fmt: skip


def outline_of(ax, place=0):
    return ax.collections[place].get_paths()[0].vertices


@pytest.mark.parametrize("name", BANDED)
def test_bands_are_shaded_in_the_color_of_their_system(name):
    curve, x_of, y_of = BANDED[name]
    bands = {key: fp.band(curve, data, n_resamples=40, seed=0) for key, data in SYSTEMS.items()}
    ax = draw(name, SYSTEMS, band=bands)
    series = 2 if name in ("bayes_error", "ape") else 1
    assert len(ax.collections) == 2 * series
    for place, (band, color) in enumerate(zip(bands.values(), (FIRST, SECOND), strict=True)):
        shaded = ax.collections[series * place]
        assert same_color(shaded.get_facecolor()[0][:3], color)
        assert shaded.get_alpha() == 0.2
        x, ends = x_of(band.value), np.sort([y_of(band.low), y_of(band.high)], axis=0)
        outline = {tuple(point) for point in outline_of(ax, series * place).round(9)}
        drawn = np.isfinite(ends).all(axis=0)
        if curve is fp.pav_steps:  # within the finite steps, and those of one class are wider
            drawn &= ~np.isinf(band.value.llr)
        assert drawn.sum() > 20
        for end in ends:
            assert set(zip(x[drawn].round(9), end[drawn].round(9), strict=True)) <= outline
    assert len(draw(name, A, band=bands["A"]).collections) == series
    other = fp.band(fp.risk_curve if curve is fp.roc else fp.roc, A, n_resamples=40, seed=0)
    for wrong in ({"A": other}, {"C": bands["A"]}, bands["A"], {"A": A}):
        with refuses("band"):
            draw(name, SYSTEMS, band=wrong)


def test_infinite_ends_of_bands_are_filled_to_the_ends_of_the_axes():
    band = fp.band(fp.pav_steps, A, n_resamples=40, seed=0)
    ax = draw("pav_map", A, band=band)
    outline, (low, high) = outline_of(ax), ax.get_ylim()
    assert np.isfinite(outline).all()
    assert low <= outline[:, 1].min() <= outline[:, 1].max() <= high
    infinite = np.isin(outline[:, 0], band.low.score[np.isneginf(band.low.llr)])
    assert infinite.any()
    assert outline[infinite, 1].min() < band.value.llr[np.isfinite(band.value.llr)].min()


def test_bands_of_reliability():
    ax = draw("reliability", A, n_resamples=100, seed=0)
    x, outline, steps = lines_of(ax)[0].get_xdata(), outline_of(ax), fp.pav_steps(A)
    for end, value in ((x[0], 0.0), (x[-1], 1.0)):  # of one class alone
        there = outline[np.isclose(outline[:, 0], end, atol=1e-12)][:, 1]
        assert there.min() <= value <= there.max()
    first = outline[np.isclose(outline[:, 0], x[0], atol=1e-12)][:, 1].max()
    n = steps.negatives[0]
    assert first >= 1 - 0.025 ** (1 / n) - 1e-12  # Clopper and Pearson's, for 0 of n
    ax = draw("reliability", A, band="consistency", n_resamples=60, seed=0)
    middle = outline_of(ax)[np.isclose(outline_of(ax)[:, 0], 0.5)][:, 1]
    assert middle.min() < 0.5 < middle.max()
    for options in ({"band": "consistency", "resampling": fp.IID()}, {"band": "bootstrap"}):
        with pytest.raises(ValueError, match=r"^(band|resampling)"):
            draw("reliability", A, **options)


LN10 = np.log(10.0)
IN_BASE_10 = {  # powers of the unit along both axes
    **dict.fromkeys(["ape", "bayes_error", "empirical_cross_entropy", "tippett"], (1, 0)),
    **dict.fromkeys(["calibration_map", "pav_map"], (1, 1)),
    "score_histogram": (1, -1), "det": (0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_BASE_10)
def test_logarithms_are_natural_or_of_base_10(name):
    ax = figure(name)
    axes = ax.xaxis, ax.yaxis
    labels, drawn = (
        [axis.get_label_text() for axis in axes],
        [line.get_xydata() for line in ax.lines],
    )
    before = [axis.get_majorticklocs() for axis in axes]
    assert fp.plotting.in_base_10(ax) is ax
    labels = [label.replace("(natural", "(base-10") for label in labels]
    assert [axis.get_label_text() for axis in axes] == labels
    assert "".join(labels).count("(base-10") == sum(np.array(IN_BASE_10[name]) > 0)
    for data, line in zip(drawn, ax.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), data)
    for axis, power, places in zip(axes, IN_BASE_10[name], before, strict=True):
        if power == 0:
            np.testing.assert_array_equal(axis.get_majorticklocs(), places)
            continue
        places = axis.get_majorticklocs()
        shown = [float(text) for text in axis.get_major_formatter().format_ticks(places)]
        np.testing.assert_allclose(places, np.multiply(shown, LN10**power), rtol=1e-6, atol=1e-12)


def test_notes_of_scores_say_that_they_are_natural():
    far = fp.Predictions.from_llrs(A.y_true, 50.0 * A.llrs)
    ax = figure("tippett", {"A": A, "B": B, "far": far})
    assert "scores from" in notes_of(ax)
    fp.plotting.in_base_10(ax)
    assert notes_of(ax).endswith("scores in notes are natural logarithms")
