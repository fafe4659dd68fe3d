"""Shared by the tests of figures: data, and what axes hold."""

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

import fastpsr as fp  # noqa: E402


def detector(seed=0, n=400, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return fp.Predictions.from_llrs(y, 2 * rng.normal(size=n) + shift * np.where(y, 2.0, -2.0))


def several(n=300, n_classes=3, **options):
    y = np.arange(n) % n_classes
    logits = np.random.default_rng(0).normal(size=(n, n_classes)) + 2.0 * np.eye(n_classes)[y]
    return fp.Predictions.from_logits(y, logits, **options)


def draw(name, systems, *, ax=None, size=(6.4, 4.8), **options):
    """The axes of a figure; of a new one without `ax`."""
    ax = FigureCanvasAgg(Figure(size)).figure.subplots() if ax is None else ax
    assert getattr(fp.plotting, name)(systems, ax=ax, **options) is ax
    return ax


def laid_out(ax):
    """The axes after texts and ticks have their places."""
    ax.figure.draw_without_rendering()
    return ax


def is_guide(line):
    """Whether a line is a guide or a key of the legend, which no system has."""
    return (line.get_gid() or "").startswith("fastpsr guide")


def lines_of(ax):
    """The lines of the systems."""
    return [line for line in ax.lines if not is_guide(line)]


def legend_of(ax):
    """The legend of the figure, of which there is one."""
    (legend,) = ax.figure.legends
    return legend


def labels_of(ax):
    return [text.get_text() for text in legend_of(ax).get_texts()]


def notes_of(ax):
    """What the figure says below the axes, in one line."""
    texts = [text.get_text() for text in ax.texts if text.get_gid() == "fastpsr notes"]
    assert len(texts) < 2
    return " ".join(" ".join(texts).split())
