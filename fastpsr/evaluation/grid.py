"""One grid of cells under text, Markdown, LaTeX, HTML and reports, and numbers as text."""

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from fastpsr.results import aligned, table

_MOST_DECIMALS = 6  # of small numbers; three more in narrow intervals
#: Factor, what is whole and usual decimals of the units that are shown in percent, and of others.
_SCALES = {"fraction": (100.0, 100.0, 3), "percent": (1.0, 100.0, 3)}
_PLAIN = (1.0, 1.0, 4)
_ROUNDING = 1e-12  # a number that is so near to 1 is 1, but for rounding
_ANSWERS = {None: "", True: "excludes 0", False: "includes 0"}
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "≥": r"$\geq$", **{c: f"\\{c}" for c in "&%$#_{}"},
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A cell of a grid.

    Attributes
    ----------
    text : str
    number : float or None
        What it is sorted by, if that is a number.
    interval : str
        Of a value that has it in its own cell.
    excludes_zero : bool or None
        Whether the interval of a difference excludes 0; None where this is no question.
    remarks : tuple of str
        On replicates that the interval leaves out, and whether it is not to be used.
    is_best : bool
        Whether it is the best of its column.
    """

    text: str
    number: float | None = None
    interval: str = ""
    excludes_zero: bool | None = None
    remarks: tuple[str, ...] = ()
    is_best: bool = False

    def __str__(self) -> str:
        text = f"{self.text} {self.interval}".rstrip()
        return f"{text} *" if self.excludes_zero else text

    @property
    def small(self) -> tuple[str, ...]:
        """Small print of a page below the text."""
        return tuple(filter(None, [self.interval, _ANSWERS[self.excludes_zero], *self.remarks]))


@dataclass(frozen=True)
class Grid:
    """A table of cells; in each line the first `n_names` are names, and the last are words."""

    header: Sequence[str]
    lines: Sequence[Sequence[Cell]]
    n_names: int = 1
    caption: str = ""
    n_words: int = 0

    def is_number(self, place: int) -> bool:
        """Whether a column holds numbers."""
        return any(line[place].number is not None for line in self.lines)

    @property
    def sides(self) -> str:
        """The side of each column: names and words on the left, "l", and values on the right."""
        n_values = len(self.header) - self.n_names - self.n_words
        return "l" * self.n_names + "r" * n_values + "l" * self.n_words

    @property
    def texts(self) -> list[list[str]]:
        """The header and the lines as text."""
        return [[*self.header], *([str(cell) for cell in line] for line in self.lines)]

    @property
    def title(self) -> str:
        """The caption in one line."""
        return self.caption.replace("\n", "; ")

    def without(self, text: str) -> "Grid":
        """Return the grid without columns that hold nothing but a text."""
        end = len(self.header) - self.n_words
        places = [
            k for k in range(len(self.header)) if any(line[k].text != text for line in self.lines)
        ]
        header = [self.header[k] for k in places]
        lines = [[line[k] for k in places] for line in self.lines]
        n_names, n_words = sum(k < self.n_names for k in places), sum(k >= end for k in places)
        return replace(self, header=header, lines=lines, n_names=n_names, n_words=n_words)

    def as_html(self, title: str) -> str:
        """Return a table for notebooks."""
        return table(title, self.header, self.texts[1:], self.sides)

    def as_markdown(self) -> str:
        """Return a table of Markdown."""
        header, *lines = self.texts
        rule = [{"l": "---", "r": "--:"}[side] for side in self.sides]
        escaped = [[c.replace("|", "\\|") for c in line] for line in [header, rule, *lines]]
        return "".join(f"| {' | '.join(line)} |\n" for line in escaped)

    def as_latex(self) -> str:
        """Return a tabular for the package booktabs.

        Percent signs are in the headings, and intervals below their values.
        """
        head, *body = [
            " & ".join(_escaped(text) for text in line) + r" \\" for line in self._with_units()
        ]
        rows = [r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
        return "\n".join([rf"\begin{{tabular}}{{{self.sides}}}", *rows, r"\end{tabular}", ""])

    def _with_units(self) -> list[list[str]]:
        """Move percent signs to the names of metrics, and intervals to lines below their values."""
        texts = [[cell.text for cell in line] for line in self.lines]
        if self.header[0] == "metric":
            names = [line[0] + _unit_of(line) for line in texts]
            rows = [[name, *map(_bare, line[1:])] for name, line in zip(names, texts, strict=True)]
            return [[*self.header], *rows]
        columns = zip(self.header, *texts, strict=True)
        rows = [[name + _unit_of(column) for name, *column in columns]]
        for line in self.lines:
            rows.append([_bare(cell.text) + "  *" * bool(cell.excludes_zero) for cell in line])
            if any(cell.interval for cell in line):
                rows.append([cell.interval for cell in line])
        return rows


def pivot(
    header: Sequence[str],
    cells: Iterable[tuple[tuple[Cell, ...], str, Cell]],
    n_names: int = 1,
    caption: str = "",
) -> Grid:
    """Return a grid of cells by line and column, both in the order in which they occur.

    A line is its first cells, which have the header, and the first `n_names` of these are names.
    """
    lines: dict[tuple[Cell, ...], dict[str, Cell]] = {}
    for line, column, cell in cells:
        lines.setdefault(line, {})[column] = cell
    columns = list(dict.fromkeys(column for of_line in lines.values() for column in of_line))
    values = [
        [*line, *(of_line.get(name, Cell("")) for name in columns)]
        for line, of_line in lines.items()
    ]
    return Grid([*header, *columns], values, n_names, caption)


class ShownAsGrid:
    """A base of results that are shown as a grid, with lines of words above and below."""

    has_header: ClassVar[bool] = True  # in text

    @abstractmethod
    def _grid(self) -> Grid:
        """Return the cells."""

    def _above(self) -> list[str]:
        return []

    def _below(self) -> list[str]:
        return []

    def __str__(self) -> str:
        grid = self._grid()
        lines = aligned(grid.texts[not self.has_header :], grid.sides)
        return "\n".join([*self._above(), *lines, *self._below()])

    def _repr_html_(self) -> str:
        return self._grid().as_html(
            "; ".join([type(self).__name__, *self._above(), *self._below()])
        )


def _unit_of(texts: Sequence[str]) -> str:
    return " [%]" if any(text.endswith(" %") for text in texts) else ""


def _bare(text: str) -> str:
    return text.removesuffix(" %")


def _escaped(text: str) -> str:
    """Return text for LaTeX; the first and last bin of a column as inequalities."""
    text = re.sub(r"=\[(.+), inf\]$", r" ≥ \1", re.sub(r"=\[-inf, (.+)\)$", r" < \1", text))
    return "".join(_LATEX.get(character, character) for character in text)


# Numbers


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
    factor, whole, usual = _SCALES.get(unit, _PLAIN)
    width = factor * (high - low)
    decimals = min(_decimals(width), _MOST_DECIMALS + 3) if math.isfinite(width) and width else 0
    ends = (_rounded(factor * end, max(decimals, usual), whole) for end in (low, high))
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
    factor, whole, usual = _SCALES.get(unit, _PLAIN)
    scaled, decimals = factor * value, max(decimals, usual)
    if scaled and math.isfinite(scaled):
        decimals = max(decimals, min(_decimals(scaled), _MOST_DECIMALS))
    text = _rounded(scaled, decimals, whole)
    return f"{text} %" if unit in _SCALES and math.isfinite(value) else text


def _rounded(value: float, decimals: int, whole: float) -> str:
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
            end = whole + math.copysign(10.0**-decimals, gap)
            return f"{'>' if gap < 0.0 else '<'}{end:.{decimals}f}"
    return f"{value:.{decimals}f}"


def _decimals(value: float) -> int:
    """Return how many decimals show two digits of a number that is not 0."""
    return 1 - math.floor(math.log10(abs(value)))
