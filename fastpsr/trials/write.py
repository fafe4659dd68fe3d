"""Write scores in the layouts that they are read from."""

import gzip
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.files import whole_file
from fastpsr.trials.coded import Coded
from fastpsr.trials.hdf5 import NAMES, write_scores_hdf5
from fastpsr.trials.labels import VOCABULARIES
from fastpsr.trials.layouts import BARE_CSV, KIND, WITH_SPOOF, check_format, layout_of
from fastpsr.trials.optional import polars
from fastpsr.trials.trial_set import TrialSet
from fastpsr.wording import counted

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["write_scores"]

_USUAL_NAMES = {
    "nist": {"enroll": "modelid", "test": "segmentid", "side": "side", "score": "LLR"},
    "csv": {"enroll": "enroll", "test": "test", "side": "side", "score": "llr", "label": "label"},
}


def write_scores(
    path: str | os.PathLike[str],
    trials: TrialSet,
    llrs: ArrayLike | None = None,
    *,
    format: str | None = None,
) -> None:
    r"""Write scores of trials; after an error no file is created.

    Parameters
    ----------
    path : path
        The file to write; text is compressed if the name ends in .gz.
    trials : TrialSet
        Ids, and labels for formats that hold them, in this order.
    llrs : array-like of float, shape (N,), optional
        Natural-log likelihood ratios, or other scores; by default the trials' own.
    format : str, optional
        Name of the format; by default that of the file that the scores came from.

    Raises
    ------
    ValueError
        If the format needs what the trials lack, holds no scores, or cannot hold an id.

    Notes
    -----
    Numbers are written with enough digits to restore the same float64. In the format of the score
    file, the output has its columns in its order: labels only if it had labels, whatever the key
    says. In other formats NIST's TSV has ids, side and score; CSV, Parquet and npz also labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastpsr import trials
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, calibrated = pathlib.Path(folder, "a"), pathlib.Path(folder, "b")
    ...     _ = path.write_text("ann a 2 tgt\nbob b -3 imp\n")
    ...     trials.write_scores(calibrated, trials.read(path), [0.5, -0.25])
    ...     print(calibrated.read_text(), end="")
    ann a 0.5 tgt
    bob b -0.25 imp
    """
    check_format("format", format)
    name = format or trials.source.format
    target = Path(path)
    scores = trials.score if llrs is None else checks.as_floats("llrs", llrs, 1)
    checks.check_length("llrs", scores.size, len(trials))
    layout = layout_of(name)
    if layout.roles and "score" not in layout.roles:
        raise ArgumentError("format", f"{name} holds no scores: {' '.join(layout.roles)}")
    if not target.parent.is_dir():
        raise ValueError(f"{target} must lie in a folder that exists")
    if name in NAMES:
        _refuse_gzip(target, name)
        enroll, test = trials.ids
        with whole_file(target) as part:
            write_scores_hdf5(part, name, enroll, test, scores)
        return
    columns = _columns(trials, name, scores)
    with whole_file(target) as part:
        if name == "npz":
            _refuse_gzip(target, name)
            _write_npz(part, columns)
        elif name == "parquet":
            _refuse_gzip(target, name)
            _frame(columns).write_parquet(part)
        else:
            header = not layout.roles and name != BARE_CSV
            _write_text(part, target, name, columns, header=header)


def _columns(
    trials: TrialSet, name: str, scores: NDArray[np.float64]
) -> dict[str, Coded | NDArray[Any]]:
    """Return the columns of a format in its order, by the names to write."""
    source = trials.source
    if source.format == name and source.columns:
        roles = {column: role for role, column in source.names.items()}
        written_as = [(roles.get(column, column), column) for column in source.columns]
    else:
        own = layout_of(name).roles
        usual = _USUAL_NAMES["nist" if name == "nist" else "csv"]
        if trials.y_true is None:
            usual = {role: column for role, column in usual.items() if role != "label"}
        written_as = [(role, role) for role in own] or list(usual.items())
    made: dict[str, Coded | NDArray[Any]] = {}
    for role, written in written_as:
        if role in ("enroll", "test"):
            made[written] = trials.ids[role == "test"]
        elif role == "score":
            made[written] = scores
        elif role == "label":
            made[written] = _labels(trials, name)
        elif written in trials.columns:  # the side, where there is one, and conditions
            made[written] = trials.columns[written]
    return made


def _labels(trials: TrialSet, name: str) -> Coded:
    if trials.y_true is None:
        raise ArgumentError("format", f"{name} holds labels, and these trials have none")
    own = trials.source.format == name and trials.source.vocabulary
    kind = trials.columns.get(KIND)
    if own == WITH_SPOOF and isinstance(kind, Coded):
        return kind
    target, nontarget, *_ = VOCABULARIES[own or layout_of(name).words]
    codes = trials.y_true.astype(np.int32)
    names = [nontarget, target] if nontarget < target else [target, nontarget]
    return Coded(codes if nontarget < target else 1 - codes, polars().Series(names))


def _write_text(
    part: Path, target: Path, name: str, columns: dict[str, Any], *, header: bool
) -> None:
    separator = {"nist": "\t", "csv": ",", BARE_CSV: ","}.get(name, " ")
    if separator != ",":
        forbidden = "[\t\r\n]" if name == "nist" else r"[ \t\r\n\x01]"
        for column in columns.values():
            if isinstance(column, Coded):
                _check_ids(column, forbidden, name)
    options = {
        "separator": separator,
        "include_header": header,
        "quote_style": "necessary" if separator == "," else "never",
    }
    frame = _frame(columns)
    if target.suffix == ".gz":
        with open(part, "wb") as file, gzip.GzipFile("", "wb", 6, file, 0) as packed:
            frame.write_csv(packed, **options)  # type: ignore[call-overload]
    else:
        frame.write_csv(part, **options)  # type: ignore[call-overload]


def _check_ids(column: Coded, forbidden: str, name: str) -> None:
    wrong = column.names.filter(column.names.str.contains(forbidden) | (column.names == ""))
    if len(wrong):
        raise ArgumentError(
            "format",
            f"{name} cannot hold {counted(len(wrong), 'id')} with blanks, tabs or nothing in them, "
            f"such as {wrong[0]!r}",
        )


def _write_npz(part: Path, columns: dict[str, Coded | NDArray[Any]]) -> None:
    """Write as numpy.savez does, whatever the names are."""
    with zipfile.ZipFile(part, "w") as archive:
        for name, column in columns.items():
            array = column.strings().astype(np.str_) if isinstance(column, Coded) else column
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _refuse_gzip(path: Path, name: str) -> None:
    if path.suffix == ".gz":
        raise ValueError(f"only text is compressed by gzip, not {name}: {path}")


def _frame(columns: dict[str, Coded | NDArray[Any]]) -> "DataFrame":
    def series(column: Coded | NDArray[Any]) -> "Series | NDArray[Any]":
        return column.series() if isinstance(column, Coded) else column

    frame: DataFrame = polars().DataFrame({name: series(c) for name, c in columns.items()})
    return frame
