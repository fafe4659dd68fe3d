"""Evaluations of several systems and groups, and differences, as lines of text."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastpsr.bootstrap import BootstrapResult
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.evaluation.comparison import Difference
    from fastpsr.evaluation.table import Evaluation, Row

#: Name of all samples of a system in tables.
POOLED = "pooled"
_BETWEEN = 2  # blanks between columns
_MOST_DECIMALS = 6  # of small numbers; three more in narrow intervals
_PERCENT = {"fraction": 100.0, "percent": 1.0}  # factor of the units that are shown in percent
_ROUNDING = 1e-12  # a number that is so near to 1 is 1, but for rounding


def as_tables(evaluation: "Evaluation") -> list[tuple[int, list[list[str]]]]:
    """Return tables as lines whose first is the header, and how many of their columns are names.

    There is a line per metric, or per system and group; differences have a table of their own, if
    they are not those of two systems, which stand beside the values.
    """
    if evaluation.differences:
        table = differences_as_lines(evaluation)
        return [table] if _is_of_two(evaluation) else [values_as_lines(evaluation), table]
    if len(evaluation.groups) > 1 or evaluation.all_samples.system is not None:
        return [values_as_lines(evaluation)]
    n_columns = 2 + (evaluation.intervals is not None)
    lines = [["metric", "value", "interval"]]
    for row in evaluation.rows:
        lines.append([row.metric, *with_interval(row.value, row.low, row.high, row.unit)])
    return [(1, [line[:n_columns] for line in lines])]


def values_as_lines(evaluation: "Evaluation") -> tuple[int, list[list[str]]]:
    """Return how many columns are names, and a header and a line per system and group."""
    return _without_blank(pivot(evaluation), 2)


def differences_as_lines(evaluation: "Evaluation") -> tuple[int, list[list[str]]]:
    """Return how many columns are names, and the header and lines of `compared`."""
    lines = compared(evaluation)
    return _without_blank(lines, 1 if lines[0][0] == "metric" else 2)


def _without_blank(lines: Sequence[Sequence[str]], n_names: int) -> tuple[int, list[list[str]]]:
    """Return how many columns of names are left, and the lines, without blank columns of names."""
    blank = {k for k in range(n_names) if not any(line[k] for line in lines[1:])}  # no system name
    return n_names - len(blank), [
        [cell for k, cell in enumerate(line) if k not in blank] for line in lines
    ]


def in_columns(lines: Sequence[Sequence[str]], n_names: int, width: int) -> list[str]:
    """Return a line per metric and a column per system and group, as text.

    `lines` are a header and a line per system and group, which begins with `n_names` names. Columns
    that exceed the width are continued in a further table. If more than two tables were needed,
    there is a line per system and group and a column per metric, if that makes fewer.
    """
    n_names, lines = _without_blank(lines, n_names)
    turned = [list(row) for row in zip(*lines, strict=True)]
    for row in turned[:n_names]:
        row[0] = ""
    tables = _tables(turned, 1, width)
    if len(tables) > 2:
        tables = min(tables, _tables(lines, n_names, width), key=len)
    shown = [line for table in tables for line in ("", *table)]
    return shown[1:]


def with_differences(evaluation: "Evaluation", width: int) -> list[str]:
    """Return the values of systems and their differences: of two in one table, else in two."""
    lines = compared(evaluation)
    if _is_of_two(evaluation):
        (table, *more) = _tables(lines, 1, width)
        below = [line for each in more for line in ("", *each)]
        return [f"difference: {evaluation.differences[0].name}", *table, *below]
    if _has_stars(evaluation):  # numbers stand below numbers
        lines = [
            [*line[:2], *(c if c.endswith("*") else f"{c}  " for c in line[2:])] for line in lines
        ]
    return [
        *in_columns(pivot(evaluation), 2, width),
        "",
        *headings_of_differences(evaluation),
        *in_columns(lines, 2, width),
    ]


def headings_of_differences(evaluation: "Evaluation") -> list[str]:
    """Return what stands above a table of differences: of stars and intervals, if it has some."""
    heading = "differences" + "; * where the interval excludes 0" * _has_stars(evaluation)
    return [heading, *filter(None, [simultaneous(evaluation.differences, evaluation.intervals)])]


def _has_stars(evaluation: "Evaluation") -> bool:
    has_some = any(each.excludes_zero for each in evaluation.differences)
    return has_some and not _is_of_two(evaluation)  # which has a column for it


def simultaneous(found: "Sequence[Difference]", intervals: "Intervals | None") -> str:
    """Return how many intervals of differences of groups are simultaneous; "" if none are."""
    sizes = sorted({each.n_simultaneous for each in found if each.is_of_groups and each.result})
    if intervals is None or sizes in ([], [1]):
        return ""
    level = f"{100.0 * intervals.confidence_level:g} % intervals"
    of_groups = "" if all(each.is_of_groups for each in found) else " of groups"
    n = " to ".join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))
    return f"{level}{of_groups} are simultaneous over {n} differences of each metric"


def compared(evaluation: "Evaluation") -> list[list[str]]:
    """Return a header, and a line per metric of two systems, else per pair and what it is of."""
    if _is_of_two(evaluation):
        return _of_two(evaluation)
    found = evaluation.differences
    metrics = list(dict.fromkeys(each.metric for each in found))
    names = list(dict.fromkeys(each.name for each in found))
    cells: dict[tuple[str, str], dict[str, str]] = {}  # by pair and place, and metric
    for each in found:
        shown = " ".join(part for part in difference_with_interval(each) if part)
        star = " *" if each.excludes_zero else ""
        cells.setdefault((each.name, each.place), {})[each.metric] = shown + star
    kinds = {each.is_of_groups: "system" if each.is_of_groups else "condition" for each in found}
    return [
        ["difference", " or ".join(kinds.values()), *metrics],
        *(
            [*place, *(cells[place].get(metric, "") for metric in metrics)]
            for place in sorted(cells, key=lambda place: names.index(place[0]))
        ),
    ]


def _is_of_two(evaluation: "Evaluation") -> bool:
    """Whether these are the differences of two systems, without groups."""
    return len(evaluation.groups) == 2 and not evaluation.differences[0].is_of_groups


def _of_two(evaluation: "Evaluation") -> list[list[str]]:
    """Return sizes and metrics of two systems, and their differences."""
    a, b = evaluation.groups
    more = ["difference", *["interval", "excludes 0"] * (evaluation.intervals is not None)]
    lines = [["metric", a.system or "", b.system or "", *more]]
    for name, *sizes in zip(*_sizes(evaluation), strict=True):
        lines.append([name, *sizes, *[""] * len(more)])
    answers = {None: "", True: "yes", False: "no"}
    for each in evaluation.differences:
        values = [number(row.value, row.unit) for row in (each.a, each.b)]
        answer = "" if each.is_equal else answers[each.excludes_zero]
        lines.append(
            [each.metric, *values, *[*difference_with_interval(each), answer][: len(more)]]
        )
    return lines


def difference_with_interval(each: "Difference") -> tuple[str, str]:
    """Return a difference and its interval as text; "equal" and no interval if it is 0."""
    if each.is_equal:
        return "equal", ""
    return with_interval(each.value, each.low, each.high, each.a.unit)


def _tables(rows: Sequence[Sequence[str]], n_names: int, width: int) -> list[list[str]]:
    """Return tables of as many columns as fit, each after the first columns, which are names."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = [_joined(f"{row[k]:<{widths[k]}}" for k in range(n_names)) for row in rows]
    tables = []
    begin = n_names
    while begin < len(widths):
        end = begin + _n_fitting(widths[begin:], width - len(names[0]))
        cells = [[f"{row[k]:>{widths[k]}}" for k in range(begin, end)] for row in rows]
        tables.append([_joined([n, *c]).rstrip() for n, c in zip(names, cells, strict=True)])
        begin = end
    return tables


