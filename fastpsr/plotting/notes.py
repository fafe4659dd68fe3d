"""What a figure says in words: a text in the axes, where it covers least."""

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from fastpsr.predictions import Floats

__all__ = ["notes_of", "take_notes", "write_notes"]

_GID = "fastpsr notes"
_WIDTH = 40  # characters
_INDENT = "  "  # of the lines that continue a note
_POINTS = 400  # along each line, to see what a text would hide
_MARGIN = 0.02
_PLACES = [(x, y) for y in (_MARGIN, 1.0 - _MARGIN) for x in (_MARGIN, 1.0 - _MARGIN, 0.5)]


def notes_of(ax: Axes) -> str:
    """Return what a figure says in words, nothing where it says nothing."""
    text = _written(ax)
    return "" if text is None else text.get_text()


def take_notes(ax: Axes) -> str:
    """Return what a figure says in words, a line each, and remove it from the axes."""
    text = _written(ax)
    if text is None:
        return ""
    text.remove()
    return text.get_text().replace(f"\n{_INDENT}", " ")


def write_notes(ax: Axes, notes: list[str], *, alone: bool) -> None:
    """Add notes to those on the axes; in the middle if they are `alone` there."""
    lines = [
        textwrap.fill(note, _WIDTH, break_on_hyphens=False, subsequent_indent=_INDENT)
        for note in notes
    ]
    text = _written(ax)
    if text is None:
        text = ax.text(
            0.5, 0.5, "", transform=ax.transAxes, fontsize="small", color="0.2", gid=_GID,
            zorder=5.0, parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
    said = text.get_text().split("\n") if text.get_text() else []
    new = [line for note in lines if note not in text.get_text() for line in note.split("\n")]
    text.set_text("\n".join([*said, *new]))
    if alone:
        _move(text, (0.5, 0.5))
        return
    paths, legend = _paths(ax), ax.get_legend()
    taken = None if legend is None else legend.get_window_extent()
    hidden = []
    for place in _PLACES:
        _move(text, place)
        box = text.get_window_extent()
        hides_legend = taken is not None and box.overlaps(taken)
        hidden.append((hides_legend, _count_hidden(paths, box)))
    _move(text, _PLACES[hidden.index(min(hidden))])


def _written(ax: Axes) -> Text | None:
    return next((text for text in ax.texts if text.get_gid() == _GID), None)


def _move(text: Text, place: tuple[float, float]) -> None:
    text.set_position(place)
    text.set_horizontalalignment(_side(place[0], "left", "right"))
    text.set_verticalalignment(_side(place[1], "bottom", "top"))


def _side(share: float, low: Any, high: Any) -> Any:
    return "center" if share == 0.5 else low if share < 0.5 else high


def _paths(ax: Axes) -> list[Floats]:
    """Return points along what is drawn, in pixels, (P, 2) each."""
    ax.autoscale_view()  # limits are what they will be
    drawn: list[Any] = [*ax.lines, *ax.patches]
    paths = [artist.get_transform().transform_path(artist.get_path()) for artist in drawn]
    for area in ax.collections:
        if isinstance(area, PolyCollection):
            paths += [area.get_transform().transform_path(path) for path in area.get_paths()]
    return [_points_along(path.vertices) for path in paths if len(path.vertices)]


def _points_along(vertices: Any) -> Floats:
    places = np.linspace(0.0, len(vertices) - 1.0, _POINTS)
    known = np.arange(len(vertices))
    return np.column_stack([np.interp(places, known, column) for column in vertices.T])


def _count_hidden(paths: list[Floats], box: Bbox) -> int:
    low, high = box.min, box.max
    return sum(int(((low <= path) & (path <= high)).all(axis=1).sum()) for path in paths)
