"""Metrics as bars, with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fastpsr.bootstrap import BootstrapResult
from fastpsr.errors import ArgumentError
from fastpsr.evaluation import Evaluation, Row
from fastpsr.evaluation.layout import POOLED
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Canvas, common_end
from fastpsr.plotting.systems import as_mapping

Table = (
    BootstrapResult | Sequence[BootstrapResult] | Evaluation | Sequence[Row] | Mapping[str, float]
)
_LABEL_WIDTH = 11.5  # characters of all labels to an inch of the axis, if they do not touch
_LABELS = {"nats": "Nats", "bits": "Bits"}


@dataclass(frozen=True)
class Bar:
    """A value, and the ends of its interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None
    unit: str = ""

    def taken_as(self, unit: str) -> "Bar":
        """Return a fraction or percent in either unit, and anything else as it is."""
        if self.unit == unit or self.unit not in ("fraction", "percent"):
            return self
        factor = 100.0 if unit == "percent" else 0.01
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return Bar(factor * self.value, low, high, unit)


@with_hints
def metric_bars(
    systems: Table | Mapping[str, Table],
    *,
    metrics: Sequence[str] | None = None,
    reference: float | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw metrics as bars, one per system.

    Parameters
    ----------
    systems : BootstrapResult, list of them, Evaluation, list of its rows, mapping of metrics to
        floats, or mapping of systems' names to these
    metrics : sequence of str, optional
        Names of the metrics to draw, in this order; by default all.
    reference : float, optional
        A dashed line, such as 1: the naive system of normalized metrics.
    ax : Axes, optional
        By default a new figure's. Pass all systems at once.
    **kwargs
        For the bars (``Axes.bar``).

    Returns
    -------
    Axes
        Values without a bar, and those beyond the axes, are named in a text.

    Notes
    -----
    Fractions and percentages are drawn in percent, or as fractions beside metrics of other units.
    Mappings of floats have no units.

    Raises
    ------
    ValueError
        For other types, and for names in `metrics` that no system has.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> table = fp.evaluate(data, [fp.CrossEntropy(), fp.BrierScore()])
    >>> ax = fp.plotting.metric_bars({"A": table}, reference=1.0, ax=Figure().subplots())
    >>> [f"{bar.get_height():.3f}" for bar in ax.patches]
    ['0.737', '0.740']
    """
    canvas: Canvas[Any] = Canvas(ax, kwargs, Rectangle)
    tables = _tables(systems)
    names = list(dict.fromkeys(name for table in tables.values() for name in table))
    for name in metrics or ():
        if name not in names:
            raise ArgumentError("metrics", f"must be among {', '.join(names)}, not {name!r}")
    names = names if metrics is None else list(metrics)
    tables, label = _in_one_unit(tables, names)
    width = 0.8 / len(tables)
    for place, (system, table) in enumerate(tables.items()):
        _draw_system(canvas, system, table, names, (place - (len(tables) - 1) / 2.0) * width, width)
    canvas.ax.axhline(0.0, color="0.2", linewidth=0.8)
    if reference is not None:
        canvas.guide("reference", [-0.5, len(names) - 0.5], [reference] * 2, linestyle="--")
    _limit(canvas, tables, names, reference or 0.0)
    longest = max(names, key=len, default="")
    is_long = len(longest) * len(names) > _LABEL_WIDTH * canvas.width
    tilt: dict[str, Any] = {"rotation": 30, "ha": "right"} if is_long else {}
    canvas.ax.set_xticks(range(len(names)), names, parse_math=False, **tilt)
    canvas.ax.set_xlim(-0.5, len(names) - 0.5)
    return canvas.finish("", label, tilted=longest if is_long else "")


def _tables(systems: Any) -> dict[str, dict[str, Bar]]:
    """Return bars by system and group, and metric."""
    named = as_mapping(systems)
    if isinstance(systems, Mapping) and all(_is_number(value) for value in named.values()):
        return _bars("", named)
    return {
        f"{system}: {part}" if system and part else system or part: bars
        for system, table in named.items()
        for part, bars in _bars(system, table).items()
    }


def _in_one_unit(
    tables: Mapping[str, dict[str, Bar]], names: Sequence[str]
) -> tuple[dict[str, dict[str, Bar]], str]:
    """Return fractions and percentages alike, and the label of the axis."""
    units = {table[name].unit for table in tables.values() for name in names if name in table}
    are_shares = bool(units) and units <= {"fraction", "percent"}
    unit = "percent" if are_shares else "fraction"
    label = "Value (percentages as fractions)" if "percent" in units else "Value"
    if are_shares:
        label = "Percent"
    elif len(units) == 1:
        label = _LABELS.get(units.pop(), "Value")
    converted = {
        system: {name: bar.taken_as(unit) for name, bar in table.items()}
        for system, table in tables.items()
    }
    return converted, label


def _limit(
    canvas: Canvas[Any], tables: Mapping[str, Mapping[str, Bar]], names: list[str], least: float
) -> None:
    """End the axis where the bars of most systems do, by metric, and note which go beyond."""
    found = [(system, name, table[name]) for system, table in tables.items()
             for name in names if name in table]  # fmt: skip
    ends: dict[str, list[float]] = {}
    for _, name, bar in found:
        finite = [end for end in (bar.value, bar.high) if end is not None and np.isfinite(end)]
        if finite:
            ends.setdefault(name, []).append(max(finite))
    tops = [common_end(some) for some in ends.values() if max(some) > 0.0]
    bottom, top = canvas.ax.get_ylim()
    end = 1.05 * max([*tops, least]) or top
    for system, name, bar in found:
        if np.isfinite(bar.value) and bar.value > end:
            canvas.note(system, f"{name} is {bar.value:.3g}, beyond the axes")
    canvas.ax.set_ylim(min(bottom, 1.05 * least), end)


def _draw_system(
    canvas: Canvas[Any], system: str, table: dict[str, Bar], names: list[str], shift: float,
    width: float,
) -> None:  # fmt: skip
    places, heights, spans = [], [], []
    for place, name in enumerate(names):
        if name not in table:
            continue
        value, low, high = table[name].value, table[name].low, table[name].high
        if not np.isfinite(value):
            what = "is undefined" if np.isnan(value) else "is infinite"
            canvas.note(system, f"{name} {what if value != -np.inf else 'is minus infinity'}")
            continue
        places.append(place + shift)
        heights.append(value)
        if low is None or high is None or np.isnan(low) or np.isnan(high):
            continue
        if not np.isfinite(high - low):
            canvas.note(system, f"the interval of {name} reaches infinity, and is not drawn")
            continue
        spans.append((place + shift, low, high))
    style = canvas.style(system, width=width)
    if "linestyle" in style:  # colors that are there already have stripes
        style = {"hatch": "////", "edgecolor": "white", "linewidth": 0.0, **style}
        if not style["linewidth"]:
            del style["linestyle"]  # matplotlib before 3.11 refuses dashes of no width
    if places:
        canvas.ax.bar(places, heights, **style)
    for x, low, high in spans:
        cap = 0.2 * width
        canvas.ax.plot([x, x, np.nan, x - cap, x + cap, np.nan, x - cap, x + cap],
                       [low, high, np.nan, low, low, np.nan, high, high],
                       color="0.15", linewidth=1.2, label="_interval")  # fmt: skip


def _bars(system: str, table: Any) -> dict[str, dict[str, Bar]]:
    """Return what there is to draw of a table by system and group, "" for one of one, by metric."""
    called = f"systems[{system!r}]" if system else "systems"
    if isinstance(table, BootstrapResult):
        table = [table]
    rows = table.rows if isinstance(table, Evaluation) else table
    found: list[tuple[str, str, Bar]] = []
    if isinstance(rows, Sequence) and rows and all(isinstance(row, Row) for row in rows):
        places = _places(rows)
        found = [
            (places[row.system, row.group], row.metric, Bar(row.value, row.low, row.high, row.unit))
            for row in rows
        ]
    elif isinstance(table, Mapping) and all(_is_number(value) for value in table.values()):
        found = [("", str(name), Bar(float(value))) for name, value in table.items()]
    elif (
        isinstance(table, Sequence)
        and table
        and all(isinstance(result, BootstrapResult) for result in table)
    ):
        found = [
            ("", each.name, Bar(each.value, each.interval.low, each.interval.high, each.unit))
            for each in table
        ]
    else:
        raise ArgumentError(
            called,
            f"must be a BootstrapResult, a list of them, an Evaluation or its rows, or a "
            f"mapping of metrics to numbers, not {type(table).__name__}",
        )
    bars: dict[str, dict[str, Bar]] = {}
    for place, metric, bar in found:
        if metric in bars.setdefault(place, {}):
            raise ArgumentError(
                called,
                f"must have one value of each metric, but {metric} is there twice",
                remedy="pass a mapping of systems' names to lists of results",
            )
        bars[place][metric] = bar
    return bars


def _places(rows: Sequence[Row]) -> dict[tuple[str | None, str | None], str]:
    """Return names of the systems and groups of rows: "" for a single one."""
    found = dict.fromkeys((row.system, row.group) for row in rows)
    has_systems = len({system for system, _ in found}) > 1
    has_groups = len({group for _, group in found}) > 1
    return {
        (system, group): ", ".join(
            [*([system or ""] if has_systems else []), *([group or POOLED] if has_groups else [])]
        )
        for system, group in found
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
