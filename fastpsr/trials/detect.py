"""Detection of the format of a file from its content; ambiguity is an error."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fastpsr.errors import ArgumentError, counted, shorten
from fastpsr.trials.formats import REGISTRY, check_format
from fastpsr.trials.formats.format import Format, Tolerance
from fastpsr.trials.formats.lines import fields, is_number, usual_length
from fastpsr.trials.labels import unknown_label, vocabularies_of
from fastpsr.trials.names import NORM_COLUMNS, has_usual_names
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample, look

_KINDS = {format.magic: format.kind for format in REGISTRY if format.magic}
_EVERY_LINE = (Tolerance(1.0, any_ids=False), Tolerance(1.0, any_ids=True))
_MOST_LINES = (Tolerance(0.5, any_ids=False), Tolerance(0.5, any_ids=True))
_ANYTHING = Tolerance(0.0, any_ids=True)  # of as many columns
_FEW_WORDS = 3  # that a column of labels has

_SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}


def first_look(path: Path) -> Sample:
    """Return the beginning of a file."""
    return look(path, _KINDS)


def is_of_matrices(path: Path) -> bool:
    """Whether a file is of a kind whose formats hold matrices."""
    kind = first_look(path).kind
    return any(format.has_matrices for format in REGISTRY if format.kind == kind)


def detect(path: Path, request: Request) -> tuple[Format, Sample]:
    """Find the format of a file, and return it with the first look at the file.

    Raises
    ------
    ValueError
        If no format fits that has what is needed, or more than one.
    """
    check_format(f"{request.prefix}format", request.format)
    sample = first_look(path)
    format = _found(path, sample, request)
    if request.columns and not format.names_columns:
        rule = f"is for files that name theirs, and {path} is {format.name}"
        raise ArgumentError(f"{request.prefix}columns", rule)
    if request.transpose is not None and not format.has_matrices:
        raise ArgumentError("transpose", f"is for HDF5 files, and {path} is {format.name}")
    if format.roles:
        for role in request.needed:  # the format may have been forced
            if role not in format.roles:
                listed = " ".join(format.roles)
                raise ValueError(f"{path}: {format.name} ({listed}) has no {role}")
    return format, sample


def _found(path: Path, sample: Sample, request: Request) -> Format:
    known = [format for format in REGISTRY if format.kind == sample.kind]
    ranks = [(0, _EVERY_LINE), (1, _EVERY_LINE), (2, _EVERY_LINE), (0, _MOST_LINES)]
    if request.wanted == "pairs":  # any words may be ids, those of a header too
        ranks.insert(0, ranks.pop(1))
    if request.format is not None:
        allowed = "text" if sample.kind == "text" else " or ".join(f.name for f in known)
        known = [format for format in known if format.name == request.format]
        if not known:
            raise ValueError(f"{path}: the content is {allowed}, not {request.format}")
        known = _fitting(path, sample, request, known, (_ANYTHING,)) or known
        if len(known) == 1:  # what does not fit is an error of reading, with the line
            return known[0]
        ranks = [(known[0].rank, _MOST_LINES)]
    for rank, tolerances in ranks:
        if tolerances is _MOST_LINES and request.format is None:
            _check_first_line(path, sample, request, known)
        asked = [format for format in known if format.rank == rank]
        fitting = _fitting(path, sample, request, asked, tolerances)
        if fitting:
            return _the_one(path, sample, request, fitting, asked)
    if request.format is not None or sample.kind != "text":
        listed = " or ".join(dict.fromkeys(map(str, known)))
        raise ValueError(f"{path}: the content is not that of {listed}")
    if unknown := _unknown_words(sample, request):
        raise ValueError(unknown_label(f"{path}:{unknown[0]}", unknown[1]))
    raise ValueError(f"{path}: {_what_was_seen(sample, request)}")


def _fitting(
    path: Path,
    sample: Sample,
    request: Request,
    formats: Sequence[Format],
    tolerances: Sequence[Tolerance],
) -> list[Format]:
    """Return the formats that fit at the first tolerance at which any does."""
    for tolerance in tolerances:
        found = [format for format in formats if format.fits(path, sample, request, tolerance)]
        if found:
            return found
    return []


def _check_first_line(
    path: Path, sample: Sample, request: Request, known: Sequence[Format]
) -> None:
    """Raise if only the first line does not fit, and tabs or commas make it seem a header."""
    line, *others = sample.lines if sample.kind == "text" else ("",)
    without_names = [format for format in known if format.roles]
    below = replace(sample, lines=tuple(others))
    fitting = _fitting(path, below, request, without_names, _EVERY_LINE) if others else []
    widths = {len(line.split(separator)) for separator in "\t,"} - {1}
    if not any(len(format.roles) in widths for format in fitting):
        return
    raise request.unclear(
        path,
        f"the first line, {shorten(line)!r}, looks like a header, but none of its names is usual",
        "columns",
        dict.fromkeys(request.needed, ...),
    )


def _the_one(
    path: Path,
    sample: Sample,
    request: Request,
    fitting: list[Format],
    asked: Sequence[Format],
) -> Format:
    """Return the format that fits and has what is needed; raise where that is none or several."""
    suitable = _suitable(request, fitting) or _suitable(
        request, _fitting(path, sample, request, asked, _MOST_LINES)
    )
    if request.wanted == "scores" and suitable:
        keys = [format for format in fitting if _may_be_key(format, suitable, sample)]
        if keys:
            choices = f"{', '.join(map(str, suitable))}; of a key: {keys[0]}"
            rule = f"the content fits more than one format: {choices}"
            raise request.unclear(path, rule, "format")
    if not suitable:
        seen = fitting[0]
        lacking = [role for role in request.needed if role not in seen.roles]
        swapped = "; are key and scores swapped?" if request.wanted != "labeled scores" else ""
        raise ValueError(
            f"{path}: the content looks like {seen}, which has no {' and no '.join(lacking)}"
            f"{swapped}"
        )
    if suitable[0].roles and len({format.roles for format in suitable}) == 1:  # labels differ
        words = suitable[0].label_words(sample)
        return max(suitable, key=lambda f: sum(word in f.words.split("/") for word in words))
    if len(suitable) > 1:
        choices = ", ".join(map(str, suitable))
        rule = f"the content fits more than one format: {choices}"
        raise request.unclear(path, rule, "format")
    return suitable[0]


def _suitable(request: Request, fitting: list[Format]) -> list[Format]:
    return [f for f in fitting if not f.roles or set(request.needed) <= set(f.roles)]


def _may_be_key(format: Format, suitable: list[Format], sample: Sample) -> bool:
    """Whether a key has both kinds of labels where a score file would have its scores."""
    if "score" in format.roles or "label" not in format.roles:
        return False
    place = format.roles.index("label")
    in_score = any(other.roles.index("score") == place for other in suitable)
    return in_score and len(set(format.label_words(sample))) == 2


def _what_was_seen(sample: Sample, request: Request) -> str:
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


def _unknown_words(sample: Sample, request: Request) -> tuple[int, str] | None:
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