def _joined(cells: Iterable[str]) -> str:
    return (" " * _BETWEEN).join(cells)


def pivot(evaluation: "Evaluation") -> list[list[str]]:
    """Return a header, and a line per system and group: names, sizes of classes, metrics."""
    metrics = list(dict.fromkeys(row.metric for row in evaluation.rows))
    header, *sizes = _sizes(evaluation)
    lines = [["system", "condition", *header, *metrics]]
    for group, counts in zip(evaluation.groups, sizes, strict=True):
        found = {
            row.metric: " ".join(with_interval(row.value, row.low, row.high, row.unit)).rstrip()
            for row in evaluation.of(group)
        }
        cells = [found.get(name, "") for name in metrics]
        lines.append([group.system or "", group.group or POOLED, *counts, *cells])
    return lines


def _sizes(evaluation: "Evaluation") -> list[list[str]]:
    """Return a header, and the numbers of samples of each group, by class if there are two."""
    if not all(group.n_classes == 2 for group in evaluation.groups):
        return [["samples"], *([f"{group.n_samples:,}"] for group in evaluation.groups)]
    sizes = ([f"{n:,}" for n in reversed(group.class_sizes)] for group in evaluation.groups)
    return [["targets", "non-targets"], *sizes]


def gaps(evaluation: "Evaluation") -> list[str]:
    """Return why values are not finite, once for all metrics of a group with the same reason.

    A corrected interval that does not contain the value has a line of its own.
    """
    lines = []
    for group in evaluation.groups:
        rows = evaluation.of(group)
        reasons: dict[str, list[str]] = {}
        for row in rows:
            if not math.isfinite(row.value):
                reasons.setdefault(row.note, []).append(row.metric)
            elif row.corrected is not None and row.is_outside:
                reasons[corrected(row.corrected, row.unit)] = [row.metric]
        place = ", ".join(name for name in (group.system, group.group or POOLED) if name)
        for note, metrics in reasons.items():
            which = "" if len(metrics) == len(rows) else f"{', '.join(metrics)}: "
            lines.append(f"{place}: {which}{note}")
    return lines


