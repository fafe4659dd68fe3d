"""Which rows train the calibrator of which others, seen by a calibrator of our own."""

from typing import NamedTuple

import numpy as np

import fastpsr as fp


class Fold(NamedTuple):
    """Rows that one calibrator serves, and those that it was fitted to, as boolean masks."""

    served: np.ndarray
    training: np.ndarray


class _Recorder:
    def __init__(self, folds):
        self._folds = folds

    def __deepcopy__(self, memo):  # each fit is that of a copy: let all share the list
        return _Recorder(self._folds)

    def fit(self, predictions):
        self.rows = predictions.log_odds
        return self

    def transform(self, predictions):
        self._folds.append((predictions.log_odds, self.rows))
        return predictions


def folds_of(y, train, weights=None):
    """Return the folds that a way to train deals to samples of these labels and weights."""
    n = len(y)
    labels = (np.asarray(y) > 0).astype(int) if np.max(y) < 2 else None
    assert labels is not None, "two classes"
    data = fp.Predictions.from_logits(labels, np.arange(float(n)), sample_weight=weights)
    recorded = []
    fp.cross_fit(_Recorder(recorded), data, train)
    return [Fold(*(np.isin(np.arange(n), rows) for rows in pair)) for pair in recorded]


def fold_numbers(y, train, weights=None):
    """Return the number of the fold that serves each row."""
    numbers = np.full(len(y), -1)
    for k, fold in enumerate(folds_of(y, train, weights)):
        numbers[fold.served] = k
    return numbers
