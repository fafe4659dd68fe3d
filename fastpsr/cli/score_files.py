"""Files of scores with labels: .npz, .npy, .csv and .parquet."""

import errno
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.cli.options import BY_WHAT_IS_KNOWN, SPEAKERS
from fastpsr.cli.wording import in_options
from fastpsr.errors import ArgumentError
from fastpsr.files import whole_file
from fastpsr.predictions import Predictions
from fastpsr.trials.speakers import SPEAKER_COLUMNS
from fastpsr.trials.too_large import first_too_large

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = [
    "LABELS",
    "WEIGHTS",
    "ScoreFile",
    "check_written_ending",
    "find_clusters",
    "find_column",
    "is_table",
    "known_column",
    "read_scores",
    "score_columns",
    "write_columns",
]

_ENDINGS = (".npz", ".npy", ".csv", ".parquet", ".pq")
#: Usual names of columns of labels and of weights.
LABELS = ("y_true", "label", "labels", "target", "targets")
WEIGHTS = ("sample_weight", "weight", "weights")
#: Columns of the ids of trials, beside those of speakers.
ID_COLUMNS = ("enroll", "test")


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """Content of a file, and the interpretation of its columns."""

    path: Path
    scores: NDArray[Any]
    y_true: NDArray[Any] | None
    weights: NDArray[Any] | None
    clusters: tuple[NDArray[Any], ...]  # of none, one column, or speakers of both sides
    names: tuple[str, str, str, str]  # names of scores, labels, weights and clusters

    @property
    def taken(self) -> str:
        """The interpretation of the columns, as text."""
        scores, labels, weights, clusters = self.names
        said = f"scores: {scores}; labels: {labels or 'none'}; weights: {weights or 'none'}"
        return f"{said}; clusters: {clusters}" if clusters else said

    def require_labels(self) -> None:
        """Raise if there are no labels."""
        if self.y_true is None:
            raise ValueError(f"{self.path} has no labels: say where they are with --labels")

    def predictions(self, scores_are: str, priors: list[float] | None) -> Predictions:
        """Make predictions of scores that are posteriors, logits, LLRs, ..."""
        makers: dict[str, tuple[str, Callable[..., Predictions]]] = {
            "posteriors": ("q", Predictions.from_posteriors),
            "log-posteriors": ("log_q", Predictions.from_log_posteriors),
            "logits": ("z", Predictions.from_logits),
            "log-likelihoods": ("log_lk", Predictions.from_log_likelihoods),
            "llr": ("llr", Predictions.from_llrs),
            "log10-llr": ("llr", Predictions.from_llrs),
            "raw": ("scores", Predictions.from_raw_scores),
        }
        argument, make = makers[scores_are]
        options: dict[str, Any] = {"priors": priors}
        if scores_are == "raw":
            options = {}
        elif scores_are.endswith("llr"):
            options = {"prior": None if priors is None else priors[1]}
        x = self.scores
        if x.ndim == 2 and x.shape[1] == 1:
            x = x[:, 0]
        if x.ndim == 2 and scores_are in ("llr", "log10-llr", "raw"):
            raise ValueError(
                f"{self.path}: {scores_are} scores must be one column, not {x.shape[1]} "
                f"({self.names[0]}); say which with --columns"
            )
        if scores_are == "log10-llr":
            x = np.log(10.0) * np.asarray(x, dtype=np.float64)
        try:
            return make(self.y_true, x, sample_weight=self.weights, **options)
        except ArgumentError as error:
            columns = self.names[0].split(", ")
            scores, named = (columns[0], ()) if len(columns) == 1 else ("scores", columns)
            names = {argument: scores, "y_true": self.names[1], "sample_weight": self.names[2]}
            more = ""
            if error.argument == argument and scores_are == "posteriors":
                more = "; other kinds of scores need --scores-are, other columns --columns"
            if error.argument in names:
                error = error.renamed(names[error.argument], named)
            raise ValueError(f"{self.path}: {in_options(error)}{more}") from None