def remarks(evaluation: "Evaluation") -> list[str]:
    """Return lines on intervals that are not to be used, or leave out many replicates.

    Lines on the best calibrators follow.
    """
    intervals = evaluation.intervals
    lines, in_doubt = [], set()
    drawn: list[tuple[tuple[str | None, str | None], str, Row | BootstrapResult]]
    drawn = [((row.system, row.group), row.metric, row) for row in evaluation.rows]
    drawn += [((d.place, d.name), d.metric, d.result) for d in evaluation.differences if d.result]
    for place, metric, each in drawn:
        about = f"{', '.join(filter(None, place))}: ".removeprefix(": ") + metric
        if undefined := counted_if_many(each.n_undefined, intervals):
            lines.append(f"{about} is {undefined}")
        if each.caution:
            lines.append(f"{about} has {each.caution}")
    for row in evaluation.rows:
        if row.role == "RCL" and counted_if_many(row.n_undefined, intervals):
            in_doubt.add((row.system, row.group))
    for group in evaluation.groups:
        if group.best_calibrator is not None:
            system = f"{group.system}: " if group.system else ""
            doubt = "; too few data to tell" * ((group.system, group.group) in in_doubt)
            lines.append(f"{system}{group.best_calibrator}{doubt}")
    return lines


def counted_if_many(n_undefined: int, intervals: "Intervals | None") -> str:
    """Say that a metric is undefined in more replicates than an interval excludes; else ""."""
    if intervals is None:
        return ""
    n, level = intervals.n_resamples, intervals.confidence_level
    if n_undefined <= (1.0 - level) * n:
        return ""
    return f"undefined in {n_undefined:,} of {n:,} replicates, which its interval leaves out"


