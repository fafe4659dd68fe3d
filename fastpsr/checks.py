"""Validate user input and convert it to plain arrays; errors are one line."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import kernels
from fastpsr.errors import ArgumentError

Floats = NDArray[np.float64]

SUM_TOLERANCE = 1e-6  # largest deviation of the sum of priors, or of a row of posteriors, from 1
_LEAVE_OUT = "leave out samples without a label, with their scores"
_MANY_LABELS = (
    "where a sample may have several labels, evaluate column by column, y_true[:, k] with q[:, k]"
)
_FEW_CLASSES = 32  # number of classes up to which all labels are compared with each class
_MOST_LISTED = 10  # number of classes up to which a message lists them
#: Integers up to which a float64 holds each.
LARGEST_EXACT = 2**53
_FINITE = float(np.finfo(np.float64).max)


def read(name: str, values: ArrayLike, what: str = "real numbers") -> NDArray[Any]:
    """Return `values` as an array of numbers; the dtype is kept."""
    array = as_array(name, values, what)
    if array.dtype == object and array.ndim == 1:
        lengths = {len(row) for row in array if isinstance(row, (list, tuple, np.ndarray))}
        if len(lengths) == 1:
            remedy = f"pass np.stack(list({name}))"
            raise ArgumentError(name, f"must be an array of {what}, not of rows", remedy=remedy)
    try:
        if array.dtype == object:
            values, array = array, array.astype(np.float64)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"not {array.dtype}")
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(name, f"must be an array of {what}: {error}") from None
    if array.dtype.kind == "f" and array.ndim:  # integers among floats become these
        _require_exact(name, values, array)
    return array


def as_array(name: str, values: ArrayLike, what: str) -> NDArray[Any]:
    """Return `values` as an array of any dtype."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ArgumentError(name, "must not have masked entries")
    try:
        is_wide = str(getattr(values, "dtype", "")) == "Int128"  # of polars, which NumPy lacks
        return np.asarray(list(values) if is_wide else values)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        remedy = ""
        if hasattr(values, "detach"):  # a PyTorch tensor that NumPy does not accept
            remedy = f"pass {name}.detach().float().cpu().numpy()"
        rule = f"must be an array of {what}: {error}"
        raise ArgumentError(name, rule, remedy=remedy) from None


def as_number(name: str, value: object) -> float:
    """Return a single number of any numeric type as a float."""
    try:
        array = read(name, value)  # type: ignore[arg-type]
    except ValueError:
        array = np.empty(1)
    if array.ndim:
        raise ArgumentError(name, f"must be a number, not {value!r}")
    return float(array)


def as_floats(
    name: str, values: ArrayLike, ndim: int | tuple[int, ...], *, may_be_empty: bool = False
) -> Floats:
    """Return `values` as a C-contiguous float64 array, without a copy if it already is one."""
    return _as_floats(name, read(name, values), ndim, may_be_empty=may_be_empty)


def _as_floats(
    name: str, array: NDArray[Any], ndim: int | tuple[int, ...], *, may_be_empty: bool
) -> Floats:
    allowed = (ndim,) if isinstance(ndim, int) else ndim
    if array.ndim not in allowed:
        wanted = " or ".join(f"{d}-dimensional" for d in allowed)
        raise ArgumentError(name, f"must be {wanted}, not of shape {array.shape}")
    if array.size == 0 and not may_be_empty:
        raise ArgumentError(name, f"must not be empty, its shape is {array.shape}")
    with np.errstate(all="ignore"):  # overflow and signaling nan: found by later checks
        return np.ascontiguousarray(array, dtype=np.float64)


def as_floor(floor: object) -> float:
    """Return the floor of posteriors; raise unless it is below 0.5."""
    value = as_number("floor", floor)
    if not 0.0 <= value < 0.5:
        raise ArgumentError("floor", f"must lie in 0 to 0.5 (excluded), not {floor}")
    return value


def as_level(confidence_level: object) -> float:
    """Return a confidence level between 0 and 1; the error for a percentage suggests a fraction."""
    level = 0.0
    if isinstance(confidence_level, (int, float, np.integer, np.floating)):
        level = float(confidence_level)
    if 0.0 < level < 1.0:
        return level
    fraction = float(f"{level / 100:.12g}")
    raise ArgumentError(
        "confidence_level",
        f"must lie strictly between 0 and 1, not {confidence_level!r}",
        pass_={"confidence_level": fraction} if 50.0 <= level < 100.0 else {},  # percent
    )


