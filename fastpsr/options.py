"""Names and flags that callers pass, with hints for the names of other libraries."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from fastpsr.errors import ArgumentError, counted

#: How predictions are made of arrays, for messages.
CALL_TO_MAKE = (
    "make them first, fp.Predictions.from_posteriors(y_true, posteriors), or from_logits, "
    "from_llrs or from_raw_scores"
)

#: Names that other libraries have for an argument, in lower case.
_FOREIGN = {
    "alpha": "confidence_level",
    "cv": "folds",
    "labels": "y_true",
    "n_bins": "bins",
    "n_boot": "n_resamples",
    "n_bootstraps": "n_resamples",
    "n_splits": "folds",
    "normalize": "normalized",
    "num_bins": "bins",
    "num_bootstraps": "n_resamples",
    "prior": "priors",
    "priors": "prior",
    "random_state": "seed",
    "sample_weights": "sample_weight",
    "weights": "sample_weight",
}

_P = ParamSpec("_P")
_Result = TypeVar("_Result")


class Options:
    """A base of dataclasses whose fields are options: names and flags are checked when made."""

    if not TYPE_CHECKING:  # for which the dataclass says what it takes

        def __new__(cls, *args, **options):
            if args or options:
                _check_options(cls, args, options)
            return super().__new__(cls)


def _check_options(cls: type, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    is_flag = _flags(cls)
    if is_flag is not None:
        _check_names(cls.__name__, options, list(is_flag))
        for name, value in (dict(zip(is_flag, args, strict=False)) | options).items():
            if is_flag[name]:
                _check_flag(cls.__name__, name, value)


def declared() -> Any:
    """Return an abstract attribute: classes give it a value, or are abstract."""

    def read(self: object) -> Any:
        raise NotImplementedError

    return property(abstractmethod(read))


def with_hints(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Wrap a function: wrong arguments raise an error that names the right ones.

    These are names of other libraries, and labels and scores in place of predictions.
    """
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    n_places = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    n_bound = sum(name in ("self", "cls") for name in names)
    takes_data = not {"predictions", "systems", "a"}.isdisjoint(names)

    @wraps(function)
    def checked(*args: _P.args, **options: _P.kwargs) -> _Result:
        if not takes_any:
            _check_names(function.__name__, options, names)
        if len(args) > n_places:
            most, n = counted(n_places - n_bound, "argument"), len(args) - n_bound
            hint = f": labels and scores are no predictions, {CALL_TO_MAKE}"
            hint *= takes_data and any(
                isinstance(parameter, (list, np.ndarray)) for parameter in args
            )
            raise TypeError(f"{function.__name__} takes {most} without a name, not {n}{hint}")
        return function(*args, **options)

    return checked


@cache
def _flags(cls: type) -> dict[str, bool] | None:
    """Return the arguments of a dataclass, and whether they are flags.

    None if the fields are not the arguments, but those of an ``__init__`` of its own are.
    """
    made_by = next(base for base in cls.__mro__ if "__init__" in vars(base))
    if not (is_dataclass(cls) and "__dataclass_fields__" in vars(made_by)):
        return None
    return {field.name: field.type is bool for field in fields(cls) if field.init}


def _check_names(what: str, options: Iterable[str], names: list[str]) -> None:
    for name in options:
        if name in names:
            continue
        known = _FOREIGN.get(name.lower())
        meant = [known] if known in names else get_close_matches(name, names, 1)
        hint = f": did you mean {meant[0]}?" if meant else ""
        raise TypeError(f"{what} takes no argument {name}{hint}")


def _check_flag(what: str, name: str, value: object) -> None:
    if isinstance(value, (bool, np.bool_)):
        return
    is_data = type(value).__name__.endswith("Predictions")
    remedy = f"call the metric on data, {what}()(predictions)" if is_data else ""
    description = repr(value) if isinstance(value, (str, int, float)) else type(value).__name__
    raise ArgumentError(name, f"must be True or False, not {description}", remedy=remedy)
