"""Files of BOSARIS, sidekit and DCA-PLDA: matrices of models and segments in HDF5."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, recode
from fastpsr.trials.content import Reading
from fastpsr.trials.formats.format import Format, Rigor
from fastpsr.trials.labels import VOCABULARIES
from fastpsr.trials.names import KIND, WITH_SPOOF
from fastpsr.trials.optional import h5py, polars
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample
from fastpsr.trials.trial_set import TrialSet
from fastpsr.wording import counted

__all__ = ["Matrices"]

_BLOCK = 1 << 22  # entries of a matrix read at a time
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
        Names that the mask of scores may have, the first of which is written; "": a score for every
        pair.
    """

    ids: tuple[str, str] = ("", "")
    key_masks: tuple[str, ...] = ("trial_mask",)
    score_masks: tuple[str, ...] = ("score_mask",)

    kind: ClassVar[str] = "HDF5"
    magic: ClassVar[bytes] = b"\x89HDF\r\n\x1a\n"
    names_columns: ClassVar[bool] = False
    has_matrices: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.ids)})"

    def fits(self, path: Path, sample: Sample, request: Request, rigor: Rigor) -> bool:
        with _opened(path) as file:
            return all(part in file for part in self.ids)

    def read(self, path: Path, sample: Sample, request: Request) -> Reading:
        wanted = request.wanted
        if wanted == "labeled scores":
            raise ValueError(f"{path}: an HDF5 file of scores has no labels: give the key too")
        with _opened(path) as file:
            if not all(part in file for part in self.ids):
                raise ValueError(f"{path}: the names are not those of {self}: {', '.join(file)}")
            models, segments = (_ids(path, file[part]) for part in self.ids)
            parts = self._parts(path, file, wanted)
            shape = (len(models), len(segments))
            if 0 in shape:
                raise ValueError(f"{path}: there are no {'segments' if shape[0] else 'models'}")
            turned, said = _orientation(path, file, parts, shape, request.transpose)
            rows, columns, values = [], [], []
            for first, blocks in _blocks(parts, shape, turned):
                row, column, value = _trials(path, parts, blocks, wanted)
                rows.append(row + first)
                columns.append(column)
                values.append(value)
        row, column, value = (np.concatenate(each) for each in (rows, columns, values))
        if row.size == 0:
            raise ValueError(f"{path}: the masks hold no trial")
        kinds: dict[str, Any] = {}
        if wanted == "key" and value.min() < -1:
            words = VOCABULARIES[WITH_SPOOF]
            names = polars().Series(sorted(words))
            places = np.array([sorted(words).index(word) for word in words], np.int32)
            kinds = {KIND: Coded(places[np.where(value > 0, 0, -value)], names)}
            said = f"{said}; trials marked -2 are spoofed: non-targets, told apart by {KIND}"
        return Reading(
            str(path),
            self.name,
            f"{path}: {self.name}; {self.ids[0]}: enroll; {self.ids[1]}: test; {said}",
            _rows_of(models, row),
            _rows_of(segments, column),
            (value > 0).astype(np.uint8) if wanted == "key" else None,
            None if wanted == "key" else value,
            kinds,
        )

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

    def _parts(self, path: Path, file: Any, wanted: str) -> dict[str, Any]:
        """Return the matrices that hold a key or scores; a mask is "key" or "mask"."""
        if wanted == "key":
            choices = [{"key": name} for name in self.key_masks]
            choices.append({name: name for name in ("target_mask", "nontarget_mask")})
        else:
            choices = [{"scores": "scores", "mask": name} for name in self.score_masks]
            choices = [{part: name for part, name in c.items() if name} for c in choices]
        for names in choices:
            if all(name in file for name in names.values()):
                return {part: _numbers(path, file[name]) for part, name in names.items()}
        needed = " or ".join(" and ".join(names.values()) for names in choices)
        raise ValueError(f"{path}: there must be {needed}, not {', '.join(file)}")


