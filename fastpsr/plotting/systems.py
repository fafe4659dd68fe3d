"""Input of figures: a result, predictions, or a mapping of names to these."""

from collections.abc import Mapping
from typing import Any, cast

from fastpsr.data import Predictions
from fastpsr.data.one_class import one_against_rest
from fastpsr.errors import ArgumentError
from fastpsr.options import CALL_TO_MAKE


def as_mapping(given: Any) -> dict[str, Any]:
    """Return systems by name; a single one has no name."""
    if isinstance(given, Mapping):
        if not given:
            raise ArgumentError("systems", "must not be empty")
        for name in given:
            if not isinstance(name, str):
                raise ArgumentError("systems", f"must have names that are strings, not {name!r}")
        return dict(cast(Mapping[str, Any], given))
    return {"": given}


def check_system(name: str, value: Any, kind: type[Any], takes: bool, calibrated: bool) -> None:
    """Raise unless a system is a result, or predictions that one can be made of."""
    called = f"systems[{name!r}]" if name else "systems"
    if isinstance(value, kind):
        return
    if not takes or not isinstance(value, Predictions):
        wanted = f"{kind.__name__}{' or Predictions' if takes else ''}"
        raise ArgumentError(
            called,
            f"must be {wanted}, or a mapping of names to these, not {type(value).__name__}",
            remedy=CALL_TO_MAKE if takes else "",
        )
    if value.y_true is None:
        raise ArgumentError(called, "must be labeled predictions")
    if value.n_classes > 2:
        raise ArgumentError(
            called,
            f"must be binary, not of {value.n_classes} classes",
            remedy="take one class c against the rest, "
            "fp.Predictions.from_posteriors(y_true == c, posteriors[:, c]), "
            "or class_=c of det, roc and pav_map",
        )
    if calibrated:
        value.require_posteriors("figures of posteriors")


def of_class(systems: Any, class_: int | None) -> Any:
    """Return systems, of which predictions are of one class against the rest where it is given."""
    if class_ is None:
        return systems
    named = {
        name: one_against_rest(value, class_) if isinstance(value, Predictions) else value
        for name, value in as_mapping(systems).items()
    }
    return named if isinstance(systems, Mapping) else named[""]


def is_multiclass(value: Any) -> bool:
    """Whether a system is predictions of more than 2 classes."""
    return isinstance(value, Predictions) and value.n_classes > 2


def percent(share: float) -> str:
    """Return a share in percent, in few digits, never 0 for what is not."""
    return f"{100.0 * share:.3g} %"