def as_column(array: NDArray[Any]) -> NDArray[Any]:
    """Return (N,) for an array (N, 1)."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def as_scores(name: str, values: ArrayLike) -> Floats:
    """Return scores without nan, (N,), for kernels; shape (N, 1) is accepted."""
    array = as_column(read(name, values))
    if array.ndim == 2 and array.shape[1] == 2:
        raise ArgumentError(
            name,
            f"must be 1-dimensional, not of shape {array.shape}",
            remedy=f"pass the column of class 1, {name}[:, 1]; two columns of posteriors are for "
            "from_posteriors",
        )
    rows = as_rows(name, array, 1)
    require(name, rows, -np.inf, np.inf, "not be nan")
    return rows


def as_rows(name: str, values: ArrayLike, ndim: int | tuple[int, ...]) -> Floats:
    """Return `values` as scores for kernels: float64, contiguous, maybe without rows."""
    array = read(name, values)
    _require_exact(name, array, array)
    return _as_floats(name, array, ndim, may_be_empty=True)


def _require_exact(name: str, values: ArrayLike, array: NDArray[Any]) -> None:
    """Raise if integers are so large that different ones are the same float64."""
    are_objects = isinstance(values, list | tuple) or getattr(values, "dtype", None) == np.dtype(
        object
    )
    if array.dtype.itemsize < 8 or not (are_objects or array.dtype.kind in "iu"):
        return
    large = np.flatnonzero((array >= LARGEST_EXACT) | (array <= -LARGEST_EXACT))
    integers = np.asarray(values, object) if are_objects and large.size else array
    for position in large:
        index = np.unravel_index(position, array.shape)
        value = integers[index]
        if isinstance(value, (int, np.integer)) and int(float(value)) != int(value):
            rule = "must be numbers that a float64 holds: integers beyond 2**53 would be rounded"
            row, column, *_ = (*map(int, index), None, None)
            remedy = "subtract a constant from each row"
            if column is None:
                ranks = f"np.unique({name}, return_inverse=True)[1]"
                remedy = f"subtract a constant, or pass ranks, {ranks}"
            raise ArgumentError(name, rule, row, remedy, column=column, value=str(value))


def require(
    name: str, values: NDArray[Any], low: float, high: float, rule: str, remedy: str = ""
) -> None:
    """Raise unless ``low <= value <= high`` for all values; nan never passes."""
    position = kernels.checking.find_outside(values.reshape(-1), low, high)
    if position >= 0:
        index = np.unravel_index(position, values.shape)
        row, *column = map(int, index)
        raise ArgumentError(
            name,
            f"must {rule}",
            row,
            remedy,
            column=column[0] if column else None,
            value=str(values[index]),
        )


def _require_rows(
    name: str, values: Floats, low: float, high: float, rule: str, remedy: str = ""
) -> None:
    """Raise unless ``low <= value <= high`` for each row; the rule may name the value."""
    row = kernels.checking.find_outside(values, low, high)
    if row >= 0:
        raise ArgumentError(name, rule.format(row=row, value=values[row]), int(row), remedy)


def as_inner_points(points: ArrayLike, ndim: int | tuple[int, ...]) -> Floats:
    """Return `points`; raise unless they lie strictly between 0 and 1."""
    array = as_floats("points", points, ndim)
    rule = "lie strictly between 0 and 1"
    require("points", array, np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0), rule)
    return array


def check_number(name: str, value: object, low: float, high: float, rule: str) -> float:
    """Return `value` as a float after checking that it is one number from `low` to `high`."""
    number = as_number(name, value)
    if not low <= number <= high:
        raise ArgumentError(name, f"must {rule}, not {value}")
    return number


def as_inner_number(name: str, value: object) -> float:
    """Return `value` as a float; raise unless it is a number strictly between 0 and 1."""
    return check_number(name, value, 5e-324, 1.0 - 2.0**-53, "lie strictly between 0 and 1")


def check_binary(what: str, n_classes: int, *, takes_class: bool = False) -> None:
    """Raise for more than two classes: `what` is for two classes.

    `takes_class` says that the caller has an argument for one class against the rest.
    """
    if n_classes != 2:
        raise ArgumentError(
            "predictions",
            f"must be of a binary task for {what}, not of {n_classes} classes",
            remedy=f"pass class_= for one class against the rest, 0 to {n_classes - 1}"
            if takes_class
            else "take one class c against the rest, "
            "fp.Predictions.from_posteriors(y_true == c, posteriors[:, c])",
        )


def check_integer(name: str, value: object, lowest: int) -> None:
    """Raise unless `value` is an integer of at least `lowest`."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < lowest:  # type: ignore[operator]
        raise ArgumentError(name, f"must be an integer of at least {lowest}, not {value!r}")


