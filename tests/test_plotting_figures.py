"""What figures draw: data of the artists, labels, legends, overlays; and what they leave alone."""

import importlib
import inspect
import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import trapezoid

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import same_color  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

import fastpsr as fp  # noqa: E402
from fastpsr import plotting  # noqa: E402
from fastpsr.plans import run  # noqa: E402
from fastpsr.plotting.canvas import COLORS, is_guide  # noqa: E402


def detector(seed=0, n=400, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return fp.Predictions.from_llrs(y, 2 * rng.normal(size=n) + shift * np.where(y, 2.0, -2.0))


A, B = detector(0), detector(1, shift=0.6)
SYSTEMS = {"A": A, "B": B}
SCORES = [fp.CrossEntropy(), fp.BrierScore()]
CURVES = {  # the function, two systems for it, keywords
    "ape": ({"A": A, "B": fp.bayes_error(B)}, {}),
    "bayes_error": ({"A": fp.bayes_error(A), "B": B}, {}),
    "calibration_map": ({"A": fp.DirectionPreserving().fit(A), "B": fp.PAV(0.01).fit(A)}, {}),
    "det": ({"A": fp.roc(A), "B": B}, {}),
    "divergence_curve": (
        {"A": fp.divergence_curve(A, fp.rules.Log()), "B": fp.divergence_curve(B, fp.rules.Log())},
        {},
    ),
    "empirical_cross_entropy": ({"A": fp.empirical_cross_entropy(A), "B": B}, {}),
    "metric_bars": ({"A": fp.evaluate(A, SCORES), "B": {"NCE": 0.5, "NBS": 0.4}}, {}),
    "pav_map": ({"A": fp.pav_steps(A), "B": B}, {}),
    "reliability": ({"A": fp.pav_steps(A), "B": B}, {"band": None}),
    "reliability_bins": ({"A": A, "B": B}, {}),
    "risk_curve": ({"A": fp.risk_curve(A, [0.2, 0.5]), "B": B}, {}),
    "roc": ({"A": fp.roc(A), "B": B}, {}),
    "rule_losses": ({"A": fp.rules.Log(), "B": fp.rules.Brier()}, {}),
    "sample_size": (
        {
            name: fp.sample_size(SCORES[1], data, 0.1, n_resamples=40, seed=0)
            for name, data in (("A", A), ("B", B))
        },
        {},
    ),
    "score_histogram": ({"A": fp.score_histogram(A), "B": B}, {}),
    "tippett": ({"A": fp.tippett(A), "B": B}, {}),
}


def fresh():
    return Figure().subplots()


def draw(name, systems=None, **options):
    given, keywords = CURVES[name]
    options.setdefault("ax", fresh())
    return getattr(plotting, name)(given if systems is None else systems, **keywords, **options)


def own(ax):
    """The lines of the systems."""
    return [line for line in ax.lines if not is_guide(line)]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_every_function_is_tested_here():
    assert set(CURVES) == set(plotting.__all__)


@pytest.mark.parametrize("name", CURVES)
def test_signature(name):
    function = getattr(plotting, name)
    parameters = inspect.signature(function).parameters
    assert next(iter(parameters)) == "systems"
    assert parameters["ax"].default is None
    assert parameters["ax"].kind is inspect.Parameter.KEYWORD_ONLY
    assert list(parameters)[-1] == "kwargs"


@pytest.mark.parametrize("name", CURVES)
def test_overlays_are_labeled_and_told_apart(name):
    ax = draw(name)
    assert labels(ax)[:2] == ["A", "B"]
    handles = ax.get_legend().legend_handles[:2]
    first, second = (
        handle.get_facecolor() if name == "metric_bars" else handle.get_color()
        for handle in handles
    )  # fmt: skip
    assert same_color(first, COLORS[0])
    assert same_color(second, COLORS[1])
    assert ax.get_ylabel()
    assert ax.get_xlabel() or name == "metric_bars"


@pytest.mark.parametrize("name", CURVES)
def test_given_axes_are_used_again(name):
    systems, _ = CURVES[name]
    if name == "metric_bars":
        pytest.skip("bars of another call would hide those of the first")
    ax = fresh()
    one, two = ({key: systems[key]} for key in ("A", "B"))
    if name == "reliability_bins":
        one = two = systems  # several: lines
    assert draw(name, one, ax=ax) is ax
    before = labels(ax)
    assert draw(name, two, ax=ax) is ax
    assert len(labels(ax)) > len(before)
    gids = [line.get_gid() for line in ax.lines if is_guide(line)]
    assert len(gids) == len(set(gids)), "a guide is drawn twice"


@pytest.mark.parametrize("name", CURVES)
def test_without_axes_a_figure_is_made_and_never_shown(name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("shown"))
    monkeypatch.setattr(Figure, "show", lambda *a, **k: pytest.fail("shown"))
    before = dict(matplotlib.rcParams)
    ax = draw(name, ax=None)
    assert isinstance(ax, Axes)
    assert plt.get_fignums() == [ax.figure.number]
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", CURVES)
def test_keywords_reach_the_artists(name):
    systems, _ = CURVES[name]
    ax = draw(name, {"A": systems["A"]}, lw=3.5, color="#123456", alpha=0.5)
    if name in ("metric_bars", "reliability_bins", "score_histogram"):
        artists = [patch for patch in ax.patches if patch.get_alpha() == 0.5]
    else:
        artists = [line for line in own(ax) if line.get_alpha() == 0.5]
    assert artists
    assert {artist.get_linewidth() for artist in artists} == {3.5}
    first = artists[0]
    color = first.get_color() if hasattr(first, "get_color") else first.get_edgecolor()
    if name == "metric_bars":
        color = first.get_facecolor()
    if name == "reliability_bins":
        color = first.get_facecolor()
    assert same_color(color[:3] if not isinstance(color, str) else color, "#123456")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("wrong", [3, [0.1, 0.2], {}, {1: A}, {"A": "scores.txt"}, {"A": None}])
def test_wrong_types_are_refused(name, wrong):
    with pytest.raises(ValueError, match=r"systems|metrics"):
        draw(name, wrong, ax=None)
    assert plt.get_fignums() == []  # no empty figure is left


@pytest.mark.parametrize("name", CURVES)
def test_wrong_axes_are_refused(name):
    with pytest.raises(ValueError, match="ax must be matplotlib Axes"):
        draw(name, ax=Figure())


@pytest.mark.parametrize("name", CURVES)
def test_names_are_shown_as_text(name):
    systems, _ = CURVES[name]
    hostile = ["$\\frac$ <script>", "_hidden"]
    ax = draw(name, dict(zip(hostile, systems.values(), strict=True)))
    shown = [label.strip("\u200b") for label in labels(ax)]
    assert shown[:2] == hostile
    ax.figure.canvas.draw()  # mathtext would fail here


def test_roc_and_det_draw_error_rates():
    curve = fp.roc(A)
    kept = own(draw("roc", curve))[0].get_xydata()
    rates = np.column_stack([curve.p_fa, 1 - curve.p_miss])
    assert {tuple(row) for row in kept} <= {tuple(row) for row in rates}
    np.testing.assert_allclose(-trapezoid(kept[:, 1], kept[:, 0]), fp.AUC()(A), rtol=1e-12)
    ax = draw("det", curve)
    np.testing.assert_array_equal(own(ax)[0].get_xdata(), kept[:, 0])
    assert (ax.get_xscale(), ax.get_yscale()) == ("probit", "probit")
    assert labels(draw("roc", curve, hull=True)) == ["convex hull", "chance"]


def test_det_is_straight_for_normal_scores_of_one_variance():
    from scipy.special import ndtri

    ax = draw("det", detector(n=100_000))
    low, high = ax.get_xlim()
    assert 0 < low < high < 1
    data = own(ax)[0].get_xydata()
    inner = data[((data > 0.02) & (data < 0.5)).all(axis=1)]
    pixels = ax.transData.transform(inner)
    line = np.polyfit(pixels[:, 0], pixels[:, 1], 1)
    assert np.abs(np.polyval(line, pixels[:, 0]) - pixels[:, 1]).max() < 3.0
    scale = ax.transData.transform([[0.01, 0.1], [0.1, 0.1], [0.5, 0.1]])[:, 0]
    share = (ndtri(0.1) - ndtri(0.01)) / (ndtri(0.5) - ndtri(0.01))
    assert (scale[1] - scale[0]) / (scale[2] - scale[0]) == pytest.approx(share)


def test_det_axes_grow_with_systems_and_ticks_are_percent():
    ax = draw("det", {"A": detector(n=200)})
    before = ax.get_xlim()
    draw("det", {"B": detector(n=40_000)}, ax=ax)
    assert ax.get_xlim()[0] < before[0]
    formatter = ax.xaxis.get_major_formatter()
    assert [formatter(rate) for rate in (0.001, 0.05, 0.999)] == ["0.1", "5", "99.9"]
    ax.set_xlim(-1.0, 2.0)  # beyond rates
    ax.figure.canvas.draw()


@pytest.mark.parametrize("low", [1e-9, 1e-6, 1e-4, 1e-3, 0.005])
@pytest.mark.parametrize("high", [0.5, 0.9, 0.99])
def test_labels_of_det_axes_do_not_touch(low, high):
    ax = draw("det", {"A": A})
    ax.set_xlim(low, high)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) > 5
    gaps = [b.x0 - a.x1 for a, b in itertools.pairwise(boxes)]
    assert min(gaps) > 2.0, (gaps, [label.get_text() for label in ax.get_xticklabels()])