def read_scores(
    path: Path,
    labels: str | None,
    scores: str | None,
    weights: str | None,
    clusters: str | None = None,
) -> ScoreFile:
    """Read a file; the format is that of its extension.

    `labels`, `scores`, `weights` and `clusters` name columns or arrays (several for scores,
    separated by commas; clusters as for `find_clusters`); for .npy files, all except the scores are
    separate files.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if path.suffix == ".npy":
        return _read_npy(path, labels, scores, weights, clusters)
    if path.suffix == ".npz":
        names, load = _open_npz(path)
    elif path.suffix in (".csv", ".parquet", ".pq"):
        names, load = _open_table(path)
    else:
        raise ValueError(
            f"{path} must end in .npz, .npy, .csv or .parquet to be a table; score files of trials "
            "follow --scores"
        )
    label = find_column(path, names, labels, LABELS)
    weight = find_column(path, names, weights, WEIGHTS)
    drawn = find_clusters(path, names, clusters)
    if scores is not None:
        chosen = [known_column(path, names, name) for name in scores.split(",")]
    else:
        chosen = score_columns(names, label, weight, *drawn)
        if path.suffix == ".npz" and len(chosen) > 1:
            raise ValueError(
                f"--columns must name one of the arrays of {path}: {', '.join(chosen)}"
            )
    if not chosen:
        raise ValueError(f"{path} must have a column of scores besides {', '.join(names)}")
    parts = [_numbers(path, name, load(name)) for name in chosen]
    if len({part.shape for part in parts}) > 1:
        shapes = ", ".join(f"{n} {p.shape}" for n, p in zip(chosen, parts, strict=True))
        raise ValueError(f"{path} must have scores of one length, not {shapes}")
    x = parts[0] if len(parts) == 1 else np.column_stack(parts)
    return ScoreFile(
        path,
        x,
        load(label) if label else None,
        load(weight) if weight else None,
        tuple(load(name) for name in drawn),
        (", ".join(chosen), label or "", weight or "", ", ".join(drawn)),
    )


def is_table(path: Path) -> bool:
    """Whether a file is a table, judged by its extension."""
    return path.suffix in _ENDINGS


def check_written_ending(path: Path) -> None:
    """Raise unless a table can be written to a file with this extension."""
    if path.suffix not in (".npz", ".csv", ".parquet"):
        raise ValueError(f"{path} must end in .npz, .csv or .parquet to be written")


def write_columns(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    """Write arrays of equal length to .npz, .csv or .parquet, atomically."""
    check_written_ending(path)
    with whole_file(path) as part:
        if path.suffix == ".npz":
            np.savez(part, **columns)  # type: ignore[arg-type]
            return
        import polars

        flat: dict[str, NDArray[Any]] = {}
        for name, values in columns.items():
            if values.ndim == 1:
                flat[name] = values
            else:
                flat.update({f"{name}_{k}": values[:, k] for k in range(values.shape[1])})
        frame = polars.DataFrame(flat)
        frame.write_csv(part) if path.suffix == ".csv" else frame.write_parquet(part)


def _read_npy(
    path: Path,
    labels: str | None,
    scores: str | None,
    weights: str | None,
    clusters: str | None,
) -> ScoreFile:
    if scores is not None:
        raise ValueError(f"--columns names columns, and {path} has none")
    if clusters == BY_WHAT_IS_KNOWN:
        clusters = None
    if clusters is not None and not clusters.endswith(".npy"):
        raise ValueError(
            f"--resample must be iid, stratified or a .npy file beside {path}, not {clusters!r}"
        )
    return ScoreFile(
        path,
        _load(path),
        _load(Path(labels)) if labels else None,
        _load(Path(weights)) if weights else None,
        (_load(Path(clusters)),) if clusters else (),
        (path.name, labels or "", weights or "", clusters or ""),
    )


def _load(path: Path) -> NDArray[Any]:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise ValueError(
            f"{path} must be a whole .npy file of numbers or text: it is cut short, damaged, or "
            "holds a pickle"
        ) from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} must be a .npy file, not an archive")
    return array


def _open_npz(path: Path) -> tuple[list[str], Callable[[str], NDArray[Any]]]:
    """Return the names of the arrays, and a function that reads one of them."""

    def attempt(what: str, read: Callable[[Any], Any]) -> Any:
        with path.open("rb") as file:
            if file.read(6) == b"\x93NUMPY":
                raise ValueError(f"{path} holds a single array: its name must end in .npy")
        try:
            with np.load(path, allow_pickle=False) as archive:
                found = read(archive)
            if isinstance(found, (list, np.ndarray)):
                return found
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            pass  # NumPy names its arguments rather than the file
        raise ValueError(
            f"{path} must be a whole .npz file of numbers or text: {what} is cut short, damaged "
            "or holds a pickle"
        )

    names = attempt("it", lambda archive: archive.files)
    return names, lambda name: attempt(name, lambda archive: archive[name])


def _open_table(path: Path) -> tuple[list[str], Callable[[str], NDArray[Any]]]:
    """Return the names of the columns, and a function that reads one of them."""
    import polars

    kind = "CSV" if path.suffix == ".csv" else "Parquet"
    try:
        if kind == "CSV":  # types are inferred from all rows; rows of other lengths are errors
            frame = polars.read_csv(path, infer_schema_length=None, glob=False)
            _check_header(path, frame)
            return frame.columns, lambda name: _as_numbers(path, frame[name]).to_numpy()
        lazy = polars.scan_parquet(path, glob=False)
        names = lazy.collect_schema().names()
    except (polars.exceptions.PolarsError, OSError) as error:
        if not path.is_file():
            raise
        reason = str(error).strip().splitlines()[0]  # what follows is advice on arguments of polars
        raise ValueError(f"{path} must be a whole {kind} file: {reason}") from None
    return names, lambda name: lazy.select(name).collect()[name].to_numpy()


def _check_header(path: Path, frame: "DataFrame") -> None:
    """Raise if the first line seems to be data: numbers that are unlikely names of columns.

    Plain integers may be names, and words above numbers show that the line is a header.
    """
    suspect = ""
    for name, kind in frame.schema.items():
        word = re.sub(r"_duplicated_\d+$", "", name).strip()  # suffix added by polars
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", word, re.IGNORECASE):
            suspect = suspect or ("" if word.isdecimal() else word)
        elif kind.is_numeric() and word.lower().lstrip("-+") not in ("", "nan", "inf"):
            return
    if suspect:
        raise ValueError(
            f"{path}: the first line must be a header with the names of the columns, not numbers "
            f"such as {suspect!r}"
        )


def _as_numbers(path: Path, column: "Series") -> "Series":
    """Convert a text column of numbers to numbers, since polars does not always parse nan and inf.

    Raises if a number is too large for a float64, unless it is written as infinite.
    """
    import polars

    numbers = column
    if column.dtype == polars.String:
        numbers = column.str.strip_chars().cast(polars.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            return column
    name, found = column.name, None
    if numbers.dtype == polars.Float64:
        found = first_too_large(
            numbers, lambda: polars.read_csv(path, infer_schema_length=0, glob=False)[name]
        )
    if found is not None:
        row, word = found
        raise ValueError(
            f"{path}: {name} must be numbers that a float64 holds, but {name}[{row}] is {word}"
        )
    return numbers


def _numbers(path: Path, name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of numbers; raise if it has no rows or contains text."""
    if column.size == 0:
        raise ValueError(f"{path} has no rows")
    if column.dtype.kind in "OUS":
        words = ((row, word) for row, word in enumerate(column) if not _is_number(word))
        row, word = next(words, (0, column[0]))
        raise ValueError(
            f"{path}: scores must be numbers, but column {name!r} holds {str(word)!r} in row "
            f"{row}; name the columns of scores with --columns"
        )
    return column


