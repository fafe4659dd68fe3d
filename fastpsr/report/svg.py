"""Figures as SVG that can stand in a page beside others."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_LOOK: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "fastpsr",  # same figure, same file
    "text.usetex": False,
}
_INCHES = (4.7, 3.5)  # so small that text stays legible at the width of a phone
_CHILD = 0.7  # inches, of axes above the axes
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


@contextmanager
def new_axes() -> Iterator[Axes]:
    """Give axes to draw on in the look of reports, without pyplot and its list of open figures."""
    with matplotlib.rc_context(_LOOK), warnings.catch_warnings():
        # the reader's fonts count, not those of this machine
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield Figure(_INCHES, layout="constrained").subplots()


def make_room(ax: Axes) -> None:
    """Make the figure higher by its legend, and by axes above the axes."""
    assert isinstance(ax.figure, Figure)
    width, height = _INCHES
    height += _CHILD * len(ax.child_axes)
    height += sum(legend.get_window_extent().height for legend in ax.figure.legends) / ax.figure.dpi
    ax.figure.set_size_inches(width, height)


def inline_svg(ax: Axes, prefix: str, label: str) -> str:
    """Return the figure of some axes as an element of HTML.

    Parameters
    ----------
    ax : Axes
        From `new_axes`, within its block.
    prefix : str
        Of the ids, which must be unique in a page.
    label : str
        What is read out instead of the figure.
    """
    assert isinstance(ax.figure, Figure)
    layout = ax.figure.get_layout_engine()
    assert layout is not None  # of `new_axes`
    layout.execute(ax.figure)  # it changes the ticks, for which drawing makes room
    stream = io.BytesIO()
    ax.figure.savefig(stream, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(stream.getvalue())
    _simplify(root)
    _prefix_ids(root, prefix)
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "role": "img", "aria-label": label})
    return ElementTree.tostring(root, encoding="unicode")


def _simplify(root: ElementTree.Element) -> None:
    """Leave out namespaces, metadata, styles of the whole page, and digits that none can see."""
    for parent in root.iter():
        parent.tag = parent.tag.rpartition("}")[2]
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
        for name, value in list(parent.attrib.items()):
            del parent.attrib[name]
            if name == "d":
                value = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value)
                value = " ".join(value.split())
            parent.set(name.rpartition("}")[2], value)


def _prefix_ids(root: ElementTree.Element, prefix: str) -> None:
    """Keep the ids that something refers to, each with a prefix."""
    used = set()
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name == "href":
                used.add(value.removeprefix("#"))
                element.set(name, f"#{prefix}-{value.removeprefix('#')}")
            elif name != "id" and "url(#" in value:
                used.update(_REFERENCE.findall(value))
                element.set(name, _REFERENCE.sub(rf"url(#{prefix}-\1)", value))
    for element in root.iter():
        name = element.attrib.pop("id", "")
        if name in used:
            element.set("id", f"{prefix}-{name}")
