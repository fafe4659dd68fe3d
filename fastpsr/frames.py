"""Names and indices of data frames and series, which arrays made of them lack."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr.errors import ArgumentError

#: An argument, and the index of its rows; None if they have none.
RowOrder = tuple[str, Any] | None

_FEW = 10  # columns that a message lists


def names_of(scores: object) -> list[Any]:
    """Return the names of the columns of a frame, or of a series; [] for an array."""
    names = getattr(scores, "column_names", getattr(scores, "columns", None))
    if names is None:
        name = getattr(scores, "name", None)
        return [] if name is None else [name]
    return list(names)


def class_names_of(classes: ArrayLike | None, n_classes: int) -> tuple[str, ...] | None:
    """Return the labels of the classes as text; None if they are the numbers of the classes."""
    listed = [] if classes is None else _listed(classes)
    if len(listed) != n_classes or listed == list(range(n_classes)):
        return None
    return tuple(map(_as_text, listed))


def check_column_names(path: object, names: Sequence[str]) -> None:
    """Raise if a name of a column occurs twice."""
    name, n = Counter(names).most_common(1)[0] if names else ("", 1)
    if n > 1:
        rule = f"must have columns of different names, but {n} are {name!r}: rename them"
        raise ArgumentError("path", rule, name=str(path))


def require_class_order(
    argument: str,
    names: Sequence[Any],
    classes: ArrayLike | None,
    *,
    takes_names: bool = False,
    name: str = "",
) -> None:
    """Raise where columns have names of classes, but are in another order.

    Numbers may be the names of other columns by accident: they count if all classes are there. A
    single column is of class 1. `takes_names` says that the argument is a list of names; `name` is
    the beginning of the message.
    """
    listed = list(range(len(names))) if classes is None else _listed(classes)
    first = 1 if (len(names), len(listed)) == (1, 2) else 0  # class of the first column
    if len(names) + first != len(listed):
        return
    place_of = {_as_text(label): place for place, label in enumerate(listed)}
    places = [place_of.get(_as_text(column), -1) for column in names]
    wrong = [k for k, place in enumerate(places) if place not in (-1, k + first)]
    are_all = set(places) == set(range(len(listed)))
    if not wrong or not (are_all or isinstance(listed[0], str)):
        return
    k = wrong[0]
    pass_: dict[str, Any] = {}
    if first:
        rule = f"must be of class 1, {listed[1]!r}, but the column is named {names[0]!r}"
        raise ArgumentError(argument, rule, pass_={"classes": listed[::-1]}, name=name)
    rule = (
        f"must have columns in the order of the classes, but column {k} is named {names[k]!r}, and "
        f"class {k} is {listed[k]!r}"
    )
    remedy = "give each column the name of its class, or none of them the name of a class"
    ordered = [names[places.index(place)] for place in range(len(names))] if are_all else []
    if len(names) > _FEW and ordered == listed:
        whole = "list(classes)" if classes is not None else f"list(range({len(names)}))"
        remedy = f"pass {argument}={whole}" if takes_names else f"pass {argument}[{whole}]"
    elif are_all and len(names) <= _FEW:
        pass_ = {argument: ordered} if takes_names else {}
        remedy = "" if takes_names else f"pass {argument}[{ordered!r}]"
    raise ArgumentError(argument, rule, remedy=remedy, pass_=pass_, name=name)


def row_order_of(**values: object) -> RowOrder:
    """Return the first argument that has an index; raise if another has it in another order."""
    order: RowOrder = None
    for argument, value in values.items():
        index = _index_of(value)
        if index is None:
            continue
        if order is None:
            order = argument, index
        require_same_order(argument, value, order)
    return order


def require_same_order(argument: str, values: object, order: RowOrder) -> None:
    """Raise if `values` have the same index in another order."""
    own_index = argument, _index_of(values)
    row = row_out_of_order(own_index, order)
    if order is None or row is None:
        return
    of, index = order
    labels = [index_values[row : row + 1].tolist()[0] for index_values in (own_index[1], index)]
    aligned = f"{argument}.loc[{of}.index] to align them, or " if index.is_unique else ""
    raise ArgumentError(
        argument,
        f"must have rows in the order of {of}, but the index of row {row} is {labels[0]!r}, and in "
        f"{of} {labels[1]!r}",
        row,
        f"pass {aligned}{argument}.to_numpy() if rows belong together by position",
    )


def row_out_of_order(one: RowOrder, other_order: RowOrder) -> int | None:
    """Return the first row at which an index differs from the same index in another order.

    None for an equal index, and for one of other labels, such as that of rows that were numbered
    anew: then rows belong together by position.
    """
    a, b = (None if order is None else order[1] for order in (one, other_order))
    if a is None or b is None or a is b or (len(a), a.nlevels) != (len(b), b.nlevels):
        return None
    if a.equals(b) or not (b.isin(a[:1]).any() and a.isin(b[:1]).any()):  # one label often decides
        return None
    if not (a.isin(b).all() and b.isin(a).all()):
        return None
    return int(np.argmax(np.asarray(a != b)))


def _index_of(values: object) -> Any:
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") and hasattr(index, "isin") else None


def _listed(classes: ArrayLike) -> list[Any]:
    """Return classes as a list; [] if they are invalid, which other checks report."""
    if isinstance(classes, (list, tuple)):
        return list(classes)
    listed = np.asarray(classes).tolist()
    return listed if isinstance(listed, list) else []


def _as_text(label: object) -> str:
    """Return a label as text, with 1.0 as 1."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
