"""Detection of the format of a file from its content; ambiguity is an error."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fastpsr.errors import ArgumentError, shorten
from fastpsr.trials.formats import REGISTRY, check_format
from fastpsr.trials.formats.format import Format, Tolerance
from fastpsr.trials.labels import unknown_label
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample, look
from fastpsr.trials.unknown import unknown_words, what_was_seen

_KINDS = {format.magic: format.kind for format in REGISTRY if format.magic}
_EVERY_LINE = (Tolerance(1.0, any_ids=False), Tolerance(1.0, any_ids=True))
_MOST_LINES = (Tolerance(0.5, any_ids=False), Tolerance(0.5, any_ids=True))
_ANYTHING = Tolerance(0.0, any_ids=True)  # of as many columns


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
    if unknown := unknown_words(sample, request):
        raise ValueError(unknown_label(f"{path}:{unknown[0]}", unknown[1]))
    raise ValueError(f"{path}: {what_was_seen(sample, request)}")


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
