"""Common parts of all figures: their input, axes, colors, bands, limits, legends and notes."""

import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import AutoLocator, FuncFormatter
from numpy.typing import ArrayLike

from fastpsr.bootstrap import Band
from fastpsr.checks import check_instance
from fastpsr.counts.bins import Events
from fastpsr.counts.decisions import SPOOFED, kinds_of
from fastpsr.data import Floats, Part, Predictions
from fastpsr.data.one_class import one_against_rest
from fastpsr.errors import ArgumentError
from fastpsr.options import CALL_TO_MAKE

On = Literal["class", "confidence"]
#: Which trials of a system are spoofed, or of systems by name.
Spoof = ArrayLike | Mapping[str, ArrayLike] | None
#: Colors of Okabe and Ito, distinct for all kinds of color vision, then three of Tol.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255",
          "#999933", "#332288")  # fmt: skip
#: Labels of axes: logarithms are natural in all figures, unless `in_base_10` changes them.
PRIOR = "Prior log-odds of a target (natural logarithm)"
LLR = "LLR (natural logarithm)"
GRAY = "0.45"
#: Lines of the series of a system, in the key.
LINES: tuple[Any, ...] = ("-", "--", (0.0, (1.0, 1.5)))
_SECOND = {"-": "--", "-.": ":"}  # line of the second series, by that of the first
_LEGEND_WIDTH = 15  # characters of a legend to an inch of the figure
_NOTE_WIDTH = 17  # characters of a note
_LABEL_WIDTH = 13.5  # characters of the label of an axis
_HANDLE_WIDTH = 6  # characters that a handle and the space around it take
_MOST = 3.0  # times the median: systems with a wider range do not stretch the axes
_INDENT = "  "  # of the lines that continue a note
#: Ids by which further calls on the same axes recognize artists.
_SYSTEM, _GUIDE, _LEGEND, _NOTES = (
    f"fastpsr {kind}" for kind in ("system", "guide", "legend", "notes")
)

#: A band of a single system, or bands by the names of the systems.
Bands = Band | Mapping[str, Band] | None

Result = TypeVar("Result")

#: Results, or predictions that they are computed from; of a single system, or by name.
Systems: TypeAlias = Result | Predictions | Mapping[str, Result | Predictions]


