"""Predictions of several classes as binary predictions of an event."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from fastpsr.counts.bins import Events
from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.plotting.systems import is_multiclass

On = Literal["class", "confidence"]


def events_of(systems: Mapping[str, Any], on: On, classes: Sequence[int] | None) -> dict[str, Any]:
    """Return binary systems as they are, and others as predictions of events, by name.

    The events are that a sample is of a class, for each of the `classes`, or that its most
    probable class is the true one.
    """
    return {
        name: event
        for system, value in systems.items()
        for name, event in _events(system, value, on, classes)
    }


def _events(
    system: str, value: Any, on: On, classes: Sequence[int] | None
) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Predictions) or value.y_true is None:
        yield system, value  # refused later, by its name
    elif on == "confidence":
        value.require_posteriors("figures of posteriors")
        posteriors, came_true = Events(on)(value)
        yield system, _binary(value, posteriors, came_true)
    elif not is_multiclass(value):
        yield system, value
    else:
        value.require_posteriors("figures of posteriors")
        for k in range(value.n_classes) if classes is None else classes:
            if not 0 <= k < value.n_classes:
                raise ArgumentError(
                    "classes", f"must lie in 0 to {value.n_classes - 1}, and there is {k}"
                )
            called = f"{system}, class {k}" if system else f"class {k}"
            yield called, _binary(value, value.posteriors[:, k], value.labels == k)


def _binary(value: Predictions, posteriors: Any, came_true: Any) -> Predictions:
    """Return predictions of whether an event came true, with weights at the given priors."""
    weights = value.balanced_weights()
    return Predictions.from_posteriors(
        came_true, posteriors, sample_weight=weights if weights.size else None
    )