def test_a_legend_lies_below_tilted_names():
    bars = {"NCE": 0.2, "a longer name than others": 0.5, "actDCF(0.01)": 0.3}
    _, ax = plt.subplots(figsize=(4.0, 4.6), layout="constrained")
    fp.plotting.metric_bars({"a": bars, "b": bars}, ax=ax)
    ax.figure.canvas.draw()
    lowest = min(label.get_window_extent().y0 for label in ax.get_xticklabels())
    assert ax.get_legend().get_window_extent().y1 < lowest


POINTS = [fp.MinDCF(0.3), fp.ActDCF(0.3), fp.MinDCF(0.6, 1.0, 2.0)]


def marks(ax):
    """The marked operating points: their labels and rates."""
    found = [line for line in own(ax) if line.get_linestyle() == "None"]
    return [(line.get_label(), *line.get_xydata()[0]) for line in found]


def test_det_marks_the_operating_points_of_each_system():
    ax = draw("det", {"A": A, "B": B}, operating_points=POINTS)
    found = marks(ax)
    assert [label for label, *_ in found] == 2 * ["_minDCF(0.3)", "_actDCF(0.3)",
                                                  "_minDCF(0.6:1:2)"]  # fmt: skip
    for data, rates in ((A, found[:3]), (B, found[3:])):
        for point, (_, p_fa, p_miss) in zip(POINTS, rates, strict=True):
            (cost,) = point.costs
            assert cost.normalized(p_miss, p_fa) == pytest.approx(point(data), rel=1e-12)
    shown = labels(ax)
    assert shown[:2] == ["A", "B"]
    assert {"minDCF(0.3)", "actDCF(0.3)", "minDCF(0.6:1:2)"} <= set(shown)
    x, y = ax.get_xlim(), ax.get_ylim()
    assert all(x[0] < p_fa < x[1] and y[0] < p_miss < y[1] for _, p_fa, p_miss in found)
    preset = draw("det", {"A": A}, operating_points=[fp.MinDCF("sre21")])
    assert len(marks(preset)) + plotting.notes.notes_of(preset).count("minDCF") == 2


