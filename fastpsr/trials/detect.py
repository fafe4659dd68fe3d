"""The format of a file, found by what its columns hold; several that fit are an error."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fastpsr import checks
from fastpsr.errors import ArgumentError, counted, shorten
from fastpsr.tables.sample import Sample, look
from fastpsr.tables.text import fields_of, words_of
from fastpsr.trials.formats.format import Format
from fastpsr.trials.formats.matrices import Matrices
from fastpsr.trials.formats.registry import REGISTRY
from fastpsr.trials.formats.text import Text
from fastpsr.trials.labels import VOCABULARIES, vocabularies_of
from fastpsr.trials.roles import NORM_COLUMNS, Request, has_usual_names

_SEPARATOR_LINE = re.compile('"?sep=.?"?', re.IGNORECASE)  # that spreadsheets write
_SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}


def detect(path: Path, request: Request) -> tuple[Format, Sample]:
    """Find the format of a file, and return it with the first look at the file.

    Raises
    ------
    ValueError
        If no format fits that has what is needed, or more than one.
    """
    sample = look(path)
    if len(sample.lines) > 1 and _SEPARATOR_LINE.fullmatch(sample.lines[0]):
        sample = replace(sample, lines=sample.lines[1:], numbers=sample.numbers[1:])
    known = [format for format in REGISTRY if format.kind == sample.kind]
    if request.format is not None:
        content = "text" if sample.kind == "text" else " or ".join(f.name for f in known)
        known = [format for format in known if format.name == request.format]
        if not known:
            raise ValueError(f"{path}: the content is {content}, not {request.format}")
    if len(known) == 1:
        format = known[0]
    elif sample.kind == "text":
        texts = [format for format in known if isinstance(format, Text)]
        format = _text_format(path, sample, request, texts)
    else:
        matrices = [f for f in known if isinstance(f, Matrices) and f.is_in(path)]
        if not matrices:
            raise ValueError(f"{path}: the content is not that of {' or '.join(map(str, known))}")
        format = _single(path, request, matrices)
    if request.columns and not format.names_columns:
        rule = f"names columns, and {path} is {format.name}, which has no names"
        raise ArgumentError(request.argument, rule)
    for role in request.needed if format.roles else ():  # the format may have been forced
        if role not in format.roles:
            raise request.lacking(path, [role], f"{path}: {format} has no {role}")
    return format, sample


def _text_format(path: Path, sample: Sample, request: Request, known: Sequence[Text]) -> Format:
    line = sample.lines[0]
    for format in known:
        if not format.roles and format.separator_of(line, request):
            return format
    # any words may be ids: pairs are looked for only where nothing else can be
    are_pairs = request.wanted == "pairs"
    known = [f for f in known if f.roles and are_pairs == (not {"label", "score"} & {*f.roles})]
    separators = dict.fromkeys(format.separator for format in known)
    tables = {separator: SampledColumns(sample, separator, request) for separator in separators}
    without_needed: list[Text] = []
    for share in (1.0, 0.5):
        for separator, table in tables.items():
            same = [f for f in known if (f.separator, len(f.roles)) == (separator, table.n)]
            if request.format is not None and len(same) == 1:
                return same[0]  # what does not fit is an error of reading, with the line
            for any_ids in (False, True):
                fitting = [f for f in same if table.fit(f.roles, share, any_ids=any_ids)]
                suitable = [f for f in fitting if {*request.needed} <= {*f.roles}]
                if suitable:
                    if share < 1.0:
                        _check_first_line(path, sample, request, suitable[0])
                    key = _key_like(fitting, suitable, table) if request.wanted == "scores" else ""
                    if not key and len({format.roles for format in suitable}) == 1:
                        n = Counter(table.labels(suitable[0].roles))
                        return max(suitable, key=lambda f: sum(n[w] for w in f.words.split("/")))
                    return _single(path, request, suitable, key)
                without_needed = without_needed or fitting
    if without_needed:
        first = without_needed[0]
        lacking = [role for role in request.needed if role not in first.roles]
        rule = f"the content looks like {first}, which has no {' and no '.join(lacking)}"
        swapped = "; are key and scores swapped?" * (request.wanted != "labeled scores")
        raise request.lacking(path, lacking, f"{path}: {rule}{swapped}")
    raise ArgumentError("path", _what_was_seen(sample, request), name=f"{path}:")


def _single(path: Path, request: Request, fitting: Sequence[Format], of_a_key: str = "") -> Format:
    """Return the only format that fits; raise if there are more, or if it may be `of_a_key`."""
    if len(fitting) > 1 or of_a_key:
        choices = ", ".join(map(str, fitting)) + (of_a_key and f"; of a key: {of_a_key}")
        rule = f"the content fits more than one format: {choices}"
        raise request.unclear(path, rule)
    return fitting[0]


def _key_like(
    fitting: Sequence[Format], suitable: Sequence[Format], table: "SampledColumns"
) -> str:
    """Return the key that has both kinds of labels where scores would be, or ""."""
    places = {format.roles.index("score") for format in suitable}
    for format in fitting:
        is_key = "label" in format.roles and "score" not in format.roles
        if is_key and format.roles.index("label") in places:
            return str(format) * (len({*table.labels(format.roles)}) == 2)
    return ""


def _check_first_line(path: Path, sample: Sample, request: Request, format: Text) -> None:
    """Raise if only the first line does not fit, and seems to be a header."""
    below = replace(sample, lines=sample.lines[1:])
    table = SampledColumns(below, format.separator, request) if below.lines else None
    if table is None or not table.fit(format.roles, 1.0):
        return
    line = sample.lines[0]
    header = f"the first line, {shorten(line)!r}, looks like a header"
    if {*"\t,"} & {*line}:
        named = ",".join(f"{role}=COLUMN" for role in request.needed)
        raise request.unclear(path, f"{header}, but none of its names is usual", named)
    if has_usual_names(line.split(), {}):
        raise ValueError(f"{path}: {header}: put tabs or commas between its names, or omit it")


def _what_was_seen(sample: Sample, request: Request) -> str:
    """Describe columns that fit no known format."""
    lines = sample.lines
    separator = next((s for s in _SEPARATORS if all(s in line for line in lines)), "")
    apart = f" apart by {_SEPARATORS[separator]}" if separator else ""
    table = SampledColumns(sample, separator, request)
    parts = [
        f"no known format has {counted(table.n, 'column')}{apart} ({', '.join(table.kinds)}) like "
        f"those of {shorten(lines[0])!r}"
    ]
    if separator in (";", "|"):
        parts.append("columns must be apart as in a known format, or by ; below a header")
    if "label" in request.needed and "label" not in table.kinds:
        known = ", ".join(request.vocabularies)
        parts.append(f"labels are known as {known}; {request.argument}=... names other words")
    if request.wanted == "scores" and table.kinds == ["id", "number"]:
        alone = (
            f"scores alone, one a line in the key's order, are in-order in {request.argument}=..."
        )
        parts.append(f"a score needs both ids, enroll and test; {alone}")
    parts.append(
        "columns in another order need a header that names them, with tabs or commas between the "
        "columns"
    )
    return "; ".join(parts)


class SampledColumns:
    """The columns of the lines that have the usual number of them.

    Attributes
    ----------
    words : list of tuple of str
        Those of each column.
    """

    def __init__(self, sample: Sample, separator: str, request: Request) -> None:
        lines = sample.lines
        rows = [*fields_of(lines, separator)] if separator else [*map(words_of, lines)]
        n_columns = Counter(map(len, rows)).most_common(1)[0][0]
        regular = [row for row in rows if len(row) == n_columns]
        self.words = [*zip(*regular, strict=True)]
        # any labels count: those that are not the caller's are an error of reading, with the line
        known = {**request.vocabularies, **VOCABULARIES}
        self._columns = [_Shares.of(words, known) for words in self.words]
        self._share = len(regular) / len(rows)

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.words)

    @property
    def kinds(self) -> list[str]:
        """What each column may be above all: label, number or id."""
        return [
            "label" if column.labels >= 0.5 else "number" if column.numbers >= 0.5 else "id"
            for column in self._columns
        ]

    def fit(self, roles: Sequence[str], share: float, *, any_ids: bool = True) -> bool:
        """Whether such a share of the lines fits roles from left to right."""
        if self.n != len(roles) or self._share < share:
            return False
        columns = zip(self._columns, roles, strict=True)
        return all(column.may_be(role, share, any_ids=any_ids) for column, role in columns)

    def labels(self, roles: Sequence[str]) -> list[str]:
        """Return the labels, if roles have a place for them."""
        if "label" not in roles:
            return []
        return [word.lower() for word in self.words[roles.index("label")]]


class _Shares(NamedTuple):
    """Shares of the words of a column that could be something else than ids."""

    labels: float  # of one vocabulary
    numbers: float
    decimals: float  # numbers with a decimal point, or nan and the like

    @classmethod
    def of(cls, words: Sequence[str], known: Mapping[str, Any]) -> "_Shares":
        """Count words; `known` are the vocabularies of labels."""
        vocabularies = Counter(name for word in words for name in vocabularies_of([word], known))
        # polars takes 1_000 for text
        numbers = [word for word in words if checks.is_number(word) and "_" not in word]
        decimals = [word for word in numbers if not word.lstrip("+-").isdigit()]
        n_labels = max(vocabularies.values(), default=0)
        return cls(*(n / len(words) for n in (n_labels, len(numbers), len(decimals))))

    def may_be(self, role: str, share: float, *, any_ids: bool) -> bool:
        """Whether a share of the words fits; ids are decimals or labels only with `any_ids`."""
        is_label, is_number = self.labels >= share, self.numbers >= share
        if role == "label":
            return is_label
        if role == "score" or role in NORM_COLUMNS:
            return is_number
        if role == "attack":
            return not is_number
        return any_ids or not (self.decimals > 0.5 or (is_label and not is_number))
