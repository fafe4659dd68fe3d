"""Ids of samples (groups, clusters, speakers), encoded as integers from 0."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.frames import RowOrder, require_same_order
from fastpsr.kernels.types import index_type

#: Columns of tables that name the speakers of both sides.
SPEAKER_COLUMNS = ("enroll_speaker", "test_speaker")

_ROOMY = 4  # range of integer ids, relative to their number, up to which a table beats sorting
_MOST = int(np.iinfo(np.int64).max)


class CodedIds:
    """Strings of N samples as places in a table of the distinct ones.

    Where there are few distinct ones, they are compared and sorted in place of the rows.

    Attributes
    ----------
    codes : ndarray of int, shape (N,)
    words : ndarray of str
        In ascending order; rows need not use all of them.
    """

    def __init__(self, codes: NDArray[Any], words: NDArray[np.str_]) -> None:
        self.codes, self.words = codes, words

    dtype = property(lambda self: self.words.dtype)
    size = property(lambda self: self.codes.size)

    def __len__(self) -> int:
        return int(self.codes.size)

    def __getitem__(self, index: Any) -> "CodedIds":
        return CodedIds(self.codes[index], self.words)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.words.astype(object)[self.codes])

    def __ne__(self, other: object) -> Any:
        return np.asarray(self) != np.asarray(other)

    @staticmethod
    def numbered(sides: "Sequence[CodedIds]") -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """Return the distinct ids, and indices of these, as :func:`numbered` does."""
        words = sides[0].words
        if not all(np.array_equal(words, side.words) for side in sides):
            words = np.unique(np.concatenate([side.words for side in sides]))
        places = [np.searchsorted(words, side.words)[side.codes] for side in sides]
        present = np.zeros(words.size, bool)
        for side in places:
            present[side] = True
        number = np.cumsum(present, dtype=index_type(sum(map(len, sides)))) - 1
        return words[present], [number[side] for side in places]


def as_ids(name: str, ids: ArrayLike, n_samples: int, order: RowOrder = None) -> NDArray[Any]:
    """Return ids, one per sample, as an array of numbers or strings.

    If they have an index, it must not be that of the rows of the samples in another order.
    """
    require_same_order(name, ids, order)
    array = checks.as_array(name, ids, "ids")
    if array.ndim != 1:
        raise ArgumentError(name, f"must be 1-dimensional, not of shape {array.shape}")
    checks.check_length(name, array.size, n_samples)
    array = checks.as_words(ids, array)
    if array.dtype.kind == "O":
        return _of_objects(name, array)
    if array.dtype.kind in "fcmM" and np.isnan(array).any():
        position = int(np.flatnonzero(np.isnan(array))[0])
        raise _missing(name, position, str(array[position]))
    if array.dtype.kind == "u" and int(array.max(initial=0)) <= _MOST:  # same dtype as signed ids
        return array.astype(np.int64)
    return array


def numbered(*sides: Any) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return the distinct ids in ascending order, and the ids of each side as indices of these."""
    coded = [side for side in sides if isinstance(side, CodedIds)]
    if len(coded) == len(sides):
        return CodedIds.numbered(coded)
    sides = tuple(np.asarray(side) for side in sides)
    n = sum(side.size for side in sides)
    wide = index_type(n)
    kinds = {side.dtype.kind for side in sides}
    if kinds <= {"i", "u"} and n:
        low = min(int(side.min()) for side in sides if side.size)
        span = max(int(side.max()) for side in sides if side.size) - low + 1
        if span <= _ROOMY * sides[0].size and low <= _MOST:
            present = np.zeros(span, bool)
            # narrow types would overflow
            shifted = [np.subtract(s, low, dtype=np.int64) if low else s for s in sides]
            for side in shifted:
                present[side] = True
            number: NDArray[Any] = np.cumsum(present, dtype=wide)
            number -= 1
            distinct = np.flatnonzero(present)
            if low + span - 1 <= _MOST:
                return distinct + np.int64(low), [number[side] for side in shifted]
            beyond = np.uint64 if len(kinds) == 1 else object  # int64
            ids = np.array([low + int(d) for d in distinct], beyond)
            return ids, [number[side] for side in shifted]
        if len(kinds) > 1:  # as floats, large ids would be merged
            sides = tuple(side.astype(object) for side in sides)
    distinct, codes = np.unique(np.concatenate(sides), return_inverse=True)
    return distinct, np.split(codes.astype(wide), np.cumsum([side.size for side in sides[:-1]]))


def type_of(ids: NDArray[Any]) -> str:
    """Return a word for the type of ids: ids of one type can be compared."""
    return "integer" if ids.dtype.kind in "iuO" else ids.dtype.kind


def _of_objects(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return ids given as Python objects; raise unless all are strings or all integers."""
    if not array.size:  # of an empty part
        return array.astype(str)
    kind = str if isinstance(array[0], str) else (int, np.integer)
    for position, value in enumerate(array):
        if checks.is_missing(value):
            raise _missing(name, position, repr(value))
        if not isinstance(value, kind):
            rule = "must be ids that are all integers or all strings"
            raise ArgumentError(name, rule, position, value=repr(value))
    values = np.asarray(array.tolist())
    return values if values.dtype.kind in "iU" else array.astype(str)


def _missing(name: str, position: int, value: str) -> ArgumentError:
    remedy = "replace missing ids by one of their own, such as 'unknown', or -1 among numbers"
    return ArgumentError(name, "must have an id for each sample", position, remedy, value=value)