def check_bins(bins: object) -> None:
    """Raise unless `bins` is a number of bins."""
    check_integer("bins", bins, 1)
    check_number("bins", bins, 1, 1 << 24, "be at most 16,777,216")


def check_instance(name: str, value: object, wanted: type | tuple[type, ...], words: str) -> None:
    """Raise unless `value` is an instance of `wanted`; `words` describe these types."""
    if isinstance(value, wanted):
        return
    if isinstance(value, type):
        description = f"the class {value.__name__}: make one, {value.__name__}(...)"
    else:
        description = f"{value!r}" if isinstance(value, (str, int, float)) else type(value).__name__
    raise ArgumentError(name, f"must be {words}, not {description}")


def check_length(name: str, length: int, n_samples: int) -> None:
    """Raise unless there is one entry per sample."""
    if length != n_samples:
        raise ArgumentError(name, f"must have one entry per sample: {n_samples}, not {length}")


def check_choice(name: str, value: object, choices: tuple[Any, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    plain = value is None or isinstance(value, (str, int, float, np.number))  # no array
    if not plain or value not in choices:
        raise ArgumentError(name, f"must be one of {', '.join(map(repr, choices))}, not {value!r}")


def require_one_label(name: str, labels: ArrayLike | None) -> None:
    """Raise for several labels per row, whose posteriors need not sum to 1."""
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    if isinstance(labels, (list, tuple)) and len(labels) and isinstance(labels[0], (list, tuple)):
        shape = (len(labels), len(labels[0]))
    if len(shape) == 2 and shape[1] > 1:
        raise _not_one_label(name, as_array(name, labels, "labels"), takes_classes=True)  # type: ignore[arg-type]


def _not_one_label(name: str, labels: NDArray[Any], takes_classes: bool) -> ArgumentError:
    remedy = _MANY_LABELS if takes_classes else ""
    is_one = labels == 1
    if labels.ndim == 2 and ((labels == 0) | is_one).all() and (is_one.sum(axis=1) == 1).all():
        remedy = f"of one-hot labels pass np.asarray({name}).argmax(axis=1)"
    return ArgumentError(name, f"must be 1-dimensional, not of shape {labels.shape}", remedy=remedy)


def as_labels(
    name: str,
    labels: ArrayLike,
    n_samples: int,
    n_classes: int,
    classes: ArrayLike | None = None,
    *,
    takes_classes: bool = False,
) -> NDArray[Any]:
    """Return class indices 0 to K-1 as uint8, or as int32 if K > 256.

    Labels are class indices, booleans, or labels listed in `classes`. If the caller
    `takes_classes`, messages show how to pass them.
    """
    if classes is not None:
        array = _places(name, labels, classes, n_classes)
    else:
        array = as_words(labels, as_array(name, labels, "integers"))
        if array.dtype.kind in "OUS":
            _require_no_words(name, array, n_classes, takes_classes)
        array = read(name, array, "integers")
    array = as_column(array)
    if array.ndim != 1:
        raise _not_one_label(name, array, takes_classes)
    check_length(name, array.size, n_samples)
    codes: NDArray[np.integer[Any]] = np.empty(n_samples, label_type(n_classes))
    if array.dtype == bool:
        return np.ascontiguousarray(array).view(np.uint8).astype(codes.dtype, copy=False)
    if array.dtype.kind == "f" or array.dtype == np.uint64:
        with np.errstate(invalid="ignore"):  # nan
            wrong = ~((array >= 0) & (array < n_classes) & (array == np.floor(array)))
        position = int(wrong.argmax()) if wrong.any() else -1
        if position < 0:
            codes[:] = array
    else:
        wide = np.ascontiguousarray(array, dtype=np.int64)
        position = kernels.checking.compact_labels(wide, n_classes, codes)
    if position >= 0:
        remedy = _how_to_list(array, n_classes) if takes_classes else ""
        is_absent = np.isnan(array)
        if is_absent.any():
            position, remedy = is_absent.argmax(), _LEAVE_OUT
        rule, value = f"must be integers 0 to {n_classes - 1}", str(array[position])
        raise ArgumentError(name, rule, int(position), remedy, value=value)
    return codes


def label_type(n_classes: int) -> "type[np.uint8 | np.int32]":
    """Return the type of class indices."""
    return np.uint8 if n_classes <= 256 else np.int32


def _places(name: str, labels: ArrayLike, classes: ArrayLike, n_classes: int) -> NDArray[Any]:
    """Return the index of each label in `classes`."""
    listed_array = as_array("classes", classes, "labels")
    as_they_are = isinstance(classes, (list, tuple))  # NumPy would convert mixed types to strings
    listed: Any = list(classes) if as_they_are else listed_array.tolist()  # type: ignore[arg-type]
    rule = f"must list {n_classes} different labels, one per column, not {listed!r}"
    if listed_array.ndim != 1:
        raise ArgumentError("classes", rule)
    place_of = {label: place for place, label in enumerate(listed)}
    if len(listed) != n_classes or len(place_of) != n_classes:
        raise ArgumentError("classes", rule)
    array = as_words(labels, as_array(name, labels, "labels"))
    if array.dtype.kind in "OSMV" or n_classes > _FEW_CLASSES:
        flat = [
            place_of.get(label, -1) if isinstance(label, Hashable) else -1
            for label in array.ravel().tolist()
        ]
        places = np.array(flat, np.int64).reshape(array.shape)
    else:
        places = np.full(array.shape, -1, np.int64)
        for place, label in enumerate(listed):  # faster than a lookup of each label
            places[array == label] = place
    wrong = np.flatnonzero(places.ravel() < 0)
    if wrong.size:
        words = {_as_number_or_text(label) for label in listed}
        labels_of = zip(wrong.tolist(), array.ravel()[wrong].tolist(), strict=True)
        unlike = (pair for pair in labels_of if _as_number_or_text(pair[1]) not in words)
        position, label = next(unlike, (int(wrong[0]), array.ravel()[wrong[:1]].tolist()[0]))
        description = repr(listed)
        if n_classes > _MOST_LISTED:
            first = ", ".join(map(repr, listed[:3]))
            description = f"{first}, ..., {listed[-1]!r} ({n_classes:,} classes)"
        remedy = _LEAVE_OUT if is_missing(label) else ""
        rule = f"must be one of classes, {description}"
        raise ArgumentError(name, rule, position, remedy, value=repr(label))
    return places


def _require_no_words(name: str, labels: NDArray[Any], n_classes: int, takes_classes: bool) -> None:
    """Raise if labels are strings, whose order is not known; name a stray word among numbers."""
    flat = labels.ravel().tolist()
    words = [label for label in flat if isinstance(label, (str, bytes))]
    if not words:
        return
    absent = [label for label in flat if is_missing(label)]
    label = absent[0] if absent else next((w for w in words if not is_number(w)), words[0])
    remedy = _how_to_list(labels, n_classes) if takes_classes else ""
    raise ArgumentError(
        name,
        f"must be an array of integers 0 to {n_classes - 1}, or of booleans",
        next(position for position, label_at in enumerate(flat) if label_at is label),
        _LEAVE_OUT if absent else remedy,
        value=repr(label),
    )


def as_words(values: object, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array made of values, as objects if NumPy converted them to strings."""
    if array.dtype.kind == "U" and isinstance(values, (list, tuple)):
        return np.asarray(values, object)
    return array


def first_word(labels: ArrayLike | None) -> str | None:
    """Return the first of labels that are text; None if they are numbers, or none."""
    array = np.empty(0) if labels is None else as_array("labels", labels, "labels")
    is_text = array.size > 0 and isinstance(array.flat[0], str)
    return str(array.flat[0]) if is_text else None


def is_missing(value: object) -> bool:
    """Return whether a label or an id is missing: None, nan, or pandas' NA."""
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_number(word: str | bytes) -> bool:
    """Whether a word is a number, as Python reads it."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _as_number_or_text(label: object) -> float | str:
    """Return a label without regard to whether a number is written as text."""
    word = str(label)
    return float(word) if is_number(word) else word


def _how_to_list(labels: NDArray[Any], n_classes: int) -> str:
    """Return a hint to pass `classes`, if the number of distinct labels is that of the classes."""
    try:
        distinct = sorted(set(labels.ravel().tolist()))
    except TypeError:
        return ""
    if len(distinct) != n_classes or n_classes > 10:
        return ""
    order = "[negative, positive]" if n_classes == 2 else "in the order of the columns"
    return f"list the labels, {order}: classes={distinct!r}"


def as_weights(name: str, weights: ArrayLike | None, n_samples: int) -> Floats:
    """Return sample weights as float64; an empty array means equal weights."""
    if weights is None:
        return np.empty(0)
    array = as_floats(name, weights, 1, may_be_empty=True)
    check_length(name, array.size, n_samples)
    require(name, array, 0.0, _FINITE, "be finite and not negative")
    if not array.any():
        return array
    if not 1e-290 < float(array.max()) < 1e300 / array.size:
        raise ArgumentError(
            name,
            f"must have a largest entry between 1e-290 and 1e300 / N, so that sums keep "
            f"their digits, not {array.max()}",
        )
    return array


def as_priors(name: str, priors: ArrayLike, n_classes: int) -> Floats:
    """Return class priors, which must sum to 1 within 1e-6, divided by their sum."""
    array = as_floats(name, priors, 1)
    if array.size != n_classes:
        raise ArgumentError(name, f"must have one entry per class: {n_classes}, not {array.size}")
    require(name, array, 0.0, 1.0, "lie in 0 to 1")
    total = float(array.sum())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ArgumentError(name, f"must sum to 1 within {SUM_TOLERANCE}, but the sum is {total}")
    return array / total


def as_posteriors(
    name: str, posteriors: ArrayLike, *, normalize: bool = False, floor: float = 0.0
) -> Floats:
    """Return posteriors of class 1, (N,), or rows (N, K), for kernels.

    Without a copy if nothing is changed.
    """
    array = as_column(read(name, posteriors))
    if array.ndim == 1:
        rows = _within_bounds(name, as_rows(name, array, 1), tolerance_of(array, 2))
        if floor:  # clips both classes, since 1 - floor may round to 1
            rows = np.column_stack([1.0 - rows, rows])
    else:
        rows = _normalized(name, array) if normalize else as_posterior_rows(name, array)
    if floor:
        rows = np.clip(rows, floor, 1.0 - floor)
        rows /= rows.sum(axis=1, keepdims=True)
    return rows


def tolerance_of(array: NDArray[Any], n_classes: int) -> float:
    """Return the largest deviation of the sum of a row of posteriors from 1 that is accepted."""
    rounding = np.finfo(array.dtype).eps if array.dtype.kind == "f" else 0.0
    return SUM_TOLERANCE + n_classes * float(rounding)


def as_posterior_rows(name: str, posteriors: ArrayLike) -> Floats:
    """Return (N, K) rows of posteriors, without a copy if possible.

    Rows must sum to 1 within 1e-6 plus the rounding errors of their dtype. Entries outside [0, 1]
    by no more than this tolerance are clipped.
    """
    array = read(name, posteriors)
    rows = as_rows(name, array, 2)
    _check_columns(name, rows)
    tolerance = tolerance_of(array, rows.shape[1])
    is_single = rows.shape[0] == 1  # such as priors: not worth compiling a kernel
    if not is_single and kernels.checking.are_posteriors(rows, tolerance):
        return rows
    rows = _within_bounds(name, rows, tolerance)
    sums = rows.sum(axis=1)
    rule = f"must have rows that sum to 1 within {tolerance:.3g}, but row {{row}} sums to {{value}}"
    remedy = "pass normalize=True to divide rows by their sums"
    _require_rows(name, sums, 1.0 - tolerance, 1.0 + tolerance, rule, remedy)
    return rows


def _within_bounds(name: str, values: Floats, tolerance: float) -> Floats:
    """Return posteriors; values outside [0, 1] by no more than the tolerance are clipped."""
    if kernels.checking.find_outside(values.reshape(-1), 0.0, 1.0) < 0:
        return values
    low, high = -tolerance, 1.0 + tolerance
    remedy = "use from_logits for logits, from_llrs for LLRs (scan_parquet: logits=, llrs=)"
    if values.min() >= low and values.max() <= 100.0:
        remedy = f"divide percentages by 100, {name} / 100.0, or use from_logits for logits"
    require(name, values, low, high, "lie in 0 to 1", "" if np.isnan(values).any() else remedy)
    return np.asarray(np.clip(values, 0.0, 1.0))


def _normalized(name: str, posteriors: NDArray[Any]) -> Floats:
    """Return rows divided by their sums."""
    rows = as_floats(name, posteriors, 2, may_be_empty=True)
    _check_columns(name, rows)
    remedy = "use from_logits for logits" if np.isfinite(rows).all() else ""
    require(name, rows, 0.0, _FINITE, "be finite and not negative", remedy)
    sums = rows.sum(axis=1)
    rule = "must have rows of a positive sum to be normalized, but row {row} sums to {value}"
    _require_rows(name, sums, np.nextafter(0.0, 1.0), _FINITE, rule)
    return np.asarray(rows / sums[:, None])


def as_log_posterior_rows(
    name: str, log_posteriors: ArrayLike, *, normalize: bool = False, floor: float = 0.0
) -> Floats:
    """Return normalized log-posteriors, (N, K); unless `normalize`, rows must sum to about 1."""
    array = read(name, log_posteriors)
    rows, log_sums = log_softmax(name, array)
    tolerance = tolerance_of(array, rows.shape[1])
    if not normalize:
        rule = (
            f"must have rows whose exponentials sum to 1 within {tolerance:.3g}, but the logarithm "
            "of the sum of row {row} is {value}"
        )
        remedy = "pass normalize=True to normalize rows, or use from_logits"
        _require_rows(name, log_sums, -tolerance, tolerance, rule, remedy)
    return clip_log_rows(rows, floor, rows) if floor else rows


def clip_log_rows(rows: Floats, floor: float, out: Floats) -> Floats:
    """Clip posteriors, given as logarithms (N, K), to [floor, 1 - floor]; return them normalized.

    The result is in `out`, which may be `rows`.
    """
    np.clip(rows, np.log(floor), np.log1p(-floor), out=out)
    kernels.log_space.normalize_log_rows(out, np.zeros(rows.shape[1]), out)
    return out


def as_log_rows(name: str, scores: ArrayLike) -> Floats:
    """Return (N, K) logits or log-likelihoods without nan, +inf, or rows that are all -inf."""
    rows = as_rows(name, scores, 2)
    _check_columns(name, rows)
    require(name, rows, -np.inf, _FINITE, "be neither nan nor +inf")
    tops = rows.max(axis=1, initial=-np.inf)
    rule = "must have a finite entry in every row, but row {row} is all -inf"
    _require_rows(name, tops, -_FINITE, np.inf, rule)
    return rows


def log_of_rows(posteriors: Floats) -> Floats:
    """Return the logarithms of posteriors: -inf at 0, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(posteriors, dtype=np.float64))


def log_softmax(name: str, scores: ArrayLike) -> tuple[Floats, Floats]:
    """Return the normalized log-posteriors of (N, K) logits, and the log-normalizers, (N,)."""
    rows = as_log_rows(name, scores)
    is_own = not np.may_share_memory(rows, np.asarray(scores))
    out = rows if is_own else np.empty(rows.shape)
    return out, kernels.log_space.normalize_log_rows(rows, np.zeros(rows.shape[1]), out)


def _check_columns(name: str, rows: Floats) -> None:
    if rows.shape[1] < 2:
        raise ArgumentError(name, f"must have a column per class, at least 2, not {rows.shape[1]}")
