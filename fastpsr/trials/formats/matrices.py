"""Files of BOSARIS, sidekit and DCA-PLDA: matrices of models and segments in HDF5."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import h5py, polars
from fastpsr.tables.sample import Sample
from fastpsr.trials.formats.format import Format
from fastpsr.trials.labels import VOCABULARIES, WITH_SPOOF
from fastpsr.trials.roles import Request
from fastpsr.trials.trial_file import OneFile, TrialFile
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame, Series

_BLOCK = 1 << 18  # entries of a matrix read at a time
_BYTES_PER_TRIAL = 100  # as strings
_ROWS_ARE_MODELS = "fastpsr_rows_are_models"  # an attribute that settles square matrices


@dataclass(frozen=True)
class Matrices(Format):
    """Matrices with a row per model and a column per segment, or transposed.

    Attributes
    ----------
    ids : pair of str
        Where the ids of models and segments are.
    key_masks : tuple of str
        Names that a mask of targets (1) and non-targets (-1; -2 if spoofed) may have.
    score_masks : tuple of str
        Names that the mask of scores may have; the first is written; "": a score for every
        pair.
    """

    ids: tuple[str, str] = ("", "")
    key_masks: tuple[str, ...] = ("trial_mask",)
    score_masks: tuple[str, ...] = ("score_mask",)

    kind: ClassVar[str] = "HDF5"

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.ids)})"

    def is_in(self, path: Path) -> bool:
        """Whether a file has the ids of this format."""
        with _opened(path) as file:
            return all(part in file for part in self.ids)

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        return _TrialsAsMatrices(path, self, request)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        """Write a matrix of scores, and the mask of those that are trials."""
        enroll, test = trials.ids
        models, row = np.unique(enroll.codes, return_inverse=True)
        segments, column = np.unique(test.codes, return_inverse=True)
        order = np.lexsort((column, row))
        row, column = row[order], column[order]
        if ((np.diff(row) == 0) & (np.diff(column) == 0)).any():
            raise ValueError("a trial occurs twice, which a matrix cannot hold")
        shape = (models.size, segments.size)
        with h5py().File(path, "w") as file:
            file.attrs[_ROWS_ARE_MODELS] = True
            for place, ids, codes in zip(self.ids, (enroll, test), (models, segments), strict=True):
                strings = [text.encode() for text in ids.names.gather(codes).to_list()]
                file[place] = np.array(strings, dtype=np.bytes_)
            mask = file.create_dataset(self.score_masks[0], shape, np.uint8, compression="gzip")
            matrix = file.create_dataset("scores", shape, np.float64, compression="gzip")
            step = max(1, _BLOCK // max(1, shape[1]))
            for first in range(0, shape[0], step):
                last = min(first + step, shape[0])
                low, high = np.searchsorted(row, [first, last])
                inside = (row[low:high] - first, column[low:high])
                block = np.zeros((last - first, shape[1]))
                block[inside] = scores[order[low:high]]
                mask_block = np.zeros(block.shape, np.uint8)
                mask_block[inside] = 1
                matrix[first:last], mask[first:last] = block, mask_block


class _Block(NamedTuple):
    """The trials of some models: rows and columns of their matrix, and scores or labels.

    Labels are 1, -1 and -2 for spoofed trials.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[Any]
    share: float