def _is_number(word: object) -> bool:
    if word is None:  # an empty cell
        return True
    try:
        float(str(word))
    except ValueError:
        return False
    return True


def find_column(
    path: Path, names: list[str], asked: str | None, usual: tuple[str, ...]
) -> str | None:
    """Return the requested column, by default the first one with a usual name."""
    if asked is not None:
        return known_column(path, names, asked)
    return next((name for name in usual if name in names), None)


def find_clusters(path: Path, names: list[str], asked: str | None) -> tuple[str, ...]:
    """Return the columns whose values are drawn: none, one, or the speakers of both sides.

    These are `asked` for by "speaker"; by default they are drawn where the table has them.
    """
    if asked is None:
        return ()
    if asked in (BY_WHAT_IS_KNOWN, SPEAKERS) and set(SPEAKER_COLUMNS) <= set(names):
        return SPEAKER_COLUMNS
    if asked == BY_WHAT_IS_KNOWN:
        return ()
    if asked in names:
        return (asked,)
    lacking = f", which needs columns {' and '.join(SPEAKER_COLUMNS)}" * (asked == SPEAKERS)
    raise ValueError(
        f"--resample must be iid, stratified or a column of {path} ({', '.join(names)}), not "
        f"{asked!r}{lacking}"
    )


def score_columns(names: list[str], *other: str | None) -> list[str]:
    """Return the columns that are not `other`, nor those of speakers and ids of trials."""
    of_trials = (*SPEAKER_COLUMNS, *ID_COLUMNS) if set(SPEAKER_COLUMNS) <= set(names) else ()
    return [name for name in names if name not in (*other, *of_trials)]


def known_column(path: Path, names: list[str], name: str) -> str:
    """Return the name of a column; raise if there is no such column."""
    if name.strip() not in names:
        raise ValueError(f"{path} has no column {name.strip()!r}; it has {', '.join(names)}")
    return name.strip()
