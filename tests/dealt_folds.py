"""Which rows train the calibrator of which others, seen by a calibrator of our own."""

from typing import NamedTuple

import numpy as np

import fastpsr as fp


class Fold(NamedTuple):
    """Rows that one calibrator serves, and those that it was fitted to, as boolean masks."""

    served: np.ndarray
    training: np.ndarray


class _Recorder:
    """A calibrator that changes nothing, and notes which rows it is fitted to and serves."""

    def __init__(self, folds):
        self._folds = folds

    def __deepcopy__(self, memo):  # each fit is that of a copy: let all share the list
        return _Recorder(self._folds)

    def fit(self, predictions):
        self._training = _rows_of(predictions)
        return self

    def transform(self, predictions):
        self._folds.append((_rows_of(predictions), self._training))
        return predictions


def _rows_of(predictions):
    """Return the numbers of the rows, which are the log-odds of class 1 against class 0."""
    log_posteriors = predictions.log_posteriors
    return np.rint(log_posteriors[:, 1] - log_posteriors[:, 0]).astype(int)


def folds_of(y, train, weights=None):
    """Return the folds that a way to train deals to samples of these labels and weights."""
    rows = np.arange(len(y))
    logits = np.zeros((rows.size, max(y) + 1))
    logits[:, 1] = rows
    data = fp.Predictions.from_logits(y, logits, sample_weight=weights)
    recorded = []
    fp.cross_fit(_Recorder(recorded), data, train)
    return [Fold(np.isin(rows, served), np.isin(rows, training)) for served, training in recorded]


def fold_numbers(y, train, weights=None):
    """Return the number of the fold that serves each row."""
    numbers = np.full(len(y), -1)
    for number, fold in enumerate(folds_of(y, train, weights)):
        numbers[fold.served] = number
    return numbers
