"""Common parts of all figures: axes, colors, bands, limits, legends and notes."""

import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fastpsr.bootstrap import Band
from fastpsr.data import Floats, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.plotting.systems import as_mapping, check_system

#: Okabe and Ito's colors, told apart with any kind of color vision, then three of Tol's.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255",
          "#999933", "#332288")  # fmt: skip
#: Labels of axes: logarithms are natural in all figures.
PRIOR = "Prior log-odds of a target (natural logarithm)"
LLR = "LLR (natural logarithm)"
GRAY = "0.45"
#: Lines of the first series of systems, and of the second, as often as all colors were used.
_LINES = (("-", "--"), ("-.", ":"))
_LEGEND_WIDTH = 15  # characters of a legend to an inch of the figure
_NOTE_WIDTH = 17  # characters of a note
_LABEL_WIDTH = 13.5  # characters of the label of an axis
_HANDLE_WIDTH = 6  # characters that a handle and the space around it take
_BELOW = 36.0  # points from the axes down to what is below the label of the x axis
_TILTED_HEIGHT = 2.5  # points of a character at 30 degrees
_LABEL_ROW = 12.0  # points
_MOST = 3.0  # times what is usual: wider systems do not stretch the axes
_INDENT = "  "  # of the lines that continue a note
#: Ids of artists, by which further calls on the same axes know them.
_SYSTEM, _GUIDE, _LEGEND, _NOTES = (
    f"fastpsr {kind}" for kind in ("system", "guide", "legend", "notes")
)