class Canvas:
    """Axes on which systems are drawn one after the other.

    Parameters
    ----------
    ax : matplotlib Axes or None
        None makes a new figure.
    options : dict
        Keywords for the artists, as the caller of the figure gave them.
    artist : type
        Type of the artists, which defines aliases such as ``lw``.

    Attributes
    ----------
    view : tuple of float
        Range that stays in view, because the axes already show data there: left, right, bottom,
        top.
    systems : dict of str to result or Predictions
        What `results` was given, by name.
    bands : dict of str to Band
        Bands by the names of the systems.
    """

    def __init__(
        self, ax: Axes | None, options: Mapping[str, Any], artist: type[Any] = Line2D
    ) -> None:
        check_instance("ax", ax, (Axes, type(None)), "matplotlib Axes or None")
        self.options: dict[str, Any] = normalize_kwargs(dict(options), artist)
        self.systems: dict[str, Any] = {}
        self.bands: dict[str, Band] = {}
        self.view = (np.inf, -np.inf, np.inf, -np.inf)
        self._ax, self._notes = ax, list[str]()
        self._n_drawn = 0
        if ax is not None and ax.has_data():
            self.view = (*ax.get_xlim(), *ax.get_ylim())
            ids = {artist.get_gid() or "" for artist in (*ax.lines, *ax.patches)}
            self._n_drawn = sum(gid.startswith(_SYSTEM) for gid in ids)

    @property
    def ax(self) -> Axes:
        """The axes, created at first use, so that invalid input leaves no empty figure."""
        if self._ax is None:
            import matplotlib.pyplot as plt

            _, self._ax = plt.subplots(layout="constrained")
        return self._ax

    @property
    def width(self) -> float:
        """Width of the axes, in inches."""
        return float(self.ax.bbox.width / self.ax.figure.dpi)

    def results(
        self,
        systems: Any,
        kind: Any,
        make: Callable[[Predictions], Result] | None = None,
        *,
        band: Bands = None,
        class_: int | str | None = None,
        calibrated: bool = False,
        problem: Callable[[Result], str] = lambda result: "",
    ) -> dict[str, Result]:
        """Return the results to draw, by name; add a note for each system that cannot be drawn.

        Parameters
        ----------
        systems : result, Predictions, or mapping of names to these
        kind : type
            Type of the results.
        make : callable, optional
            Computes a result from binary predictions; without it, predictions are refused.
        band : Band, or mapping of names to Band, optional
            Bands of the curve that `make` returns.
        class_ : int or str, optional
            Class against the rest that predictions are taken as.
        calibrated : bool
            Whether raw scores are refused.
        problem : callable
            Returns a reason to skip a result, or "".
        """
        self.systems = as_mapping(systems, class_)
        if band is not None and make is not None:
            self.bands = _checked_bands(band, self.systems, make.__name__)
        for name, value in self.systems.items():
            check_system(name, value, kind, make is not None, calibrated)
        results: dict[str, Result] = {}
        for name, value in self.systems.items():
            try:
                result = value if isinstance(value, kind) or make is None else make(value)
                reason = problem(result)
            except ValueError as error:  # what these data do not allow
                reason = str(error)
            if reason:
                self.note(name, reason)
            else:
                results[name] = result
        return results

    def style(self, name: str, **defaults: Any) -> dict[str, Any]:
        """Return keywords for the artist of a system: its color and label, then the user's."""
        label = f"\u200b{name}" if name.startswith("_") else name  # else hidden in legends
        n_rounds, place = divmod(self._n_drawn, len(COLORS))
        look = {"color": COLORS[place], "gid": f"{_SYSTEM} {self._n_drawn}", "label": label or None}
        look |= {"linestyle": "-."} if n_rounds % 2 else {}
        self._n_drawn += 1
        return {**look, **defaults, **self.options}

    def draw(
        self, name: str, result: Any, x: Callable[[Any], Floats], y: Callable[[Any], Floats],
        style: Mapping[str, Any] | None = None,
    ) -> Line2D:  # fmt: skip
        """Draw a curve of a system, and its band, if it has one, in the same color."""
        look = self.style(name) if style is None else style
        (line,) = self.ax.plot(x(result), y(result), **look)
        if name in self.bands:
            band = self.bands[name]
            self.fill(name, line, x(band.low), y(band.low), y(band.high))
        return line

    def fill(self, name: str, line: Line2D, x: Floats, low: Floats, high: Floats) -> None:
        """Fill the band of a system, and note how many replicates it leaves out.

        Infinite ends are drawn at the present limits of the axes. The more systems there are, the
        more transparent the bands are.
        """
        bottom, top = self.ax.get_ylim()
        low, high = (
            np.nan_to_num(end, nan=np.nan, posinf=top, neginf=bottom) for end in (low, high)
        )
        alpha = min(0.2, 0.8 / len(self.systems))
        self.ax.fill_between(x, low, high, color=line.get_color(), alpha=alpha, linewidth=0.0)
        n_undefined = self.bands[name].n_undefined if name in self.bands else 0
        if n_undefined:
            self.note(name, f"the band leaves out {n_undefined} replicates that lack a class")

    def limit_scores(self, spans: Mapping[str, tuple[float, float]]) -> None:
        """Limit the x axis to the range of most systems, and note which systems exceed it."""
        if not spans:
            return
        widest = common_end([high - low for low, high in spans.values()])
        usual = [(low, high) for low, high in spans.values() if high - low <= widest]
        first, last = min(low for low, _ in usual), max(high for _, high in usual)
        margin = 0.05 * (last - first) or 0.5
        left, right = min(first - margin, self.view[0]), max(last + margin, self.view[1])
        for name, (low, high) in spans.items():
            if low < left or high > right:
                self.note(name, f"scores from {low:.3g} to {high:.3g} lie partly beyond the axes")
        self.ax.set_xlim(left, right)

    def limit_heights(self, end: float, tops: Mapping[str, float], what: str) -> None:
        """Limit the y axis to 0 up to an end, and note which systems exceed it."""
        end = max(end, self.view[3])
        for name, top in tops.items():
            if top > end:
                self.note(name, f"{what} reaches {top:.3g}, beyond the axes")
        self.ax.set_ylim(0.0, end or None)

    def note(self, name: str, words: str) -> None:
        """Add a note about a system, which `finish` writes below the axes."""
        self._notes.append(f"{name}: {words}" if name else words)

    def guide(self, name: str, x: Any, y: Any, **style: Any) -> None:
        """Draw a gray reference line, such as the identity, unless the axes have it already."""
        gid = f"{_GUIDE} {name}"
        if all(line.get_gid() != gid for line in self.ax.lines):
            look = {"color": GRAY, "linewidth": 1.0, "label": name, "zorder": 1.0, **style}
            self.ax.add_artist(Line2D(x, y, gid=gid, **look))  # without effect on the limits

    def key(self, name: str, **style: Any) -> None:
        """Add an entry to the legend."""
        self.guide(name, [], [], **style)

    def key_series(self, names: Iterable[str]) -> None:
        """Add the series that systems have to the legend, by their lines."""
        for name, line in zip(names, LINES, strict=False):
            self.key(name, linestyle=line)

    def finish(self, x_label: str, y_label: str) -> Axes:
        """Label the axes, and add the notes below, and the legend of the figure."""
        ax, figure = self.ax, self.ax.figure
        ax.set_xlabel(_wrapped(x_label, self.width))
        ax.set_ylabel(_wrapped(y_label, ax.bbox.height / figure.dpi))
        _write_legend(figure)
        _write_notes(ax, self._notes)
        if isinstance(figure, Figure) and figure.get_layout_engine() is None:
            figure.set_layout_engine("constrained")  # leaves space for legend and notes
        return ax