def test_operating_points_need_what_they_are_made_of():
    curve = fp.roc(A)
    (_, p_fa, p_miss), *_ = marks(draw("det", curve, operating_points=[fp.MinDCF(0.3)]))
    assert fp.MinDCF(0.3).costs[0].normalized(p_miss, p_fa) == pytest.approx(fp.MinDCF(0.3)(A))
    with pytest.raises(ValueError, match=r"systems must be Predictions for actDCF\(0\.3\)"):
        draw("det", curve, operating_points=[fp.ActDCF(0.3)])
    with pytest.raises(ValueError, match=r"operating_points must be MinDCF or ActDCF, not 0\.01"):
        draw("det", operating_points=[0.01])
    raw = draw("det", fp.Predictions.from_raw_scores(A.y_true, A.llrs), operating_points=POINTS)
    assert [label for label, *_ in marks(raw)] == ["_minDCF(0.3)", "_minDCF(0.6:1:2)"]
    words = " ".join(plotting.notes.notes_of(raw).split())
    assert "actDCF(0.3) is not marked" in words


@pytest.mark.parametrize(
    ("weight", "rule", "factor"),
    [(None, fp.rules.Log(), 1.0), (fp.rules.Log(), fp.rules.Log(), 1.0),
     (fp.rules.Brier(), fp.rules.Brier(), 1.0), (fp.rules.Beta(2, 2), fp.rules.Brier(), 3.0),
     (fp.rules.Weighted(lambda a: a[:, 0]), fp.rules.Weighted(lambda a: a[:, 0]), 1.0),
     (lambda a: 6 * a * (1 - a), fp.rules.Brier(), 3.0)],
)  # fmt: skip
def test_the_area_under_a_risk_curve_is_the_score(weight, rule, factor):
    curve = fp.risk_curve(A, np.arange(1, 20_000) / 20_000)
    x, y = own(draw("risk_curve", curve, weight=weight))[0].get_xydata().T
    score = fp.ExpectedScore(rule, normalized=False)(A)
    assert trapezoid(y, x) == pytest.approx(factor * score, rel=5e-3)