#: A band of a single system, or bands by the names of the systems.
Bands = Band | Mapping[str, Band] | None

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
        self._n_drawn = 0 if ax is None else _n_systems(ax)  # by all calls on these axes
        lines = [] if ax is None else [line for line in ax.lines if not is_guide(line)]
        self._had_some = ax is not None and bool(lines or ax.patches)  # which stay in view
        self.kept_bottom, self.kept_top = self.ax.get_ylim() if self._had_some else (1.0, 0.0)
        self._notes: list[str] = []
        self._n_given = 1
        self.bands: dict[str, Band] = {}

    @property
    def ax(self) -> Axes:
        """The axes; made when they are first drawn on, so that wrong input leaves no figure."""
        if self._ax is None:
            import matplotlib.pyplot as plt

            _, self._ax = plt.subplots(layout="constrained")
        return self._ax

    @property
    def alpha(self) -> float:
        """Opacity of bands: less the more systems there are."""
        return min(0.2, 0.8 / max(self._n_given, 1))

    @property
    def width(self) -> float:
        """Width of the axes, in inches."""
        return float(self.ax.bbox.width / self.ax.figure.dpi)

    def systems(
        self,
        inputs: Any,
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
        named = as_mapping(inputs)
        self._n_given = len(named)
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
        label = f"\u200b{name}" if name.startswith("_") else name  # else hidden in legends
        line, _ = _LINES[self._n_drawn // len(COLORS) % len(_LINES)]
        look = {"color": COLORS[self._n_drawn % len(COLORS)], "gid": f"{_SYSTEM} {self._n_drawn}"}
        look |= {"linestyle": line} if line != "-" else {}
        self._n_drawn += 1
        return {**look, "label": label or None, **defaults, **self.options}

    def limit_scores(self, spans: Mapping[str, tuple[float, float]]) -> None:
        """End the x axis where usual systems do, and note which go beyond."""
        if not spans:
            return
        low, high, beyond = common_span(spans)
        margin = 0.05 * (high - low) or 0.5
        low, high = low - margin, high + margin
        if self._had_some:
            before = self.ax.get_xlim()
            low, high = min(low, *before), max(high, *before)
        for name in beyond:
            if spans[name][0] < low or spans[name][1] > high:
                ends = " to ".join(f"{end:.3g}" for end in spans[name])
                self.note(name, f"scores of {ends} lie beyond the axes in part")
        self.ax.set_xlim(low, high)

    def limit_heights(self, tops: Mapping[str, float], what: str) -> None:
        """End the y axis, from 0, where usual systems do, and note which go beyond."""
        top = max(1.05 * common_end(tops.values()) if tops else 0.0, self.kept_top)
        self.end_at(top, tops, what)

    def end_at(self, top: float, tops: Mapping[str, float], what: str) -> None:
        """End the y axis, from 0, and note which systems go beyond."""
        for name, end in tops.items():
            if end > top:
                self.note(name, f"{what} reaches {end:.3g}, beyond the axes")
        self.ax.set_ylim(0.0, top or None)

    def take_bands(self, bands: Bands, systems: Any, curve: Callable[..., Any]) -> None:
        """Take bands by the names of the systems, which must be of a curve."""
        if bands is None:
            return
        named = as_mapping(systems)
        self.bands = dict(bands) if isinstance(bands, Mapping) else {"": bands}
        for name, band in self.bands.items():
            if not isinstance(band, Band) or band.curve != curve.__name__:
                kind = band.curve if isinstance(band, Band) else type(band).__name__
                raise ArgumentError(
                    "band",
                    f"must be made by fp.band(fp.{curve.__name__}, predictions), or be a mapping "
                    f"of names of systems to these, not {kind}",
                )
            if name not in named:
                names = ", ".join(map(repr, named)) if any(named) else "a single one without a name"
                raise ArgumentError("band", f"must have names of systems ({names}), not {name!r}")

    def draw(
        self, name: str, result: Result, x: Callable[[Any], Floats], y: Callable[[Any], Floats],
        style: Mapping[str, Any] | None = None, *, in_order: bool = False,
    ) -> Line2D:  # fmt: skip
        """Draw a curve of a system, and its band, if it has one, in the same color.

        Points may be sorted, `in_order` of x.
        """
        look = self.style(name) if style is None else style
        order = np.argsort(x(result), kind="stable") if in_order else slice(None)
        (line,) = self.ax.plot(x(result)[order], y(result)[order], **look)
        if name in self.bands:
            band = self.bands[name]
            self.fill(name, line, band, x(band.low), y(band.low), y(band.high))
        return line

    def fill(
        self, name: str, artist: Any, band: Band, x: Floats, low: Floats, high: Floats
    ) -> None:
        """Fill a band, and note how many replicates it leaves out.

        Where it is infinite it is filled to the ends of the axes as they are.
        """
        bottom, top = self.ax.get_ylim()
        order = np.argsort(x, kind="stable")
        low, high = (np.nan_to_num(side[order], nan=np.nan, posinf=top, neginf=bottom)
                     for side in (low, high))  # fmt: skip
        color = artist.get_color()
        self.ax.fill_between(x[order], low, high, color=color, alpha=self.alpha, linewidth=0.0)
        if band.n_undefined:
            self.note(name, f"a class is missing in {band.n_undefined} replicates of the band")

    def note(self, name: str, words: str) -> None:
        """Add a note about a system, to be written into the figure."""
        note = f"{name}: {words}" if name else words
        self._notes += [] if note in self._notes else [note]

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

    def finish(self, x_label: str, y_label: str, *, tilted: str = "") -> Axes:
        """Label the axes, and add the notes below, and the legend of the figure.

        `tilted` is the longest label of a tick if these are tilted.
        """
        height = float(self.ax.bbox.height / self.ax.figure.dpi)
        x_label, y_label = _wrapped(x_label, self.width), _wrapped(y_label, height)
        self.ax.set_xlabel(x_label)
        self.ax.set_ylabel(y_label)
        _write_legend(self.ax.figure)
        is_empty = not (self._n_drawn or self._had_some)
        below = _BELOW + _LABEL_ROW * x_label.count("\n") + _TILTED_HEIGHT * len(tilted)
        _write_notes(self.ax, self._notes, self.width, below=None if is_empty else below)
        figure = self.ax.figure
        if isinstance(figure, Figure) and figure.get_layout_engine() is None:
            figure.set_layout_engine("constrained")  # which makes room for what is below
        return self.ax


def second(style: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords for the second line of a system, which is not in the legend."""
    lines = dict(_LINES)
    return {**style, "linestyle": lines.get(style.get("linestyle", "-"), "--"), "label": None}


def _wrapped(label: str, inches: float) -> str:
    """Return the label of an axis in as many lines as its length takes."""
    return textwrap.fill(label, max(int(_LABEL_WIDTH * inches), 12), break_long_words=False)


def _n_systems(ax: Axes) -> int:
    """Return how many systems are on the axes, of which some have several artists."""
    ids = {artist.get_gid() or "" for artist in (*ax.lines, *ax.patches)}
    return sum(gid.startswith(_SYSTEM) for gid in ids)


def is_guide(artist: Any) -> bool:
    """Whether an artist is a guide or a key of the legend, not a system's."""
    return isinstance(artist, Line2D) and (artist.get_gid() or "").startswith(_GUIDE)


def reaches(values: Floats, most: float) -> float:
    """Return an upper limit for the finite values, with a little space, and at most so high."""
    return min(1.05 * float(values[np.isfinite(values)].max(initial=0.0)), most)


def common_end(ends: Collection[float]) -> float:
    """Return the highest of the ends that is at most 3 times the lower median.

    Examples
    --------
    >>> common_end([1.0, 2.0, 40.0]), common_end([40.0])
    (2.0, 40.0)
    """
    usual = sorted(ends)[(len(ends) - 1) // 2]
    return max(end for end in ends if end <= max(_MOST * usual, usual))


def common_span(spans: Mapping[str, tuple[float, float]]) -> tuple[float, float, list[str]]:
    """Return the range of the systems at most 3 times as wide as usual, and the names of others.

    Examples
    --------
    >>> common_span({"A": (-4.0, 5.0), "B": (-80.0, 90.0), "C": (-6.0, 4.0)})
    (-6.0, 5.0, ['B'])
    """
    widths = {name: high - low for name, (low, high) in spans.items()}
    widest = common_end(widths.values())
    kept = [spans[name] for name, width in widths.items() if width <= widest]
    low, high = min(low for low, _ in kept), max(high for _, high in kept)
    return low, high, [name for name, (a, b) in spans.items() if a < low or b > high]


def take_notes(ax: Axes) -> str:
    """Return what a figure says in words, a line each, and remove it from the figure."""
    notes = ""
    for text in [text for text in ax.texts if text.get_gid() == _NOTES]:
        notes = text.get_text()
        text.remove()
    return notes.replace(f"\n{_INDENT}", " ")


def _write_notes(ax: Axes, notes: list[str], width: float, *, below: float | None) -> None:
    """Add notes to those of the axes, so many points below; None: within, where nothing else is."""
    lines_before = take_notes(ax).splitlines()
    lines_before += [note for note in notes if note not in lines_before]
    if not lines_before:
        return
    lines = [
        textwrap.fill(note, max(int(_NOTE_WIDTH * width), 24), break_on_hyphens=False,
                      subsequent_indent=_INDENT)
        for note in lines_before
    ]  # fmt: skip
    place: dict[str, Any] = {"xytext": (0.0, 0.0), "ha": "center", "va": "center"}
    if below is not None:
        place = {"xytext": (0.0, -below), "ha": "left", "va": "top"}
    ax.annotate(
        "\n".join(lines), (0.5, 0.5) if below is None else (0.0, 0.0), xycoords="axes fraction",
        textcoords="offset points", fontsize="small", color="0.2", gid=_NOTES, parse_math=False,
        annotation_clip=False, **place,
    )  # fmt: skip


def _write_legend(figure: Any) -> None:
    """Give a figure one legend of the systems, then the guides, of all its axes, below these."""
    for before in [legend for legend in figure.legends if legend.get_gid() == _LEGEND]:
        before.remove()
    entries: list[tuple[Any, str]] = []
    for ax in figure.axes:
        labels_before = {label for _, label in entries}  # panels show the same systems
        handles_and_labels = zip(*ax.get_legend_handles_labels(), strict=True)
        entries += [
            (handle, label) for handle, label in handles_and_labels if label not in labels_before
        ]
    if not entries:
        return
    handles, labels = zip(*sorted(entries, key=lambda entry: is_guide(entry[0])), strict=True)
    width = int(_LEGEND_WIDTH * figure.bbox.width / figure.dpi)
    legend = figure.legend(
        handles, labels, loc="outside lower center", fontsize="small", frameon=False,
        ncols=max(1, width // (max(map(len, labels)) + _HANDLE_WIDTH)), columnspacing=1.2,
    )  # fmt: skip
    legend.set_gid(_LEGEND)
    for text in legend.get_texts():
        text.set_parse_math(False)
