"""Detection of the format of a file from its content; ambiguity is an error."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fastpsr.trials.labels import vocabularies_of
from fastpsr.trials.layouts import (
    ALIASES,
    BARE_CSV,
    FORMATS,
    NORM_COLUMNS,
    PAIRS,
    TEXT_LAYOUTS,
    Layout,
    check_format,
    layout_of,
)
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample, fields_of, look
from fastpsr.wording import counted, shorten

__all__ = ["Detected", "detect"]

_BINARY = {"hdf5": ("bosaris", "sidekit", "dca-plda"), "parquet": ("parquet",), "npz": ("npz",)}


@dataclass(frozen=True)
class Detected:
    """A layout, the first look at the file, and what separates columns that a header names."""

    layout: Layout
    sample: Sample
    separator: str = ""


def detect(path: Path, request: Request) -> Detected:
    """Find a file's layout; for HDF5 "bosaris": the names inside say whether it is sidekit.

    Raises
    ------
    ValueError
        If no layout fits that has what is needed, or more than one.
    """
    name = request.format
    check_format(f"{request.prefix}format", name)
    sample = look(path)
    if sample.kind != "text":
        allowed = _BINARY[sample.kind]
        if name is not None and name not in allowed:
            raise ValueError(f"{path}: the content is {' or '.join(allowed)}, not {name}")
        return Detected(layout_of(name or allowed[0]), sample)
    if any(name in names for names in _BINARY.values()):
        raise ValueError(f"{path}: the content is text, not {name}")
    if name in ("nist", "csv"):
        return Detected(layout_of(name), sample, "\t" if name == "nist" else ",")
    between_commas = list(csv.reader(sample.lines))
    if name == BARE_CSV:
        return _bare(path, request, sample, between_commas, 0.5)
    rows = [fields_of(line) for line in sample.lines]
    n_columns = _usual_length(rows)
    if name is not None:
        return Detected(layout_of(name, n_columns), sample)
    header = _header(sample.lines[0], request.columns)
    fitting = _fitting(request, rows, n_columns, 1.0)
    if header and (not fitting or request.wanted == "pairs"):  # any words may be ids
        return Detected(layout_of("nist" if header == "\t" else "csv"), sample, header)
    if not fitting:
        if _fitting(request, between_commas, _usual_length(between_commas), 1.0):
            return _bare(path, request, sample, between_commas, 1.0)
        fitting = _fitting(request, rows, n_columns, 0.5)
    if not fitting:
        raise request.unclear(
            path,
            f"no known format has {counted(n_columns, 'column')} like those of "
            f"{shorten(sample.lines[0])!r}; formats are {', '.join(FORMATS)}; columns in another "
            "order need a header that names them",
            "format",
        )
    return Detected(_the_one(path, request, fitting, rows, n_columns), sample)


def _usual_length(rows: Sequence[list[str]]) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0]


def _bare(
    path: Path, request: Request, sample: Sample, rows: Sequence[list[str]], share: float
) -> Detected:
    """Return the columns of CSV without a header: those of a layout of text."""
    n_columns = _usual_length(rows)
    fitting = _fitting(request, rows, n_columns, share)
    if not fitting:
        rule = f"{path}: {shorten(sample.lines[0])!r} is no line of trials with commas between"
        raise ValueError(rule)
    layout = _the_one(path, request, fitting, rows, n_columns)
    return Detected(replace(layout, name=BARE_CSV), sample, ",")


def _the_one(
    path: Path, request: Request, fitting: list[Layout], rows: Sequence[list[str]], n_columns: int
) -> Layout:
    suitable = _suitable(request, fitting) or _suitable(
        request, _fitting(request, rows, n_columns, 0.5)
    )
    if request.wanted == "scores" and suitable:
        suitable = suitable + [layout for layout in fitting if _may_be_key(layout, suitable, rows)]
    if not suitable:
        seen = fitting[0]
        lacking = [role for role in request.needed if role not in seen.roles]
        swapped = "; are key and scores swapped?" if request.wanted != "labeled scores" else ""
        raise ValueError(
            f"{path}: the content looks like {seen.name} ({' '.join(seen.roles)}), which has no "
            f"{' and no '.join(lacking)}{swapped}"
        )
    if {layout.name for layout in suitable} == {"kaldi-trials", "sitw"}:
        words = [row[2] for row in rows if len(row) == 3]
        is_sitw = sum(word.lower() in ("tgt", "imp") for word in words) * 2 > len(words)
        return suitable[int(is_sitw)]
    if len(suitable) > 1:
        choices = ", ".join(f"{layout.name} ({' '.join(layout.roles)})" for layout in suitable)
        rule = f"the content fits more than one format: {choices}"
        raise request.unclear(path, rule, "format")
    return suitable[0]


def _suitable(request: Request, fitting: list[Layout]) -> list[Layout]:
    return [layout for layout in fitting if set(request.needed) <= set(layout.roles)]


def _may_be_key(layout: Layout, suitable: list[Layout], rows: Sequence[list[str]]) -> bool:
    """Whether a key has both kinds of labels where a score file would have its scores."""
    if "score" in layout.roles or layout.name == "sitw":
        return False
    place = layout.roles.index("label")
    in_score = any(other.roles.index("score") == place for other in suitable)
    return in_score and len({row[place] for row in rows}) == 2


def _fitting(
    request: Request, rows: Sequence[list[str]], n_columns: int, share: float
) -> list[Layout]:
    """Return the layouts that a share of the lines fits in every column."""
    regular = [row for row in rows if len(row) == n_columns]
    if len(regular) < share * len(rows):
        return []
    columns = list(zip(*regular, strict=True))
    enough = share * len(regular)
    is_label = [_are_labels(column, share) for column in columns]
    is_number = [sum(map(_is_number, column)) >= enough for column in columns]
    unlike_ids = [
        sum(map(_is_decimal, column)) > 0.5 * len(regular) or (is_label[k] and not is_number[k])
        for k, column in enumerate(columns)
    ]

    def fits(layout: Layout, *, any_ids: bool) -> bool:
        return all(
            is_label[k]
            if role == "label"
            else is_number[k]
            if role == "score" or role in NORM_COLUMNS
            else not is_number[k]
            if role == "attack"
            else any_ids or not unlike_ids[k]
            for k, role in enumerate(layout.roles)
        )

    known = (PAIRS,) if request.wanted == "pairs" else TEXT_LAYOUTS
    candidates = [layout for layout in known if len(layout.roles) == n_columns]
    for any_ids in (False, True):  # numbers with a decimal point and words for labels are no ids
        found = [layout for layout in candidates if fits(layout, any_ids=any_ids)]
        if found:
            return found
    return []


def _are_labels(column: Sequence[str], share: float) -> bool:
    counts = Counter(word.lower() for word in column)
    if share == 1.0:
        return bool(vocabularies_of(counts))
    known = sum(count for word, count in counts.items() if vocabularies_of([word]))
    return known >= share * len(column)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def _is_decimal(word: str) -> bool:
    return _is_number(word) and not word.lstrip("+-").isdigit()


def _header(line: str, chosen: Mapping[str, str]) -> str:
    """Return the separator of a header line that names columns as usual or as chosen, else ""."""
    usual = {name: role for role, names in ALIASES.items() for name in names}
    usual |= {name.lower(): role for role, name in chosen.items()}
    separator = "\t" if "\t" in line else ","
    names = [name.strip().strip('"').lower() for name in line.split(separator)]
    roles = {usual[name] for name in names if name in usual}
    return separator if len(roles) >= 2 and len(names) >= 2 else ""