def test_risk_curves_are_drawn_in_order_and_refuse_other_weights():
    curve = fp.risk_curve(A, [[0.7, 0.3], [0.2, 0.8]])
    log_odds = own(draw("risk_curve", curve))[0].get_xdata()
    np.testing.assert_allclose(log_odds, np.log([0.2 / 0.8, 0.7 / 0.3]))
    for weight in (3, fp.rules.Cost([[0, 1], [1, 0]])):
        with pytest.raises(ValueError, match="weight"):
            draw("risk_curve", curve, weight=weight)
    with pytest.raises(ValueError, match="weight"):
        draw("risk_curve", curve, weight=lambda a: a - 1.0)


def test_bars_have_values_and_intervals():
    table = fp.bootstrap(SCORES, A, n_resamples=100, seed=0)
    ax = plotting.metric_bars({"A": table, "B": fp.bootstrap(SCORES[0], B, seed=0)},
                              reference=1.0, ax=fresh())  # fmt: skip
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights[:2], [result.value for result in table])
    ends = [line.get_ydata()[:2].tolist() for line in own(ax) if line.get_label() == "_interval"]
    assert ends[:2] == [list(result.interval) for result in table]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["NCE", "NBS"]
    assert labels(ax) == ["A", "B", "reference"]
    assert ax.get_ylim()[1] >= 1.0
    middles = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    np.testing.assert_allclose(middles, [-0.2, 0.8, 0.2])
    chosen = plotting.metric_bars({"NCE": 0.5, "NBS": 0.25}, metrics=["NBS"], ax=fresh())
    assert [bar.get_height() for bar in chosen.patches] == [0.25]
    with pytest.raises(ValueError, match="metrics must be among NCE, NBS"):
        plotting.metric_bars({"NCE": 0.5, "NBS": 0.25}, metrics=["RCL"], ax=fresh())


def test_bars_of_one_axis_have_one_unit():
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving())
    table = fp.evaluate(A, [fp.CrossEntropy(), loss, fp.ECE()], n_resamples=40, seed=0)
    nce, rcl, ece = table.rows
    ax = plotting.metric_bars(table, ax=fresh())
    np.testing.assert_allclose(
        [bar.get_height() for bar in ax.patches], [nce.value, rcl.value / 100, ece.value]
    )
    ends = [line.get_ydata()[:2] for line in own(ax) if line.get_label() == "_interval"]
    np.testing.assert_allclose(ends[1], [rcl.low / 100, rcl.high / 100])
    assert ax.get_ylabel() == "Value (percentages as fractions)"
    shares = plotting.metric_bars(table.rows[1:], ax=fresh())
    np.testing.assert_allclose([bar.get_height() for bar in shares.patches],
                               [rcl.value, 100 * ece.value])  # fmt: skip
    assert shares.get_ylabel() == "Percent"
    drawn = fp.bootstrap([fp.CrossEntropy(), loss], A, n_resamples=40, seed=0)
    assert [result.unit for result in drawn] == ["", "percent"]
    mixed = plotting.metric_bars(drawn, ax=fresh())
    np.testing.assert_allclose(mixed.patches[1].get_height(), rcl.value / 100)
    assert plotting.metric_bars([nce], ax=fresh()).get_ylabel() == "Value"
    assert plotting.metric_bars(fp.evaluate(A, [fp.Cllr()]), ax=fresh()).get_ylabel() == "Bits"


