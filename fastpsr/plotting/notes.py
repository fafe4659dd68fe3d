"""What a figure says in words: a text below the axes."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation

_GID = "fastpsr notes"
#: Of the lines that continue a note.
INDENT = "  "


def notes_of(ax: Axes) -> str:
    """Return what a figure says in words, nothing where it says nothing."""
    text = _written(ax)
    return "" if text is None else text.get_text()


def take_notes(ax: Axes) -> str:
    """Return what a figure says in words, a line each, and remove it from the figure."""
    text = _written(ax)
    if text is None:
        return ""
    text.remove()
    return text.get_text().replace(f"\n{INDENT}", " ")


def write_notes(ax: Axes, notes: list[str], *, below: float | None) -> None:
    """Add notes to those of the axes, so many points below; None: within, where nothing else is."""
    before = _written(ax)
    said = before.get_text().split("\n") if before is not None else []
    said += [line for note in notes if note not in "\n".join(said) for line in note.split("\n")]
    if before is not None:
        before.remove()
    if not said:
        return
    place: dict[str, Any] = {"xytext": (0.0, 0.0), "ha": "center", "va": "center"}
    if below is not None:
        place = {"xytext": (0.0, -below), "ha": "left", "va": "top"}
    ax.annotate(
        "\n".join(said), (0.5, 0.5) if below is None else (0.0, 0.0), xycoords="axes fraction",
        textcoords="offset points", fontsize="small", color="0.2", gid=_GID, parse_math=False,
        annotation_clip=False, **place,
    )  # fmt: skip


def _written(ax: Axes) -> Annotation | None:
    return next(
        (text for text in ax.texts if text.get_gid() == _GID and isinstance(text, Annotation)),
        None,
    )