class _TrialsAsMatrices(OneFile):
    """Matrices whose masks mark the trials."""

    nothing = "the masks hold no trial"
    shape: tuple[int, int]

    def __init__(self, path: Path, format: Matrices, request: Request) -> None:
        if request.wanted == "labeled scores":
            raise ValueError(f"{path}: an HDF5 file of scores has no labels: give the key too")
        value = "label" if request.wanted == "key" else "score"
        roles = {role: role for role in ("enroll", "test", value)}
        super().__init__(path, format.name, (), roles, request, names_columns=False)
        with _opened(path) as file:
            if not all(part in file for part in format.ids):
                raise ValueError(f"{path}: the names are not those of {format}: {', '.join(file)}")
            ids = [_ids(path, file[part]) for part in format.ids]
            self.shape = (len(ids[0]), len(ids[1]))
            if 0 in self.shape:
                raise ValueError(
                    f"{path}: there are no {'segments' if self.shape[0] else 'models'}"
                )
            self._parts = _parts_of(path, file, format, request)
            parts = {part: file[name] for part, name in self._parts.items()}
            self._is_turned = _is_turned(path, file, parts, self.shape, request)
        self._ids = [_categories(names) for names in ids]
        said = "transposed: columns are models" if self._is_turned else "rows are models"
        self.remarks = (f"{format.ids[0]}: enroll", f"{format.ids[1]}: test", said)

    def pieces(self, n_bytes: int | None) -> Iterator[_Block]:
        """Yield the trials of some models at a time."""
        entries = _BLOCK if n_bytes is None else n_bytes // _BYTES_PER_TRIAL
        n_models, n_segments = self.shape
        step = max(1, entries // n_segments)
        with _opened(self.path) as file:
            for first in range(0, n_models, step):
                here = slice(first, min(first + step, n_models))
                parts = {
                    part: file[name][:, here].T if self._is_turned else file[name][here, :]
                    for part, name in self._parts.items()
                }
                mask, values = self._mask_and_values(parts)
                row, column = np.nonzero(mask)
                share = here.stop / n_models
                yield _Block(row + first, column, values[row, column], share)

    def frame(self, piece: _Block, kinds: Mapping[str, Any]) -> "DataFrame":
        """Return the trials of some models."""
        pl = polars()
        models, segments = self._ids
        columns = {"enroll": models.gather(piece.row), "test": segments.gather(piece.column)}
        if "score" in self.roles:
            columns["score"] = pl.Series(piece.value)
        else:
            words = pl.Series(VOCABULARIES[WITH_SPOOF])
            columns["label"] = words.gather(np.where(piece.value > 0, 0, -piece.value))
        frame: DataFrame = pl.DataFrame(columns)
        return frame

    def places(self, piece: _Block, rows: Sequence[int]) -> list[str]:
        """Name the file, and the rows and columns of trials."""
        places = [(piece.row[row], piece.column[row]) for row in rows]
        places = [place[::-1] for place in places] if self._is_turned else places
        return [f"{self.path}: row {i}, column {j}" for i, j in places]

    def _mask_and_values(self, parts: dict[str, NDArray[Any]]) -> tuple[Any, NDArray[Any]]:
        """Return which entries of matrices are trials, and the scores or labels."""
        if "scores" in parts:
            scores = parts["scores"]
            return parts.get("mask", np.broadcast_to(True, scores.shape)), scores
        if "key" in parts:
            mask = parts["key"]
            odd = ~np.isin(mask, (-2, -1, 0, 1))
            if odd.any():
                rule = "must hold 1, 0, -1 and, for spoofed trials, -2"
                raise ValueError(f"{self.path}: {self._parts['key']} {rule}, not {mask[odd][0]}")
            return mask, mask.astype(np.int8)
        targets, nontargets = parts["target_mask"] != 0, parts["nontarget_mask"] != 0
        if (targets & nontargets).any():
            raise ValueError(f"{self.path}: a trial is in both target_mask and nontarget_mask")
        return targets | nontargets, np.where(targets, np.int8(1), np.int8(-1))


def _parts_of(path: Path, file: Any, format: Matrices, request: Request) -> dict[str, str]:
    """Return the names of the matrices of a key or scores; a mask is "key" or "mask"."""
    if request.wanted == "key":
        choices = [{"key": name} for name in format.key_masks]
        choices.append({name: name for name in ("target_mask", "nontarget_mask")})
    else:
        choices = [{"scores": "scores", "mask": name} for name in format.score_masks]
        choices = [{part: name for part, name in c.items() if name} for c in choices]
    for names in choices:
        if all(name in file for name in names.values()):
            for name in names.values():
                _check_numbers(path, file[name])
            return names
    needed = " or ".join(" and ".join(names.values()) for names in choices)
    raise ValueError(f"{path}: there must be {needed}, not {', '.join(file)}")


def _opened(path: Path) -> Any:
    """Open a file, to be closed by `with`."""
    try:
        return h5py().File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} must be a whole HDF5 file ({error}): copy it again") from None


def _check_numbers(path: Path, dataset: Any) -> None:
    dtype = getattr(dataset, "dtype", None)  # a group has none
    if dtype is None or dtype.kind not in "biuf":
        raise ValueError(f"{path}: {dataset.name} must hold numbers, not {dtype or 'a group'}")


def _ids(path: Path, dataset: Any) -> list[str]:
    if not hasattr(dataset, "dtype"):
        raise ValueError(f"{path}: {dataset.name} must hold strings, not a group")
    values = np.asarray(dataset[()]).ravel().tolist()
    try:
        ids = [value.decode() if isinstance(value, bytes) else value for value in values]
    except UnicodeDecodeError:
        ids = [None]
    if not all(isinstance(name, str) for name in ids):
        raise ValueError(f"{path}: {dataset.name} must hold strings in UTF-8")
    return ids


def _categories(ids: list[str]) -> "Series":
    """Return ids as categories, which take less memory and time than strings."""
    pl = polars()
    given: Series = pl.Series(ids, dtype=pl.String)
    return given.cast(pl.Enum(given.unique(maintain_order=True)))


def _is_turned(
    path: Path, file: Any, parts: dict[str, Any], shape: tuple[int, int], request: Request
) -> bool:
    """Return whether the columns of the matrices are models."""
    shapes = {part.shape for part in parts.values()}
    if len(shapes) > 1:
        said = ", ".join(f"{name} {part.shape}" for name, part in parts.items())
        raise ValueError(f"{path}: matrices must be of one shape, not {said}")
    (found,) = shapes
    if found not in (shape, shape[::-1]):
        raise ValueError(
            f"{path}: for {counted(shape[0], 'model')} and {counted(shape[1], 'segment')} the "
            f"matrices must be {shape}, or {shape[::-1]} if MATLAB transposed them, not {found}"
        )
    if shape[0] != shape[1] or shape[0] == 1:
        turned: bool = found != shape
        if request.transpose not in (None, turned):
            rule = f"does not fit {path}, where {'columns' if turned else 'rows'} are models"
            raise ArgumentError(request.argument, f"{rule}: matrices are {found} for {shape}")
        return turned
    if request.transpose is None and not file.attrs.get(_ROWS_ARE_MODELS, False):
        rule = (
            f"{counted(shape[0], 'model')} and as many segments do not tell whether models are "
            "columns, as MATLAB transposes them (transpose), or rows"
        )
        raise request.unclear(path, rule, "no-transpose")
    return bool(request.transpose)