def test_evaluations_bring_their_intervals():
    table = fp.evaluate(A, SCORES, n_resamples=100, seed=0)
    ax = plotting.metric_bars(table, ax=fresh())
    ends = [line.get_ydata()[:2].tolist() for line in own(ax) if line.get_label() == "_interval"]
    assert ends == [[row.low, row.high] for row in table.rows]


def test_divergence_has_a_star_at_the_mean():
    curve = fp.divergence_curve(A, fp.rules.Brier())
    line, star = own(draw("divergence_curve", curve))
    assert star.get_xdata().tolist() == [curve.mean_posterior]
    np.testing.assert_allclose(line.get_ydata(), curve.divergence)
    assert star.get_ydata()[0] <= line.get_ydata().min() + 1e-4


def test_rules_are_drawn_for_both_classes():
    if_one, if_zero = own(draw("rule_losses", fp.rules.Log()))
    posterior = if_one.get_xdata()[1:-1]
    np.testing.assert_allclose(if_one.get_ydata()[1:-1], -np.log(posterior))
    np.testing.assert_allclose(if_zero.get_ydata()[1:-1], -np.log(1 - posterior))
    assert (if_one.get_linestyle(), if_zero.get_linestyle()) == ("-", "--")


@pytest.mark.parametrize("name", ["bayes_error", "ape"])
def test_bayes_error_is_drawn_with_the_minimum_dashed(name):
    curve = fp.bayes_error(A, [3.0, -3.0, 0.0])
    actual, minimum = own(draw(name, curve))
    wanted = curve.normalized_actual if name == "bayes_error" else curve.actual
    assert actual.get_xdata().tolist() == [-3.0, 0.0, 3.0]
    np.testing.assert_allclose(actual.get_ydata(), wanted[[1, 2, 0]])
    assert minimum.get_linestyle() == "--"
    assert (minimum.get_ydata() <= actual.get_ydata()).all()


def test_cross_entropy_has_three_curves():
    curve = fp.empirical_cross_entropy(A, [1.0, 0.0])
    ax = draw("empirical_cross_entropy", curve)
    raw, pav, null = ax.lines[:3]
    np.testing.assert_allclose(raw.get_ydata(), curve.raw[::-1])
    np.testing.assert_allclose(pav.get_ydata(), curve.pav[::-1])
    np.testing.assert_allclose(null.get_ydata(), curve.null[::-1])
    assert labels(ax) == ["LLR of 0", "raw", "after PAV"]


def test_tippett_steps_hold_the_shares():
    curves = fp.tippett(A)
    targets, others = own(draw("tippett", curves))[:2]
    for line, scores, shares in (
        (targets, curves.target_scores, curves.p_target),
        (others, curves.nontarget_scores, curves.p_nontarget),
    ):
        x, y = line.get_xydata().T
        assert (np.diff(y) <= 0).all()
        just_before = np.searchsorted(x, scores - 1e-9)
        np.testing.assert_allclose(y[just_before], shares)
        assert y[-1] == 0.0
    assert others.get_linestyle() == "--"


def test_calibration_maps_are_those_of_the_calibrators():
    fitted = fp.BetaCalibration().fit(A)
    (line,) = own(draw("calibration_map", fitted, low=-3.0, high=5.0))
    x, y = line.get_xdata(), line.get_ydata()
    assert (x[0], x[-1]) == (-3.0, 5.0)
    np.testing.assert_array_equal(y, fitted.transform(fp.Predictions.from_llrs(None, x)).llrs)
    with pytest.raises(fp.ArgumentError, match="must be fitted"):
        draw("calibration_map", fp.PAV())
    with pytest.raises(fp.ArgumentError, match="low must be below high"):
        draw("calibration_map", fitted, low=3.0, high=3.0)
    raw = fp.PAV().fit(fp.Predictions.from_raw_scores(A.y_true, A.scores))
    with pytest.raises(fp.ArgumentError, match="of one kind"):
        draw("calibration_map", {"A": fitted, "B": raw})
    y = np.arange(60) % 3
    logits = 0.5 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3))
    several = fp.Predictions.from_logits(y, logits)
    with pytest.raises(fp.ArgumentError, match="two classes"):
        draw("calibration_map", fp.TemperatureScaling().fit(several))