def corrected(value: float, unit: str) -> str:
    """Say what a value is without the optimism of these samples."""
    return f"{number(value, unit)} once corrected for optimism on these samples"


def with_interval(
    value: float, low: float | None, high: float | None, unit: str = ""
) -> tuple[str, str]:
    """Return a value and its interval as text, with at least two digits of the interval's width.

    Examples
    --------
    >>> with_interval(0.2501, 0.25, 0.75)
    ('0.2501', '[0.2500, 0.7500]')
    >>> with_interval(0.0123456, 0.0123, 0.0124, "fraction")
    ('1.2346 %', '[1.2300, 1.2400]')
    >>> with_interval(0.5, None, None)
    ('0.5000', '')
    """
    if low is None or high is None:
        return number(value, unit), ""
    if math.isnan(low) and not math.isnan(value):
        return number(value, unit), "no interval"
    factor = _PERCENT.get(unit, 1.0)
    width = factor * (high - low)
    decimals = min(_decimals(width), _MOST_DECIMALS + 3) if math.isfinite(width) and width else 0
    ends = (
        _rounded(factor * end, max(decimals, _usual(unit)), _whole(unit)) for end in (low, high)
    )
    return number(value, unit, decimals), f"[{', '.join(ends)}]"


def number(value: float, unit: str = "", decimals: int = 0) -> str:
    """Return a number as text, fractions and percentages in percent.

    There are four decimals, three of percentages, at least `decimals`, and at least two digits of
    a small number, or of what a number that is nearly 1 (or 100 %) differs from it by.

    Examples
    --------
    >>> number(0.25), number(0.00052), number(-2.34e-7), number(0.0)
    ('0.2500', '0.00052', '-2.3e-07', '0.0000')
    >>> number(0.999968), number(1.0 - 1e-9), number(1.0)
    ('0.999968', '>0.999999', '1.0000')
    >>> number(0.01234, "fraction"), number(12.5, "percent")
    ('1.234 %', '12.500 %')
    """
    shown = _PERCENT.get(unit, 1.0) * value
    if shown and math.isfinite(shown):
        decimals = max(decimals, min(_decimals(shown), _MOST_DECIMALS))
    text = _rounded(shown, max(decimals, _usual(unit)), _whole(unit))
    return f"{text} %" if unit in _PERCENT and math.isfinite(value) else text


def _usual(unit: str) -> int:
    return 3 if unit in _PERCENT else 4


def _whole(unit: str) -> float:
    return 100.0 if unit in _PERCENT else 1.0


def _rounded(value: float, decimals: int, whole: float = 1.0) -> str:
    """Return a number with so many decimals, or with more where these would show it as 0 or whole.

    Two digits are then left of the number, or of what it differs from the `whole` by.
    """
    if value == 0.0 or not math.isfinite(value):
        return f"{value + 0.0:.{decimals}f}"  # -0.0 is 0
    needed = _decimals(value)
    if needed > _MOST_DECIMALS:
        return f"{value:.1e}"
    if round(value, decimals) == 0.0:
        decimals = needed
    gap = value - whole
    if round(value, decimals) == whole and abs(gap) > _ROUNDING * whole:
        decimals = max(decimals, min(_decimals(gap), _MOST_DECIMALS))
        if round(value, decimals) == whole:
            least = 10.0**-decimals
            end = whole - least if gap < 0.0 else whole + least
            return f"{'>' if gap < 0.0 else '<'}{end:.{decimals}f}"
    return f"{value:.{decimals}f}"


def _decimals(value: float) -> int:
    """Return how many decimals show two digits of a number that is not 0."""
    return 1 - math.floor(math.log10(abs(value)))


def _n_fitting(widths: Sequence[int], room: int) -> int:
    """Return how many of the next columns fit, at least one."""
    for n_fitting, width in enumerate(widths):
        room -= width + _BETWEEN
        if room < 0:
            return max(n_fitting, 1)
    return len(widths)
