"""Files of BOSARIS, sidekit and DCA-PLDA: matrices of models and segments in HDF5."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, recode
from fastpsr.trials.optional import h5py, polars
from fastpsr.trials.request import Request
from fastpsr.wording import counted

__all__ = ["NAMES", "read_matrices", "write_scores_hdf5"]

#: Where each format keeps the ids of models and segments.
NAMES = {
    "bosaris": ("ID/row_ids", "ID/column_ids"),
    "sidekit": ("modelset", "segset"),
    "dca-plda": ("enroll_ids", "test_ids"),
}
#: The masks of scores, the first of which is written; None: a score for every pair.
_SCORE_MASKS: dict[str, tuple[str | None, ...]] = {
    "bosaris": ("score_mask",),
    "sidekit": ("score_mask",),
    "dca-plda": ("mask", "score_mask", None),
}
_BLOCK = 1 << 22  # entries of a matrix read at a time
_ROWS_ARE_MODELS = "fastpsr_rows_are_models"  # an attribute that settles square matrices


def read_matrices(
    path: Path, request: Request
) -> tuple[str, Coded, Coded, NDArray[np.uint8] | None, NDArray[np.float64] | None, str]:
    """Read a key or scores.

    Returns the format, models, segments, labels (keys), scores (scores), and the orientation in
    words. Trials come row by row.
    """
    name, wanted = request.format, request.wanted
    try:
        file = h5py().File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} must be a whole HDF5 file: {error}") from None
    with file:
        found = [known for known, ids in NAMES.items() if all(part in file for part in ids)]
        if name is not None:
            found = [known for known in found if known == name]
        if len(found) != 1:
            asked = name or " or ".join(f"{n} ({', '.join(ids)})" for n, ids in NAMES.items())
            raise ValueError(f"{path}: the names are not those of {asked}: {', '.join(file)}")
        models, segments = (_ids(path, file[part]) for part in NAMES[found[0]])
        parts = _parts(path, file, found[0], wanted)
        shape = (len(models), len(segments))
        if 0 in shape:
            raise ValueError(f"{path}: there are no {'segments' if shape[0] else 'models'}")
        turned, said = _orientation(path, file, parts, shape, request.transpose)
        rows, columns, labels, scores = [], [], [], []
        for first, blocks in _blocks(parts, shape, turned):
            row, column, label, score = _trials(path, parts, blocks, wanted)
            rows.append(row + first)
            columns.append(column)
            labels.append(label)
            scores.append(score)
    row, column = np.concatenate(rows), np.concatenate(columns)
    if row.size == 0:
        raise ValueError(f"{path}: the masks hold no trial")
    return (
        found[0],
        _rows_of(models, row),
        _rows_of(segments, column),
        np.concatenate(labels) if wanted == "key" else None,
        np.concatenate(scores) if wanted != "key" else None,
        said,
    )


def write_scores_hdf5(
    path: Path,
    name: str,
    enroll: Coded,
    test: Coded,
    scores: NDArray[np.float64],
) -> None:
    """Write a matrix of scores, and the mask of those that are trials."""
    models, row = np.unique(enroll.codes, return_inverse=True)
    segments, column = np.unique(test.codes, return_inverse=True)
    order = np.lexsort((column, row))
    row, column = row[order], column[order]
    if ((np.diff(row) == 0) & (np.diff(column) == 0)).any():
        raise ValueError("a trial occurs twice, which a matrix cannot hold")
    shape = (models.size, segments.size)
    with h5py().File(path, "w") as file:
        file.attrs[_ROWS_ARE_MODELS] = True
        for place, ids, codes in zip(NAMES[name], (enroll, test), (models, segments), strict=True):
            strings = [text.encode() for text in ids.names.gather(codes).to_list()]
            file[place] = np.array(strings, dtype=np.bytes_)
        mask = file.create_dataset(_SCORE_MASKS[name][0], shape, np.uint8, compression="gzip")
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


def _parts(path: Path, file: Any, format: str, wanted: str) -> dict[str, Any]:
    """Return the matrices that hold a key or scores; a mask is "trial_mask" or "score_mask"."""
    choices: list[dict[str, str]]
    if wanted == "key":
        choices = [{"trial_mask": "trial_mask"}]
        if format == "dca-plda":
            choices.append({"trial_mask": "mask"})
        choices.append({name: name for name in ("target_mask", "nontarget_mask")})
    else:
        choices = [
            {"scores": "scores"} | ({} if mask is None else {"score_mask": mask})
            for mask in _SCORE_MASKS[format]
        ]
    for names in choices:
        if all(name in file for name in names.values()):
            return {part: _numbers(path, file[name]) for part, name in names.items()}
    needed = " or ".join(" and ".join(names.values()) for names in choices)
    raise ValueError(f"{path}: there must be {needed}, not {', '.join(file)}")


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
    none = np.empty(0)
    if wanted != "key":
        mask = blocks.get("score_mask", np.broadcast_to(True, blocks["scores"].shape))
        row, column = np.nonzero(mask)
        return row, column, none, blocks["scores"][row, column].astype(np.float64)
    if "trial_mask" in parts:
        mask = blocks["trial_mask"]
        odd = ~np.isin(mask, (-1, 0, 1))
        if odd.any():
            name = parts["trial_mask"].name.strip("/")
            raise ValueError(f"{path}: {name} must hold 1, 0 and -1, not {mask[odd][0]}")
        row, column = np.nonzero(mask)
        return row, column, (mask[row, column] > 0).astype(np.uint8), none
    targets, nontargets = blocks["target_mask"] != 0, blocks["nontarget_mask"] != 0
    if (targets & nontargets).any():
        raise ValueError(f"{path}: a trial is in both target_mask and nontarget_mask")
    row, column = np.nonzero(targets | nontargets)
    return row, column, targets[row, column].astype(np.uint8), none
