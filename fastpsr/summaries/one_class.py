"""Predictions of several classes as binary predictions of one class against the rest."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data, Part, Transform, mapped
from fastpsr.predictions import Kind, Predictions

__all__ = ["check_class", "one_against_rest"]


def check_class(class_: object, *, rule: str = "") -> None:
    """Raise unless a class is a number of at least 0; `rule` says what else it may be."""
    if isinstance(class_, str):
        rule = f"must be {rule}a class's number, 0 to K-1, not {class_!r}"
        remedy = f"pass its place in the list of classes, class_=classes.index({class_!r})"
        raise ArgumentError("class_", rule, remedy=remedy)
    checks.check_integer("class_", class_, 0)


def one_against_rest(data: Data, class_: int | None) -> Data:
    """Return the log-odds of a class against the rest; binary data without `class_` as they are.

    Given priors are worked into the weights: that of the class stays, and those of the others keep
    their ratios.

    Raises
    ------
    ArgumentError
        For no such class, and for raw scores.
    """
    if class_ is None:
        return data
    check_class(class_)
    if class_ >= data.n_classes:
        raise ArgumentError("class_", f"must be below {data.n_classes}, not {class_}")
    if data.n_classes == 2 and class_ == 1:
        return data
    data.require_posteriors("one class against the rest")
    binary: Data = mapped(data, _OneAgainstRest(int(class_)))
    return binary


@dataclass(frozen=True, eq=False)
class _OneAgainstRest(Transform):
    class_: int

    keeps_rows = False  # their classes, and with given priors their weights, are others
    kind: Kind = "posteriors"
    n_classes = 2
    keeps_priors = False

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        log_q = predictions.log_posteriors
        rest = np.delete(log_q, self.class_, axis=1)
        with np.errstate(invalid="ignore"):  # no posterior of any class
            log_odds = log_q[:, self.class_] - np.logaddexp.reduce(rest, axis=1)
        weights: Any = predictions.balanced_weights()
        return Predictions.from_logits(
            predictions.labels == self.class_,
            log_odds,
            sample_weight=weights if weights.size else None,
        )