def test_pav_map_draws_finite_steps():
    steps = fp.pav_steps(A)
    data = own(draw("pav_map", steps))[0].get_xydata()
    inner = np.isfinite(steps.llr)
    assert data[0].tolist() == [steps.lowest[inner][0], steps.llr[inner][0]]
    assert data[-1].tolist() == [steps.highest[inner][-1], steps.llr[inner][-1]]
    assert set(data[:, 1]) == set(steps.llr[inner])
    posteriors = fp.Predictions.from_posteriors(A.y_true, A.posteriors)
    same = own(draw("pav_map", posteriors))[0].get_xydata()  # at LLRs, not at log-odds
    np.testing.assert_allclose(same, data, atol=1e-9)


def test_histograms_have_an_outline_per_class():
    counts = fp.score_histogram(A, 12)
    ax = draw("score_histogram", counts)
    targets, others = ax.patches
    np.testing.assert_allclose(targets.get_data().values, counts.densities[1])
    np.testing.assert_allclose(others.get_data().edges, counts.edges)
    assert labels(ax) == ["targets", "non-targets"]
    assert not same_color(targets.get_edgecolor(), others.get_edgecolor())


def test_reliability_joins_the_steps():
    steps = fp.pav_steps(A)
    data = own(draw("reliability", steps))[0].get_xydata()
    low, high = steps.forecast
    assert data[0].tolist() == [low[0], steps.posterior[0]]
    assert data[-1].tolist() == [high[-1], steps.posterior[-1]]
    assert (np.diff(data, axis=0) >= 0).all()
    assert labels(draw("reliability", {"A": steps})) == ["A", "calibrated"]


def test_confidence_bands_hold_the_curve_and_never_collapse():
    ax = plotting.reliability(A, n_resamples=100, seed=0, ax=fresh())
    x = own(ax)[0].get_xdata()
    outline = ax.collections[0].get_paths()[0].vertices
    for end, wanted in ((x[0], 0.0), (x[-1], 1.0)):  # of one class alone
        there = outline[np.isclose(outline[:, 0], end, atol=1e-12)][:, 1]
        assert there.min() <= wanted <= there.max()
        assert np.ptp(there) > 0.01
    steps = fp.pav_steps(A)
    n = steps.negatives[0]
    first = outline[np.isclose(outline[:, 0], x[0], atol=1e-12)][:, 1].max()
    assert first >= 1 - 0.025 ** (1 / n) - 1e-12  # Clopper and Pearson's, for 0 of n


BANDED = {  # figure: curve, x of the band, and the series that is drawn
    "det": (fp.roc, lambda c: c.p_fa, lambda c: c.p_miss),
    "roc": (fp.roc, lambda c: c.p_fa, lambda c: 1.0 - c.p_miss),
    "bayes_error": (
        fp.bayes_error, lambda c: c.prior_log_odds, lambda c: c.normalized_actual,
    ),
    "ape": (fp.bayes_error, lambda c: c.prior_log_odds, lambda c: c.actual),
    "risk_curve": (
        fp.risk_curve, lambda c: np.log(c.points / (1.0 - c.points)),
        lambda c: c.points * (1.0 - c.points) * c.risk,
    ),
    "pav_map": (fp.pav_steps, lambda c: c.score, lambda c: c.llr),
    "reliability": (fp.pav_steps, lambda c: c.forecast, lambda c: c.posterior),
}  # fmt: skip


@pytest.mark.parametrize("name", BANDED)
def test_bands_are_shaded_in_the_color_of_their_system(name):
    curve, x_of, y_of = BANDED[name]
    bands = {key: fp.band(curve, data, n_resamples=40, seed=0) for key, data in SYSTEMS.items()}
    options = {"band": bands, "ax": fresh()}
    ax = getattr(plotting, name)(SYSTEMS, **options)
    series = 2 if name in ("bayes_error", "ape") else 1
    assert len(ax.collections) == 2 * series
    for place, band in enumerate(bands.values()):
        shaded = ax.collections[series * place]
        assert same_color(shaded.get_facecolor()[0][:3], COLORS[place])
        x, ends = x_of(band.value), np.sort([y_of(band.low), y_of(band.high)], axis=0)
        outline = {tuple(point) for point in shaded.get_paths()[0].vertices.round(9)}
        drawn = np.isfinite(ends).all(axis=0)
        if curve is fp.pav_steps:  # within the finite steps, and those of one class are wider
            drawn &= ~np.isinf(band.value.llr)
        assert drawn.sum() > 20
        for end in ends:
            assert set(zip(x[drawn].round(9), end[drawn].round(9), strict=True)) <= outline
    single = getattr(plotting, name)(A, band=bands["A"], ax=fresh())
    assert len(single.collections) == series
    other = fp.band(fp.risk_curve if curve is fp.roc else fp.roc, A, n_resamples=40, seed=0)
    for wrong in ({"A": other}, {"C": bands["A"]}, bands["A"], {"A": A}):
        with pytest.raises(ValueError, match=r"^band must"):
            getattr(plotting, name)(SYSTEMS, band=wrong, ax=fresh())


