"""Thinned curves draw what full ones do."""

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
from matplotlib.figure import Figure  # noqa: E402

import fastpsr as fp  # noqa: E402
from fastpsr.plotting.thinning import rate_grid, span_grid, thin  # noqa: E402


def area(x, y):
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


def on_full(x, y, at):
    """Value of a monotone curve's drawing at some x: its lowest and highest y there."""
    order = np.argsort(x, kind="stable")
    return np.interp(at, x[order], y[order])


def long_curve(n=400_000, seed=0):
    rng = np.random.default_rng(seed)
    steps = rng.random((2, n)) * (rng.random((2, n)) < 0.5)
    x, y = np.cumsum(steps, axis=1)
    return x / x[-1], 1.0 - y / y[-1]


def test_straight_stretches_lose_their_middle():
    x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 3.0, 3.0])
    y = np.array([0.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 5.0])
    grid = np.linspace(0, 5, 100)
    kept = thin(x, y, grid, grid)
    assert kept.tolist() == [0, 2, 5, 7]
    assert area(x[kept], y[kept]) == area(x, y)


@pytest.mark.parametrize("data", [fp.simulate.gaussian_classes(3000, seed=1)])
def test_curves_of_thousands_are_exact(data):
    curve = fp.roc(fp.Predictions.from_log_posteriors(data.y_true, data.mcs))
    kept = thin(curve.p_fa, curve.p_miss, rate_grid(), rate_grid())
    assert kept.size < curve.p_fa.size
    assert area(curve.p_fa[kept], curve.p_miss[kept]) == pytest.approx(
        area(curve.p_fa, curve.p_miss), rel=1e-14
    )
    gone = np.setdiff1d(np.arange(curve.p_fa.size), kept)
    before = kept[np.searchsorted(kept, gone) - 1]
    after = kept[np.searchsorted(kept, gone)]
    level = (curve.p_fa[gone] == curve.p_fa[before]) & (curve.p_fa[gone] == curve.p_fa[after])
    upright = (curve.p_miss[gone] == curve.p_miss[before]) & (
        curve.p_miss[gone] == curve.p_miss[after]
    )
    assert (level | upright).all()


@pytest.mark.parametrize("falling", [False, True])
def test_dropped_vertices_lie_within_a_cell_of_what_is_drawn(falling):
    x, y = long_curve()
    if falling:
        x, y = x[::-1], y[::-1]
    grid = rate_grid()
    kept = thin(x, y, grid, grid)
    assert kept[0] == 0
    assert (x[kept[-1]], y[kept[-1]]) == (x[-1], y[-1])
    assert kept.size < x.size / 4
    # between neighbors the curve leaves no cell: the corners of each dropped run share one
    gone = np.setdiff1d(np.arange(kept[-1]), kept)
    low, high = (kept[np.searchsorted(kept, gone) + shift] for shift in (-1, 0))
    cell = np.stack([np.searchsorted(grid, values) for values in (x, y)])
    together = (cell[:, low] == cell[:, gone]).all(axis=0) & (cell[:, gone] == cell[:, high]).all(
        axis=0
    )
    straight = (x[low] == x[high]) | (y[low] == y[high])
    again = np.zeros(gone.size, bool)  # the very point of a neighbor
    for other in (low, high):
        again |= (x[gone] == x[other]) & (y[gone] == y[other])
    assert (together | straight | again).all()
    assert area(x[kept], y[kept]) == pytest.approx(area(x, y), abs=1e-4)
    at = np.linspace(0.01, 0.99, 999)
    np.testing.assert_allclose(on_full(x[kept], y[kept], at), on_full(x, y, at), atol=2.5e-4)


def test_grids():
    assert (np.diff(rate_grid()) > 0).all()
    assert rate_grid()[0] == 0.0
    assert rate_grid()[-1] == 1.0
    assert span_grid(np.empty(0)).tolist() == [0.0]
    assert span_grid(np.array([2.0, 5.0]))[[0, -1]].tolist() == [2.0, 5.0]


def test_thinned_drawing_has_the_pixels_of_the_full_one():
    rng = np.random.default_rng(3)
    y = np.arange(300_000) % 2
    curve = fp.roc(fp.Predictions.from_raw_scores(y, rng.normal(size=y.size) + y))
    thinned = fp.plotting.det(curve, ax=Figure().subplots())
    full = fp.plotting.det(curve, ax=Figure().subplots())
    full.lines[0].set_data(curve.p_fa, curve.p_miss)
    images = []
    for ax in (thinned, full):
        figure = ax.figure
        figure.set_dpi(100)
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        images.append(np.asarray(canvas.buffer_rgba()).astype(int))
    assert thinned.lines[0].get_xdata().size < curve.p_fa.size / 4
    difference = np.abs(images[0] - images[1])
    assert (difference > 64).mean() < 1e-4  # but for the rounding of antialiased edges


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.005, 0.5])
def test_curves_of_millions_have_few_vertices(share):
    rng = np.random.default_rng(0)
    y = (rng.random(2_000_000) < share).astype(np.uint8)
    data = fp.Predictions.from_llrs(y, 2 * rng.normal(size=y.size) + np.where(y, 2.0, -2.0))
    for draw in (fp.plotting.det, fp.plotting.roc, fp.plotting.tippett, fp.plotting.pav_map):
        line = draw(data, ax=Figure().subplots()).lines[0]
        assert 100 < line.get_xdata().size < 100_000
