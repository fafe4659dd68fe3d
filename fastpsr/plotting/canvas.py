"""Common parts of all figures: axes, colors, systems by name, notes, legends."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.colors import same_color
from matplotlib.lines import Line2D

from fastpsr.errors import ArgumentError
from fastpsr.plotting.notes import write_notes
from fastpsr.plotting.systems import as_mapping, check_system
from fastpsr.predictions import Floats, Predictions

__all__ = ["COLORS", "GRAY", "LLR", "PRIOR", "Canvas", "is_guide", "reaches"]

#: Okabe and Ito's colors, told apart with any kind of color vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: Labels of axes: logarithms are natural in all figures.
PRIOR = "Prior log-odds of a target (natural logarithm)"
LLR = "LLR (natural logarithm)"
GRAY = "0.45"
_GUIDE = "fastpsr guide"

Result = TypeVar("Result")


class Canvas(Generic[Result]):
    """Axes on which systems are drawn one after the other.

    Parameters
    ----------
    ax : matplotlib Axes or None
        None makes a new figure.
    options : dict
        Keywords for the artists, as the caller of the figure gave them.
    artist : type
        Of the artists, which knows aliases such as ``lw``.
    """

    def __init__(
        self, ax: Axes | None, options: Mapping[str, Any], artist: type[Any] = Line2D
    ) -> None:
        if ax is not None and not isinstance(ax, Axes):
            raise ArgumentError("ax", f"must be matplotlib Axes or None, not {type(ax).__name__}")
        self.options: dict[str, Any] = normalize_kwargs(dict(options), artist)
        self._ax = ax
        self._kept_top = ax.get_ylim()[1] if ax is not None and ax.lines else 0.0
        drawn = [] if ax is None else [line for line in ax.lines if not is_guide(line)]
        self._had_some = ax is not None and bool(drawn or ax.patches)
        self._notes: list[str] = []
        self._n_drawn = 0

    @property
    def kept_top(self) -> float:
        """Upper end of axes that other systems were drawn on before, else 0."""
        return self._kept_top

    @property
    def ax(self) -> Axes:
        """The axes; made when they are first drawn on, so that wrong input leaves no figure."""
        if self._ax is None:
            import matplotlib.pyplot as plt

            _, self._ax = plt.subplots(layout="constrained")
        return self._ax

    def systems(
        self,
        given: Any,
        kind: Any,
        make: Callable[[Predictions], Result] | None = None,
        *,
        calibrated: bool = False,
        problem: Callable[[Result], str] = lambda result: "",
    ) -> Iterator[tuple[str, Result]]:
        """Yield names and results; note in words why a system cannot be drawn.

        Parameters
        ----------
        given : result, Predictions, or mapping of names to these
        kind : type
            Of the results.
        make : callable, optional
            What makes a result of binary predictions; without, no predictions are taken.
        calibrated : bool
            Whether raw scores are of no use.
        problem : callable
            Returns a reason to skip a result, or "".
        """
        named = as_mapping(given)
        for name, value in named.items():
            check_system(name, value, kind, make is not None, calibrated)
        for name, value in named.items():
            if isinstance(value, kind):
                result: Result = value
            else:
                assert make is not None
                try:
                    result = make(value)
                except ValueError as error:  # what these data do not allow
                    self.note(name, str(error))
                    continue
            why = problem(result)
            if why:
                self.note(name, why)
                continue
            yield name, result

    def style(self, name: str, **defaults: Any) -> dict[str, Any]:
        """Return keywords for a system's artist: own color and label, then what was given."""
        self._n_drawn += 1
        shown = f"\u200b{name}" if name.startswith("_") else name  # else hidden in legends
        return {"color": self.next_color(), "label": shown or None, **defaults, **self.options}

    def next_color(self) -> str:
        """Return the first color that no line on the axes has."""
        drawn = [line.get_color() for line in self.ax.lines if not is_guide(line)]
        for patch in self.ax.patches:
            drawn += [patch.get_facecolor(), patch.get_edgecolor()]
        for color in COLORS:
            if not any(same_color(color, other) for other in drawn):
                return color
        return COLORS[len(drawn) % len(COLORS)]

    def note(self, name: str, words: str) -> None:
        """Add a note about a system, to be written into the figure."""
        self._notes.append(f"{name}: {words}" if name else words)

    def guide(self, name: str, x: Any, y: Any, **style: Any) -> None:
        """Draw a gray line, such as the identity, unless it is there already.

        An empty line is a key in the legend.
        """
        gid = f"{_GUIDE} {name}"
        if all(line.get_gid() != gid for line in self.ax.lines):
            look = {"color": GRAY, "linewidth": 1.0, "label": name, "zorder": 1.0, **style}
            self.ax.add_artist(Line2D(x, y, gid=gid, **look))  # which bounds no view

    def key(self, name: str, **style: Any) -> None:
        """Add an entry to the legend."""
        self.guide(name, [], [], **style)

    def finish(self, x_label: str, y_label: str, *, legend: Any = "best") -> Axes:
        """Label the axes, write the notes, add a legend."""
        self.ax.set_xlabel(x_label)
        self.ax.set_ylabel(y_label)
        handles, labels = self.ax.get_legend_handles_labels()
        if handles:
            order = sorted(range(len(labels)), key=lambda place: _is_of_guide(handles[place]))
            shown = self.ax.legend(
                [handles[place] for place in order], [labels[place] for place in order],
                loc=legend, fontsize="small", framealpha=0.8,
            )  # fmt: skip
            for text in shown.get_texts():
                text.set_parse_math(False)
        if self._notes:  # which keep clear of the legend
            write_notes(self.ax, self._notes, alone=not self._n_drawn and not self._had_some)
        return self.ax


def is_guide(line: Line2D) -> bool:
    """Whether a line is a guide or a key of the legend, not a system's."""
    return (line.get_gid() or "").startswith(_GUIDE)


def reaches(values: Floats, most: float) -> float:
    """Return an upper limit for the finite values, with a little space, and at most so high."""
    return min(1.05 * float(values[np.isfinite(values)].max(initial=0.0)), most)


def _is_of_guide(handle: Any) -> bool:
    return isinstance(handle, Line2D) and is_guide(handle)