def test_infinite_ends_of_bands_are_filled_to_the_ends_of_the_axes():
    ax = plotting.pav_map(A, band=fp.band(fp.pav_steps, A, n_resamples=40, seed=0), ax=fresh())
    outline = ax.collections[0].get_paths()[0].vertices
    assert np.isfinite(outline).all()
    low, high = ax.get_ylim()
    assert outline[:, 1].min() >= low
    assert outline[:, 1].max() <= high


def test_bands_by_speaker_are_wider():
    rng = np.random.default_rng(0)
    speaker = np.repeat(np.arange(20), 50)
    y = np.arange(1000) % 2
    llr = np.where(y, 1.0, -1.0) + 2 * rng.normal(size=20)[speaker] + rng.normal(size=1000)
    data = fp.Predictions.from_llrs(y, llr)
    widths = []
    for resampling in (fp.IID(), fp.Clusters(speaker)):
        ax = plotting.reliability(data, n_resamples=100, seed=0, resampling=resampling, ax=fresh())
        x, y_ends = ax.collections[0].get_paths()[0].vertices.T
        middle = np.isclose(x, 0.5)
        widths.append(np.ptp(y_ends[middle]))
    assert widths[1] > widths[0]


def test_consistency_bands_lie_around_the_identity():
    ax = plotting.reliability(A, band="consistency", n_resamples=60, seed=0, ax=fresh())
    outline = ax.collections[0].get_paths()[0].vertices
    middle = outline[np.isclose(outline[:, 0], 0.5)][:, 1]
    assert middle.min() < 0.5 < middle.max()
    with pytest.raises(ValueError, match="resampling"):
        plotting.reliability(A, band="consistency", resampling=fp.IID(), ax=fresh())
    with pytest.raises(ValueError, match="band"):
        plotting.reliability(A, band="bootstrap", ax=fresh())


def test_bins_show_what_the_ece_sums():
    ece = fp.ECE(bins=8)
    ax = plotting.reliability_bins(A, ece=ece, ax=fresh())
    bars, gaps = ax.containers
    shares, hits, _ = run(lambda: ece.total(A)).shares
    used = shares > 0
    np.testing.assert_allclose([bar.get_height() for bar in bars], (hits / shares)[used])
    np.testing.assert_allclose(
        sum(abs(gap.get_height()) * share for gap, share in zip(gaps, shares[used], strict=True)),
        ece(A),
    )
    (above,) = ax.child_axes
    (steps,) = above.patches
    counts = np.histogram(A.positive_posteriors, np.linspace(0.0, 1.0, 9))[0]
    np.testing.assert_array_equal(np.nan_to_num(steps.get_data().values), counts)
    assert (above.get_ylabel(), above.get_yscale()) == ("Samples", "log")
    weighted = fp.Predictions.from_posteriors([0, 1], [0.2, 0.7], sample_weight=[0.1, 2.0])
    (above,) = draw("reliability_bins", weighted).child_axes
    assert above.get_ylabel() == "Weight"
    assert np.nansum(above.patches[0].get_data().values) == pytest.approx(2.1)
    ax = draw("reliability_bins")
    assert len(ax.child_axes[0].patches) == 2
    lines = own(ax)
    assert [line.get_marker() for line in lines] == ["o", "o"]
    three = fp.Predictions.from_posteriors([0, 1, 2], np.eye(3) * 0.4 + 0.2)
    assert draw("reliability_bins", three).get_xlabel() == "Largest posterior"
    with pytest.raises(ValueError, match="ece"):
        plotting.reliability_bins(A, ece=15, ax=fresh())


