"""What is said of text that is of no known format: what was seen, and what comes nearest."""

from collections.abc import Iterator, Sequence

from fastpsr.errors import counted, shorten
from fastpsr.trials.formats import REGISTRY
from fastpsr.trials.formats.format import Format
from fastpsr.trials.formats.lines import fields, is_number, usual_length
from fastpsr.trials.labels import vocabularies_of
from fastpsr.trials.names import NORM_COLUMNS, has_usual_names
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample

_FEW_WORDS = 3  # that a column of labels has

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
    nearest = _nearest(sample, request)
    if nearest is not None:
        format, number, role, word = nearest
        seen = f"{shorten(word)!r} as its {role}" if role else word
        said.append(f"nearest is {format}, but line {number} has {seen}")
    is_header = not separator and has_usual_names(lines[0].split(), {})
    between = ", with tabs or commas between the columns" * (not separator)
    seen = "a header with blanks between its words is not read: " * is_header
    said.append(f"{seen}columns in another order need a header that names them{between}")
    return "; ".join(said)


def unknown_words(sample: Sample, request: Request) -> tuple[int, str] | None:
    """Return the line and the first of a few words for labels, if nothing else is odd."""
    nearest = _nearest(sample, request)
    if nearest is None or nearest[2] != "label":
        return None
    format, number, _, word = nearest
    rows = fields(sample.lines, format.separator)
    if any(map(vocabularies_of, zip(*rows, strict=False))):  # labels in another place
        return None
    odd = [*_odd(format, rows, sample.numbers)]
    are_labels = {role for _, role, _ in odd} == {"label"}
    return (number, word) if are_labels and len({word for *_, word in odd}) <= _FEW_WORDS else None


def _nearest(sample: Sample, request: Request) -> tuple[Format, int, str, str] | None:
    """Return the format of as many columns that fits best, and the first word that does not."""
    misfits = []
    for place, format in enumerate(REGISTRY):
        rows = fields(sample.lines, format.separator) if sample.kind == format.kind else []
        fits_in = rows and usual_length(rows) == len(format.roles)
        if fits_in and {*request.needed} <= {*format.roles}:
            odd = [*_odd(format, rows, sample.numbers)]
            if odd:
                n_words = max(len({word for *_, word in odd}), _FEW_WORDS)
                misfits.append((len({role for _, role, _ in odd}), n_words, place, min(odd)))
    if not misfits:
        return None
    *_, place, first = min(misfits)
    return REGISTRY[place], *first


def _odd(
    format: Format, rows: Sequence[Sequence[str]], numbers: Sequence[int]
) -> Iterator[tuple[int, str, str]]:
    """Yield the line, role and word of each that does not fit a format; no role for a line."""
    for number, row in zip(numbers, rows, strict=False):
        if len(row) != len(format.roles):
            yield number, "", counted(len(row), "column")
            continue
        for role, word in zip(format.roles, row, strict=True):
            is_wrong = role == "label" and not vocabularies_of([word])
            if role == "score" or role in NORM_COLUMNS:
                is_wrong = not is_number(word)
            if is_wrong:
                yield number, role, word