def second(style: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords for the second line of a system, without an entry in the legend."""
    line = _SECOND.get(style.get("linestyle", "-"), "--")
    return {**style, "linestyle": line, "label": None}


def common_end(ends: Collection[float]) -> float:
    """Return the highest of the ends that is at most 3 times the lower median; 0 without any.

    Examples
    --------
    >>> common_end([1.0, 2.0, 40.0]), common_end([40.0])
    (2.0, 40.0)
    """
    if not ends:
        return 0.0
    usual = sorted(ends)[(len(ends) - 1) // 2]
    return max(end for end in ends if end <= max(_MOST * usual, usual))


def take_notes(ax: Axes) -> str:
    """Return the notes of a figure, one per line, and remove them from the figure."""
    notes = ""
    for text in [text for text in ax.texts if text.get_gid() == _NOTES]:
        notes = text.get_text()
        text.remove()
    return notes.replace(f"\n{_INDENT}", " ")


class _Steps(AutoLocator):
    """Ticks at round numbers of units."""

    def __init__(self, unit: float) -> None:
        super().__init__()
        self._unit = unit

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return ticks between two numbers, in the unit of the data."""
        ticks = super().tick_values(vmin / self._unit, vmax / self._unit)
        return np.multiply(ticks, self._unit)


def in_base_10(ax: Axes) -> Axes:
    """Show the LLRs and log-odds of a figure as base-10 logarithms.

    Parameters
    ----------
    ax : Axes
        Of a finished figure of this module. Ticks and labels of the axes with natural logarithms
        are changed, and those of densities of LLRs; the drawn data and the notes stay natural.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0])
    >>> ax = fp.plotting.tippett(data, ax=Figure().subplots())
    >>> fp.plotting.in_base_10(ax).get_xlabel()
    'LLR (base-10 logarithm)'
    """
    x_label, y_label = (" ".join(label.split()) for label in (ax.get_xlabel(), ax.get_ylabel()))
    of_x, of_y = (int("(natural logarithm)" in label) for label in (x_label, y_label))
    if of_x and y_label.startswith("Density"):
        of_y = -1  # per unit of x
    for axis, power in (ax.xaxis, of_x), (ax.yaxis, of_y):
        if power:
            unit = float(np.log(10.0) ** power)
            axis.set_major_locator(_Steps(unit))
            axis.set_major_formatter(FuncFormatter(lambda x, _, unit=unit: f"{x / unit:.6g}"))
        axis.set_label_text(axis.get_label_text().replace("(natural", "(base-10"))
    if of_x and any("scores from" in text.get_text() for text in ax.texts):
        _write_notes(ax, ["scores in notes are natural logarithms"])
    return ax


def _checked_bands(bands: Bands, systems: Mapping[str, Any], curve: str) -> dict[str, Band]:
    """Return bands by the names of the systems; raise unless they are bands of the curve."""
    named: dict[str, Any] = as_mapping(bands)
    for name, band in named.items():
        kind = band.curve if isinstance(band, Band) else type(band).__name__
        if not isinstance(band, Band) or kind != curve:
            raise ArgumentError(
                "band",
                f"must be made by fp.band(fp.{curve}, predictions), or be a mapping of names of "
                f"systems to these, not {kind}",
            )
        if name not in systems:
            names = ", ".join(map(repr, systems)) if any(systems) else "a single one without a name"
            raise ArgumentError("band", f"must have names of systems ({names}), not {name!r}")
    return named


def _wrapped(label: str, inches: float) -> str:
    """Return the label of an axis, wrapped to the length of the axis."""
    return textwrap.fill(label, max(int(_LABEL_WIDTH * inches), 12), break_long_words=False)


def is_guide(artist: Any) -> bool:
    """Whether an artist is a guide or a key of the legend, and belongs to no system."""
    return isinstance(artist, Line2D) and (artist.get_gid() or "").startswith(_GUIDE)


def _write_notes(ax: Axes, notes: list[str]) -> None:
    """Add notes to the axes, below the label of the x axis and the present notes."""
    width = max(int(_NOTE_WIDTH * ax.bbox.width / ax.figure.dpi), 24)
    lines = dict.fromkeys([*take_notes(ax).splitlines(), *notes])
    if not lines:
        return
    wrapped = [
        textwrap.fill(line, width, break_on_hyphens=False, subsequent_indent=_INDENT)
        for line in lines
    ]
    ax.set_xlabel(ax.get_xlabel() or " ")  # notes stand below it: an empty label has no position
    ax.annotate(
        "\n".join(wrapped), (0.0, 0.0), xycoords=("axes fraction", ax.xaxis.label),
        xytext=(0.0, -4.0), textcoords="offset points", ha="left", va="top", fontsize="small",
        color="0.2", gid=_NOTES, parse_math=False, annotation_clip=False,
    )  # fmt: skip


def _write_legend(figure: Any) -> None:
    """Place one legend below the axes of a figure: the systems of all axes, then the guides."""
    for legend in [legend for legend in figure.legends if legend.get_gid() == _LEGEND]:
        legend.remove()
    entries: list[tuple[str, Any]] = []
    for ax in figure.axes:
        labels_before = {label for label, _ in entries}  # panels show the same systems
        handles_and_labels = zip(*ax.get_legend_handles_labels(), strict=True)
        entries += [(label, h) for h, label in handles_and_labels if label not in labels_before]
    if not entries:
        return
    labels, handles = zip(*sorted(entries, key=lambda entry: is_guide(entry[1])), strict=True)
    width = int(_LEGEND_WIDTH * figure.bbox.width / figure.dpi)
    legend = figure.legend(
        handles, labels, loc="outside lower center", fontsize="small", frameon=False,
        ncols=max(1, width // (max(map(len, labels)) + _HANDLE_WIDTH)), columnspacing=1.2,
    )  # fmt: skip
    legend.set_gid(_LEGEND)
    for text in legend.get_texts():
        text.set_parse_math(False)


# Input: results or predictions by name, events of classes, spoofed trials


def as_mapping(systems: Any, class_: int | str | None = None) -> dict[str, Any]:
    """Return systems by name; a single one has no name.

    With `class_`, predictions are of that class against the rest.
    """
    if not isinstance(systems, Mapping):
        systems = {"": systems}
    if not systems:
        raise ArgumentError("systems", "must not be empty")
    for name in systems:
        if not isinstance(name, str):
            raise ArgumentError("systems", f"must have names that are strings, not {name!r}")
    named = dict(cast(Mapping[str, Any], systems))
    if class_ is not None:
        for name, value in named.items():
            if isinstance(value, Predictions):
                named[name] = one_against_rest(value, class_)
    return named


def check_system(name: str, value: Any, kind: type[Any], takes: bool, calibrated: bool) -> None:
    """Raise unless a system is a result, or predictions from which a result can be computed."""
    called = f"systems[{name!r}]" if name else "systems"
    if isinstance(value, kind):
        return
    if not takes or not isinstance(value, Predictions):
        wanted = f"{kind.__name__}{' or Predictions' if takes else ''}"
        raise ArgumentError(
            called,
            f"must be {wanted}, or a mapping of names to these, not {type(value).__name__}",
            remedy=CALL_TO_MAKE if takes else "",
        )
    if value.y_true is None:
        raise ArgumentError(called, "must be labeled predictions")
    if value.n_classes > 2:
        raise ArgumentError(
            called,
            f"must be binary, not of {value.n_classes} classes",
            remedy="take one class c against the rest, "
            "fp.Predictions.from_posteriors(y_true == c, posteriors[:, c]), "
            "or class_=c of det, roc, precision_recall and pav_map",
        )
    if calibrated:
        value.require_posteriors("figures of posteriors")


def is_multiclass(value: Any) -> bool:
    """Whether a system is predictions of more than 2 classes."""
    return isinstance(value, Predictions) and value.n_classes > 2


def events_of(systems: Mapping[str, Any], on: On) -> dict[str, Any]:
    """Return systems by name, with more than two classes converted to predictions of events.

    An event is "the sample belongs to class k", for each class, or "the most probable class is the
    true class".
    """
    events: dict[str, Any] = {}
    for system, value in systems.items():
        has_labels = isinstance(value, Predictions) and value.y_true is not None
        if not has_labels or (on == "class" and not is_multiclass(value)):
            events[system] = value  # the check of systems refuses missing labels
            continue
        value.require_posteriors("figures of posteriors")
        kinds: dict[str, Any] = {system: on}
        if on == "class":
            numbers = range(value.n_classes)
            kinds = {f"{system}, {value.class_label(k)}".removeprefix(", "): k for k in numbers}
        for name, kind in kinds.items():
            posteriors, came_true = Events(kind)(value)
            weights = value.balanced_weights()  # at the given priors
            events[name] = Predictions.from_posteriors(
                came_true, posteriors, sample_weight=weights if weights.size else None
            )
    return events


def spoofed_apart(systems: Any, spoof: Spoof) -> tuple[dict[str, Any], dict[str, Predictions]]:
    """Return systems without their spoofed trials, and by name targets with the spoofed trials."""
    named, spoofed = as_mapping(systems), dict[str, Predictions]()
    masks = spoof if isinstance(spoof, Mapping) else {} if spoof is None else {"": spoof}
    for name, mask in masks.items():
        data, called = named.get(name), f"spoof[{name!r}]" if name else "spoof"
        if not isinstance(data, Predictions) or data.y_true is None:
            raise ArgumentError(called, "must belong to a system of labeled Predictions")
        try:
            kinds = kinds_of(Part.whole(data), mask)
        except ArgumentError as error:
            raise error.renamed(called) from None
        if (kinds == SPOOFED).any():
            named[name], spoofed[name] = data[kinds != SPOOFED], data[kinds >= SPOOFED]
    return named, spoofed