def _opened(path: Path) -> Any:
    """Open a file, to be closed by `with`."""
    try:
        return h5py().File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} must be a whole HDF5 file ({error}): copy it again") from None


def _numbers(path: Path, dataset: Any) -> Any:
    dtype = getattr(dataset, "dtype", None)  # a group has none
    if dtype is None or dtype.kind not in "biuf":
        raise ValueError(f"{path}: {dataset.name} must hold numbers, not {dtype or 'a group'}")
    return dataset


def _ids(path: Path, dataset: Any) -> list[str]:
    if not hasattr(dataset, "dtype"):
        raise ValueError(f"{path}: {dataset.name} must hold strings, not a group")
    values = np.asarray(dataset[()]).ravel().tolist()
    try:
        return [value.decode() if isinstance(value, bytes) else _as_str(value) for value in values]
    except (UnicodeDecodeError, TypeError):
        raise ValueError(f"{path}: {dataset.name} must hold strings in UTF-8") from None


def _as_str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _rows_of(ids: list[str], rows: NDArray[np.int64]) -> Coded:
    pl = polars()
    given = pl.Series(ids, dtype=pl.String)
    names = given.unique().sort()
    places = recode(Coded(np.arange(len(ids), dtype=np.int32), given), names)
    return Coded(places.astype(np.int32)[rows], names)


def _orientation(
    path: Path, file: Any, parts: dict[str, Any], shape: tuple[int, int], transpose: bool | None
) -> tuple[bool, str]:
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
        turned = found != shape
        if transpose is not None and transpose != turned:
            rule = f"does not fit {path}, where {'columns' if turned else 'rows'} are models"
            raise ArgumentError("transpose", f"{rule}: matrices are {found} for {shape}")
    elif transpose is not None:
        turned = transpose
    elif file.attrs.get(_ROWS_ARE_MODELS, False):
        turned = False
    else:
        raise ArgumentError(
            "transpose",
            f"{counted(shape[0], 'model')} and as many segments do not tell whether models are "
            "rows or, as MATLAB transposes them, columns",
            remedy="pass transpose=False if they are rows, transpose=True if they are columns",
            pass_={"transpose": bool},
            name=f"{path}:",
        )
    return turned, "transposed: columns are models" if turned else "rows are models"


def _blocks(
    parts: dict[str, Any], shape: tuple[int, int], turned: bool
) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Give some models at a time, each block with models in its rows."""
    step = max(1, _BLOCK // max(1, shape[1]))
    for first in range(0, shape[0], step):
        here = slice(first, min(first + step, shape[0]))
        yield (
            first,
            {n: part[:, here].T if turned else part[here, :] for n, part in parts.items()},
        )


def _trials(path: Path, parts: dict[str, Any], blocks: dict[str, NDArray[Any]], wanted: str) -> Any:
    """Return rows, columns and values of trials: scores, or 1, -1 and -2 of a key."""
    if wanted != "key":
        mask = blocks.get("mask", np.broadcast_to(True, blocks["scores"].shape))
        row, column = np.nonzero(mask)
        return row, column, blocks["scores"][row, column].astype(np.float64)
    if "key" in parts:
        mask = blocks["key"]
        odd = ~np.isin(mask, (-2, -1, 0, 1))
        if odd.any():
            name = parts["key"].name.strip("/")
            rule = "must hold 1, 0, -1 and, for spoofed trials, -2"
            raise ValueError(f"{path}: {name} {rule}, not {mask[odd][0]}")
        row, column = np.nonzero(mask)
        return row, column, mask[row, column].astype(np.int8)
    targets, nontargets = blocks["target_mask"] != 0, blocks["nontarget_mask"] != 0
    if (targets & nontargets).any():
        raise ValueError(f"{path}: a trial is in both target_mask and nontarget_mask")
    row, column = np.nonzero(targets | nontargets)
    return row, column, np.where(targets[row, column], np.int8(1), np.int8(-1))
