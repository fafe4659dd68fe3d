"""Metrics as bars, with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
_SHARES = {"fraction", "percent"}

#: Rows by metric.
Bars = dict[str, Row]


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


def _tables(systems: Any) -> dict[str, Bars]:
    """Return the values of each system and group by metric."""
    named = as_mapping(systems)
    if isinstance(systems, Mapping) and all(_is_number(value) for value in named.values()):
        return _bars("", named)
    return {
        f"{system}: {part}" if system and part else system or part: bars
        for system, table in named.items()
        for part, bars in _bars(system, table).items()
    }


def _bars(system: str, table: Any) -> dict[str, Bars]:
    """Return what there is to draw of a table by system and group, "" for one of one, by metric."""
    argument = f"systems[{system!r}]" if system else "systems"
    bars: dict[str, Bars] = {}
    for place, row in _rows(argument, table):
        if row.metric in bars.setdefault(place, {}):
            raise ArgumentError(
                argument,
                f"must have one value of each metric, but {row.metric} is there twice",
                remedy="pass a mapping of systems' names to lists of results",
            )
        bars[place][row.metric] = row
    return bars


def _rows(argument: str, table: Any) -> list[tuple[str, Row]]:
    """Return rows with the names of their systems and groups, "" for a single one."""
    if isinstance(table, Mapping) and all(_is_number(value) for value in table.values()):
        return [("", Row(str(name), float(value))) for name, value in table.items()]
    parts = table.rows if isinstance(table, Evaluation) else table
    parts = parts if isinstance(parts, Sequence) else [parts]
    rows = [
        Row(part.name, part.value, *part.interval, unit=part.unit)
        if isinstance(part, BootstrapResult)
        else part
        for part in parts
    ]
    if not rows or not all(isinstance(row, Row) for row in rows):
        raise ArgumentError(
            argument,
            f"must be a BootstrapResult, a list of them, an Evaluation or its rows, or a "
            f"mapping of metrics to numbers, not {type(table).__name__}",
        )
    has_systems, has_groups = (
        len(set(names)) > 1 for names in ([row.system for row in rows], [row.group for row in rows])
    )
    return [
        (", ".join([*[row.system or ""] * has_systems, *[row.group or POOLED] * has_groups]), row)
        for row in rows
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _in_one_unit(tables: Mapping[str, Bars], names: Sequence[str]) -> tuple[dict[str, Bars], str]:
    """Return fractions and percentages alike, and the label of the axis."""
    units = {table[name].unit for table in tables.values() for name in names if name in table}
    are_shares = bool(units) and units <= _SHARES
    label = "Value (percentages as fractions)" if "percent" in units else "Value"
    if are_shares:
        label = "Percent"
    elif len(units) == 1:
        label = _LABELS.get(units.pop(), "Value")
    unit = "percent" if are_shares else "fraction"
    converted = {
        system: {name: _taken_as(unit, row) for name, row in table.items()}
        for system, table in tables.items()
    }
    return converted, label


def _taken_as(unit: str, row: Row) -> Row:
    """Return a fraction or percent in either unit, and anything else as it is."""
    if row.unit == unit or row.unit not in _SHARES:
        return row
    factor = 100.0 if unit == "percent" else 0.01
    low, high = (None if end is None else factor * end for end in (row.low, row.high))
    return replace(row, value=factor * row.value, low=low, high=high, unit=unit)


def _draw_system(
    canvas: Canvas[Any], system: str, table: Bars, names: Sequence[str], shift: float, width: float
) -> None:
    style = canvas.style(system, width=width)
    if "linestyle" in style:  # colors that are there already have stripes
        style = {"hatch": "////", "edgecolor": "white", "linewidth": 0.0, **style}
        if not style["linewidth"]:
            del style["linestyle"]  # matplotlib before 3.11 refuses dashes of no width
    rows = {place + shift: table[name] for place, name in enumerate(names) if name in table}
    for row in rows.values():
        if not np.isfinite(row.value):
            what = "is undefined" if np.isnan(row.value) else "is infinite"
            canvas.note(
                system, f"{row.metric} {what if row.value != -np.inf else 'is minus infinity'}"
            )
    finite = {x: row for x, row in rows.items() if np.isfinite(row.value)}
    if finite:
        canvas.ax.bar(list(finite), [row.value for row in finite.values()], **style)
    for x, row in finite.items():
        if row.low is None or row.high is None or np.isnan(row.low) or np.isnan(row.high):
            continue
        if not np.isfinite(row.high - row.low):
            canvas.note(system, f"the interval of {row.metric} reaches infinity, and is not drawn")
            continue
        low, high, cap = row.low, row.high, 0.2 * width
        canvas.ax.plot([x, x, np.nan, x - cap, x + cap, np.nan, x - cap, x + cap],
                       [low, high, np.nan, low, low, np.nan, high, high],
                       color="0.15", linewidth=1.2, label="_interval")  # fmt: skip


def _limit(
    canvas: Canvas[Any], tables: Mapping[str, Bars], names: Sequence[str], least: float
) -> None:
    """End the axis where the bars of most systems do, by metric, and note which go beyond."""
    ends: dict[str, list[float]] = {name: [] for name in names}
    bars = [(system, row) for system, table in tables.items()
             for row in map(table.get, names) if row is not None]  # fmt: skip
    for _, row in bars:
        finite = [end for end in (row.value, row.high) if end is not None and np.isfinite(end)]
        ends[row.metric] += [max(finite)] if finite else []
    tops = [
        common_end(tops_of_metric)
        for tops_of_metric in ends.values()
        if max(tops_of_metric, default=0.0) > 0.0
    ]
    bottom, top = canvas.ax.get_ylim()
    end = 1.05 * max([*tops, least]) or top
    for system, row in bars:
        if np.isfinite(row.value) and row.value > end:
            canvas.note(system, f"{row.metric} is {row.value:.3g}, beyond the axes")
    canvas.ax.set_ylim(min(bottom, 1.05 * least), end)