def several(n=300, n_classes=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return fp.Predictions.from_logits(
        y, rng.normal(size=(n, n_classes)) + 2.0 * np.eye(n_classes)[y], **options
    )


def test_reliability_of_several_classes():
    data = several(sample_weight=np.arange(300) % 4 + 1.0, priors=[0.2, 0.3, 0.5])
    weights = data.balanced_weights()
    best = data.posteriors.argmax(axis=1)

    def curve(hits, posteriors):
        event = fp.Predictions.from_posteriors(hits, posteriors, sample_weight=weights)
        return own(draw("reliability", fp.pav_steps(event)))[0].get_xydata()

    ax = draw("reliability", {"A": data})  # of the confidence
    np.testing.assert_allclose(
        own(ax)[0].get_xydata(), curve(best == data.y_true, data.posteriors.max(axis=1))
    )
    assert (ax.get_xlabel(), labels(ax)[0]) == ("Largest posterior", "A")
    ax = draw("reliability", {"A": data}, on="class")
    assert labels(ax)[:3] == ["A, class 0", "A, class 1", "A, class 2"]
    for k, line in enumerate(own(ax)):
        wanted = curve(data.y_true == k, data.posteriors[:, k])
        np.testing.assert_allclose(line.get_xydata(), wanted)
    one = draw("reliability", data, on="class", classes=[2])
    assert labels(one)[0] == "class 2"
    np.testing.assert_allclose(own(one)[0].get_xydata(), wanted)
    assert one.get_ylabel() == "Frequency of the class after PAV"
    binary = draw("reliability", A, on="confidence")
    np.testing.assert_allclose(own(binary)[0].get_xydata()[-1, 0], A.posteriors.max(), rtol=1e-12)


def test_reliability_refuses_classes_that_are_not_there():
    with pytest.raises(ValueError, match="classes must lie in 0 to 2, and there is 3"):
        draw("reliability", several(), on="class", classes=[3])
    for data, on in ((several(), None), (A, "class")):
        with pytest.raises(ValueError, match='classes are for on="class" and more than 2'):
            draw("reliability", data, on=on, classes=[0])
    with pytest.raises(ValueError, match="on must be"):
        draw("reliability", A, on="top")


def test_plotting_is_loaded_when_it_is_asked_for():
    assert fp.plotting is importlib.import_module("fastpsr.plotting")
    assert "plotting" not in fp.__all__  # a star would need matplotlib


WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from fastpsr import *
import fastpsr as fp
try:
    fp.plotting
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "name", ["ape", "bayes_error", "empirical_cross_entropy", "pav_map", "risk_curve",
             "score_histogram", "tippett"]
)  # fmt: skip
def test_axes_of_odds_and_llrs_name_the_natural_logarithm(name):
    assert "(natural logarithm)" in draw(name).get_xlabel()


def test_what_plotting_needs_is_said():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == 'plotting needs matplotlib: pip install "fastpsr[plot]"\n'


def test_bars_show_each_system_and_group():
    by = {"half": np.arange(len(A)) // 2 % 2}
    of_systems = fp.evaluate(SYSTEMS, SCORES)
    of_both = fp.evaluate(SYSTEMS, SCORES, by=by)
    of_groups = fp.evaluate(A, SCORES, by=by)
    places = ["pooled", "half=0", "half=1"]
    every = {"A, pooled", "A, half=0", "A, half=1", "B, pooled", "B, half=0", "B, half=1"}
    named = {f"x: {place}" for place in places}
    cases = [
        (of_systems, {"A", "B"}), (of_both, every), (of_groups, set(places)),
        (of_both.rows, every), ({"x": of_groups}, named),
        ({"x": of_groups, "y": fp.evaluate(B, SCORES)}, named | {"y"}),
    ]  # fmt: skip
    for given, wanted in cases:
        ax = plotting.metric_bars(given, ax=Figure().subplots())
        assert {text.get_text() for text in ax.get_legend().get_texts()} == wanted
        bars = [patch for patch in ax.patches if not is_guide(patch)]
        assert len(bars) == len(SCORES) * len(wanted)
    twice = fp.bootstrap([SCORES[0], SCORES[0]], A, n_resamples=40, seed=0)
    with pytest.raises(fp.ArgumentError, match="NCE is there twice"):
        plotting.metric_bars(twice)
