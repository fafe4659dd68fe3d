"""Predictions of several classes as binary predictions of one class against the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.data import Data, Kind, Part, Predictions, Transform, mapped
from fastpsr.errors import ArgumentError

Floats = NDArray[np.float64]

_SHOWN = 10  # labels in a message
_TINY = 1e-290  # sums below it lose digits
_NEAR_ONE = 1.0 - 1e-9  # posteriors from which on the others say more than their difference from 1


def check_class(class_: object) -> None:
    """Raise unless a class is a label or a number of at least 0."""
    if not isinstance(class_, str):
        checks.check_integer("class_", class_, 0)


def class_number(data: Data, class_: int | str, means: Sequence[str] = ()) -> int:
    """Return the number of a class, given as a label or a number; `means` are other choices."""
    if isinstance(class_, str):
        labels = data.class_names or ()
        if class_ in labels:
            return labels.index(class_)
        shown = [*map(repr, labels[:_SHOWN]), *["..."] * (len(labels) > _SHOWN)]
        choices = [*map(repr, means), *shown, f"a class's number, 0 to {data.n_classes - 1}"]
        remedy = "" if labels else "name the classes of the predictions, classes=[...]"
        rule = f"must be {' or '.join(choices)}, not {class_!r}"
        raise ArgumentError("class_", rule, remedy=remedy)
    check_class(class_)
    if class_ >= data.n_classes:
        raise ArgumentError("class_", f"must be below {data.n_classes}, not {class_}")
    return int(class_)


def one_against_rest(data: Data, class_: int | str | None) -> Data:
    """Return the log-odds of a class against the rest; binary data without `class_` as they are.

    The class is a label or a number.

    Given priors are worked into the weights: that of the class stays, and those of the others keep
    their ratios.

    Raises
    ------
    ArgumentError
        For no such class, and for raw scores.
    """
    if class_ is None:
        return data
    number = class_number(data, class_)
    if data.n_classes == 2 and number == 1:
        return data
    data.require_posteriors("one class against the rest")
    binary: Data = mapped(data, _OneAgainstRest(number))
    return binary


def one_against_one(data: Data, class_: int, rival: int) -> Data:
    """Return the same log-odds of the samples of two classes alone, `class_` as class 1."""
    data.require_posteriors("one class against another")
    binary: Data = mapped(data, _OneAgainstRest(class_, rival))
    return binary


@dataclass(frozen=True, eq=False)
class _OneAgainstRest(Transform):
    class_: int
    rival: int | None = None  # the samples of other classes are left out

    keeps_rows = False  # their classes, and with given priors their weights, are others
    kind: Kind = "posteriors"
    n_classes = 2
    keeps_priors = False

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        log_odds = log_odds_against_rest(predictions, self.class_)
        labels, weights = predictions.labels, predictions.balanced_weights()
        if self.rival is not None:
            used = (labels == self.class_) | (labels == self.rival)
            labels, log_odds, weights = labels[used], log_odds[used], weights[used[: weights.size]]
        return Predictions.from_logits(
            labels == self.class_, log_odds, sample_weight=weights if weights.size else None
        )


def log_odds_against_rest(predictions: Predictions, class_: int) -> Floats:
    """Return the log-odds of a class against the rest, (N,)."""
    log_q = predictions.log_posteriors
    if predictions.n_classes == 2:
        return np.asarray(log_q[:, class_] - log_q[:, 1 - class_])
    sums = predictions.remember("sums of rows", lambda: _sums_of_rows(log_q))
    log_odds = _log_odds(log_q[:, class_].copy(), class_, *sums)
    if predictions._has_posteriors:  # equal posteriors are ties: sums of the others are rounded
        q = predictions.posteriors[:, class_]
        is_apart = (q > 0.0) & (q < _NEAR_ONE)
        log_odds[is_apart] = np.log(q[is_apart]) - np.log1p(-q[is_apart])
    return log_odds


def _sums_of_rows(log_q: Floats) -> tuple[NDArray[Any], Floats, Floats, Floats]:
    """Return of each row the most probable class, its log-posterior, and two sums.

    These are the sum of posteriors over that one, and the logarithm of the sum without that class.
    """
    rows, top = np.arange(len(log_q)), log_q.argmax(axis=1)
    largest = log_q[rows, top]
    shares = log_q - largest[:, None]
    np.exp(shares, out=shares)
    shares[rows, top] = 0.0
    sums = shares.sum(axis=1)
    log_rest = largest + checks.log_of_rows(sums)
    small = np.flatnonzero(sums < _TINY)  # their exponentials lose digits
    other_log_q = log_q[small]
    other_log_q[np.arange(small.size), top[small]] = -np.inf
    log_rest[small] = np.logaddexp.reduce(other_log_q, axis=1)
    return top, largest, 1.0 + sums, log_rest


def _log_odds(
    log_q: Floats, class_: int, top: NDArray[Any], largest: Floats, sums: Floats, log_rest: Floats
) -> Floats:
    """Return the log-odds of a class: nothing cancels where it is not the most probable one."""
    are_top = np.flatnonzero(top == class_)
    other_shares = sums - np.exp(log_q - largest)
    other_shares[are_top] = 1.0
    log_odds = log_q - largest - np.log(other_shares)
    log_odds[are_top] = log_q[are_top] - log_rest[are_top]
    return log_odds
