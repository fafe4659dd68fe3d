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
from fastpsr.plotting.canvas import Canvas, as_mapping, common_end

Table = (
    BootstrapResult | Sequence[BootstrapResult] | Evaluation | Sequence[Row] | Mapping[str, float]
)
#: Rows by the place of their bars.
Rows = Mapping[int, Row]

_LABEL_WIDTH = 11.5  # characters per inch of the axis that fit without overlap
_UNITS = {"nats": "Nats", "bits": "Bits"}


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
        Value of a dashed line, such as 1 for the naive system of normalized metrics.
    ax : Axes, optional
        By default a new figure's. Pass all systems at once.
    **kwargs
        For the bars (``Axes.bar``).

    Returns
    -------
    Axes
        Notes name values without a bar and values beyond the axes.

    Notes
    -----
    Fractions and percentages are drawn in percent, or as fractions if other units are present.
    Mappings of floats have no units.

    Raises
    ------
    ValueError
        For other types, and for `metrics` that no system has.

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
    canvas = Canvas(ax, kwargs, Rectangle)
    tables = _tables(systems)
    names = list(dict.fromkeys(name for table in tables.values() for name in table))
    for name in metrics or ():
        if name not in names:
            raise ArgumentError("metrics", f"must be among {', '.join(names)}, not {name!r}")
    names = names if metrics is None else list(metrics)
    rows_of: Mapping[str, Rows] = {
        system: {place: table[name] for place, name in enumerate(names) if name in table}
        for system, table in tables.items()
    }
    rows_of, label = _in_one_unit(rows_of)
    width = 0.8 / len(rows_of)
    for k, (system, rows) in enumerate(rows_of.items()):
        _draw(canvas, system, rows, (k - (len(rows_of) - 1) / 2.0) * width, width, len(names))
    canvas.ax.axhline(0.0, color="0.2", linewidth=0.8)
    if reference is not None:
        canvas.guide("reference", [-0.5, len(names) - 0.5], [reference] * 2, linestyle="--")
    _limit(canvas, rows_of, reference or 0.0)
    is_long = len(max(names, key=len, default="")) * len(names) > _LABEL_WIDTH * canvas.width
    tilt: dict[str, Any] = {"rotation": 30, "ha": "right"} if is_long else {}
    canvas.ax.set_xticks(range(len(names)), names, parse_math=False, **tilt)
    canvas.ax.set_xlim(-0.5, len(names) - 0.5)
    return canvas.finish("", label)


def _tables(systems: Any) -> dict[str, dict[str, Row]]:
    """Return rows by metric, for each system and group by name ("" for a single one)."""
    named = {"": systems} if _is_of_numbers(systems) else as_mapping(systems)
    tables: dict[str, dict[str, Row]] = {}
    for name, table in named.items():
        argument = f"systems[{name!r}]" if name else "systems"
        rows = _rows(argument, table)
        has_systems = len({row.system for row in rows}) > 1
        has_groups = len({row.group for row in rows}) > 1
        for row in rows:
            parts = [*[row.system or ""] * has_systems, *[row.group or POOLED] * has_groups]
            bars = tables.setdefault(": ".join(filter(None, [name, ", ".join(parts)])), {})
            if row.metric in bars:
                raise ArgumentError(
                    argument,
                    f"must have one value for each metric, but {row.metric} occurs twice",
                    remedy="pass a mapping of systems' names to lists of results",
                )
            bars[row.metric] = row
    return tables


def _rows(argument: str, table: Any) -> list[Row]:
    if _is_of_numbers(table):
        return [Row(str(name), float(value)) for name, value in table.items()]
    parts = table.rows if isinstance(table, Evaluation) else table
    rows = [
        Row(part.name, part.value, *part.interval, unit=part.unit)
        if isinstance(part, BootstrapResult)
        else part
        for part in (parts if isinstance(parts, Sequence) else [parts])
    ]
    if not rows or not all(isinstance(row, Row) for row in rows):
        raise ArgumentError(
            argument,
            f"must be a BootstrapResult, a list of them, an Evaluation or its rows, or a "
            f"mapping of metrics to numbers, not {type(table).__name__}",
        )
    return rows


def _is_of_numbers(table: Any) -> bool:
    """Whether this is a mapping of metrics to numbers."""
    number = (int, float, np.integer, np.floating)
    return isinstance(table, Mapping) and 0 < len(table) == sum(
        isinstance(value, number) and not isinstance(value, bool) for value in table.values()
    )


def _in_one_unit(rows_of: Mapping[str, Rows]) -> tuple[dict[str, Rows], str]:
    """Return values with fractions and percentages in the same unit, and the label of the axis."""
    units = {row.unit for rows in rows_of.values() for row in rows.values()}
    label, factors = _UNITS.get(" ".join(sorted(units)), "Value"), {"percent": 0.01}
    if units and units <= {"fraction", "percent"}:
        label, factors = "Percent", {"fraction": 100.0}
    elif "percent" in units:
        label = "Value (percentages as fractions)"

    def converted(row: Row) -> Row:
        factor = factors.get(row.unit, 1.0)
        low, high = (None if end is None else factor * end for end in (row.low, row.high))
        return replace(row, value=factor * row.value, low=low, high=high)

    return {
        system: {place: converted(row) for place, row in rows.items()}
        for system, rows in rows_of.items()
    }, label


def _draw(
    canvas: Canvas, system: str, rows: Rows, shift: float, width: float, n_places: int
) -> None:
    """Draw the finite values with their finite intervals, and note the others.

    An interval may exclude its value.
    """
    style = canvas.style(system, width=width)
    if style.get("linestyle") == "-.":  # the colors repeat: add stripes
        style |= {"hatch": "////", "edgecolor": "white", "linewidth": 0.0, "linestyle": "-"}
        style |= canvas.options
    finite = {place + shift: row.value for place, row in rows.items() if np.isfinite(row.value)}
    if finite:
        canvas.ax.bar(list(finite), list(finite.values()), **style)
    capsize = 0.2 * 72.0 * width * canvas.width / n_places
    for place, row in rows.items():
        if not np.isfinite(row.value):
            what = "infinite" if row.value > 0.0 else "minus infinity"
            canvas.note(system, f"{row.metric} is {'undefined' if np.isnan(row.value) else what}")
            continue
        if row.low is None or row.high is None:
            continue
        half = (row.high - row.low) / 2.0
        if np.isinf(half):
            canvas.note(system, f"the interval of {row.metric} is infinite and not drawn")
        elif half >= 0.0:
            canvas.ax.errorbar(place + shift, row.low + half, half, fmt="none", ecolor="0.15",
                               elinewidth=1.2, capsize=capsize, capthick=1.2)  # fmt: skip


def _limit(canvas: Canvas, rows_of: Mapping[str, Rows], least: float) -> None:
    """Limit the axis to the bars of most systems, by metric, and note which bars exceed it."""
    finite = [
        (system, place, row)
        for system, rows in rows_of.items()
        for place, row in rows.items()
        if np.isfinite(row.value)
    ]
    ends: dict[int, list[float]] = {}
    for _, place, row in finite:
        high = row.high if row.high is not None and np.isfinite(row.high) else row.value
        ends.setdefault(place, []).append(max(row.value, high))
    bottom, top = canvas.ax.get_ylim()
    end = 1.05 * max([least, *map(common_end, ends.values())]) or top
    for system, _, row in finite:
        if row.value > end:
            canvas.note(system, f"{row.metric} is {row.value:.3g}, beyond the axes")
    canvas.ax.set_ylim(min(bottom, 1.05 * least), end)
