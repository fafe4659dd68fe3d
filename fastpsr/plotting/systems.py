"""Input of figures: results or predictions by name, events of classes, spoofed trials."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from fastpsr.counts.bins import Events
from fastpsr.counts.decisions import SPOOFED, kinds_of
from fastpsr.data import Part, Predictions
from fastpsr.data.one_class import one_against_rest
from fastpsr.errors import ArgumentError
from fastpsr.options import CALL_TO_MAKE

On = Literal["class", "confidence"]
#: Which trials of a system are spoofed, or of systems by name.
Spoof = ArrayLike | Mapping[str, ArrayLike] | None


def as_mapping(systems: Any, class_: int | str | None = None) -> dict[str, Any]:
    """Return systems by name; a single one has no name.

    With `class_`, predictions are of that class against the rest.
    """
    if not isinstance(systems, Mapping):
        systems = {"": systems}
    if not systems:
        raise ArgumentError("systems", "must not be empty")
    for name in systems:
        if not isinstance(name, str):
            raise ArgumentError("systems", f"must have names that are strings, not {name!r}")
    named = dict(cast(Mapping[str, Any], systems))
    if class_ is not None:
        for name, value in named.items():
            if isinstance(value, Predictions):
                named[name] = one_against_rest(value, class_)
    return named


def check_system(name: str, value: Any, kind: type[Any], takes: bool, calibrated: bool) -> None:
    """Raise unless a system is a result, or predictions from which a result can be computed."""
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
            "or class_=c of det, roc, precision_recall and pav_map",
        )
    if calibrated:
        value.require_posteriors("figures of posteriors")


def is_multiclass(value: Any) -> bool:
    """Whether a system is predictions of more than 2 classes."""
    return isinstance(value, Predictions) and value.n_classes > 2


def events_of(systems: Mapping[str, Any], on: On) -> dict[str, Any]:
    """Return systems by name, with more than two classes converted to predictions of events.

    An event is "the sample belongs to class k", for each class, or "the most probable class is the
    true class".
    """
    events: dict[str, Any] = {}
    for system, value in systems.items():
        has_labels = isinstance(value, Predictions) and value.y_true is not None
        if not has_labels or (on == "class" and not is_multiclass(value)):
            events[system] = value  # the check of systems refuses missing labels
            continue
        value.require_posteriors("figures of posteriors")
        kinds: dict[str, Any] = {system: on}
        if on == "class":
            numbers = range(value.n_classes)
            kinds = {f"{system}, {value.class_label(k)}".removeprefix(", "): k for k in numbers}
        for name, kind in kinds.items():
            posteriors, came_true = Events(kind)(value)
            weights = value.balanced_weights()  # at the given priors
            events[name] = Predictions.from_posteriors(
                came_true, posteriors, sample_weight=weights if weights.size else None
            )
    return events


def spoofed_apart(systems: Any, spoof: Spoof) -> tuple[dict[str, Any], dict[str, Predictions]]:
    """Return systems without their spoofed trials, and by name targets with the spoofed trials."""
    named, spoofed = as_mapping(systems), dict[str, Predictions]()
    masks = spoof if isinstance(spoof, Mapping) else {} if spoof is None else {"": spoof}
    for name, mask in masks.items():
        data, called = named.get(name), f"spoof[{name!r}]" if name else "spoof"
        if not isinstance(data, Predictions) or data.y_true is None:
            raise ArgumentError(called, "must belong to a system of labeled Predictions")
        try:
            kinds = kinds_of(Part.whole(data), mask)
        except ArgumentError as error:
            raise error.renamed(called) from None
        if (kinds == SPOOFED).any():
            named[name], spoofed[name] = data[kinds != SPOOFED], data[kinds >= SPOOFED]
    return named, spoofed
