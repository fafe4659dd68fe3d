"""What is said of text that is of no known format: what was seen, and what comes nearest."""

from collections.abc import Iterator, Sequence

from fastpsr.trials.formats import REGISTRY
from fastpsr.trials.formats.format import Format
from fastpsr.trials.formats.lines import fields, is_number, usual_length
from fastpsr.trials.labels import vocabularies_of
from fastpsr.trials.names import NORM_COLUMNS, has_usual_names
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample
from fastpsr.wording import counted, shorten

__all__ = ["what_was_seen"]

_SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}


def what_was_seen(sample: Sample, request: Request) -> str:
    """Say how many columns the first lines have, and why the nearest format does not fit."""
    lines = sample.lines
    separator = next((s for s in _SEPARATORS if all(s in line for line in lines)), "")
    rows = [line.split(separator) for line in lines] if separator else fields(lines, "")
    n_columns = usual_length(rows)
    apart = f" apart by {_SEPARATORS[separator]}" if separator else ""
    said = [
        f"no known format has {counted(n_columns, 'column')}{apart} like those of "
        f"{shorten(lines[0])!r}"
    ]
    if separator in (";", "|"):
        said.append("columns must be apart by blanks, tabs or commas")
    nearest = min(_misfits(sample, request), default=None)
    if nearest is not None:
        said.append(nearest[-1])
    is_header = not separator and has_usual_names(lines[0].split(), {})
    between = ", with tabs or commas between the columns" * (not separator)
    seen = "a header with blanks between its words is not read: " * is_header
    said.append(f"{seen}columns in another order need a header that names them{between}")
    return "; ".join(said)


def _misfits(sample: Sample, request: Request) -> Iterator[tuple[int, int, int, str]]:
    """Yield how badly each format of as many columns fits, and the first reason why."""
    for place, format in enumerate(REGISTRY):
        rows = fields(sample.lines, format.separator) if sample.kind == format.kind else []
        fits_in = rows and usual_length(rows) == len(format.roles)
        if fits_in and {*request.needed} <= {*format.roles}:
            odd = [*_odd(format, rows, sample.numbers)]
            if odd:
                why = f"nearest is {format}, but {min(odd)[-1]}"
                yield len({role for _, role, _ in odd}), len(odd), place, why


def _odd(
    format: Format, rows: Sequence[Sequence[str]], numbers: Sequence[int]
) -> Iterator[tuple[int, str, str]]:
    """Yield the line, role and description of each word, or line, that does not fit a format."""
    for number, row in zip(numbers, rows, strict=False):
        if len(row) != len(format.roles):
            yield number, "", f"line {number} has {counted(len(row), 'column')}"
            continue
        for role, word in zip(format.roles, row, strict=True):
            is_wrong = role == "label" and not vocabularies_of([word])
            if role == "score" or role in NORM_COLUMNS:
                is_wrong = not is_number(word)
            if is_wrong:
                yield number, role, f"line {number} has {shorten(word)!r} as its {role}"
