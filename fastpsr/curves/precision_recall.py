"""Precision over recall, and precision at given recalls."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts import begin, takes_predictions
from fastpsr.counts.ranks import RankTable, rank_table
from fastpsr.counts.roc import as_posteriors
from fastpsr.curves.at_points import AtPoints
from fastpsr.data import Data, Floats
from fastpsr.data.one_class import one_against_rest
from fastpsr.metrics.ranks import RankStatistic
from fastpsr.results import Result

_RECALLS = np.linspace(0.01, 1.0, 100)  # by default
_WHAT = "precision and recall"


@dataclass(frozen=True, eq=False)
class PrecisionRecall(Result):
    """Precision and recall at thresholds: a score at or above the threshold is accepted.

    Attributes
    ----------
    threshold : ndarray of float64, shape (V,)
        The distinct scores of class 1, ascending, and inf; on the scale that was passed: posteriors
        of class 1, log-odds (logits, log-posteriors, and one class of several against the rest),
        LLRs or raw scores.
    precision : ndarray of float64, shape (V,)
        Fraction of class 1 among what is accepted, at the priors if these were given; 1 at inf.
    recall : ndarray of float64, shape (V,)
        Fraction of class 1 that is accepted, descending from 1 to 0.

    Notes
    -----
    At other scores recall is the same, and precision lower, so that no point is lost.
    """

    threshold: Floats
    precision: Floats
    recall: Floats


@takes_predictions
def precision_recall(predictions: Data, *, class_: int | str | None = None) -> PrecisionRecall:
    """Return precision and recall of binary predictions at all thresholds.

    Parameters
    ----------
    predictions : Predictions or PartitionedPredictions
        Labeled, of any kind: posteriors, likelihoods or raw scores.
    class_ : int or str, optional
        The positive class, by its number, 0 to K-1, or its label, scored by the log-odds of its
        posterior; required for more than two classes.

    Returns
    -------
    PrecisionRecall

    Raises
    ------
    ValueError
        For more than 2 classes without `class_`, or if a class has no samples.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve = fp.precision_recall(data)
    >>> curve.threshold.tolist(), curve.recall.tolist()
    ([0.35, 0.8, inf], [1.0, 0.5, 0.0])
    >>> curve.precision.round(3).tolist()
    [0.667, 1.0, 1.0]
    """
    begin(predictions)
    data = one_against_rest(predictions, class_)
    checks.check_binary("a curve of precision", data.n_classes, takes_class=True)
    begin(data)
    table = rank_table(data, "positives")
    precision, recall = table.precision_and_recall(_WHAT)
    has_positives = np.append(table.positives > 0.0, True)
    threshold = np.append(table.lowest, np.inf)[has_positives]
    curve = PrecisionRecall(threshold, precision[has_positives], recall[has_positives])
    passed = as_posteriors(data, threshold[:-1])
    return curve if passed is None else replace(curve, threshold=np.append(passed, np.inf))


@dataclass(frozen=True, eq=False)
class PrecisionCurve(Result):
    """Precision at given recalls.

    Attributes
    ----------
    recall : ndarray of float64, shape (P,)
        In the order of the input.
    precision : ndarray of float64, shape (P,)
        At the highest threshold whose recall is at least `recall`.
    """

    recall: Floats
    precision: Floats


def precision_at(data: Data, points: ArrayLike | None) -> AtPoints:
    """Return the precision at recalls above 0, by default 0.01 to 1 in steps of 0.01."""
    checks.check_binary(_WHAT, data.n_classes)
    recalls = _RECALLS if points is None else checks.as_floats("points", points, 1)
    checks.require("points", recalls, 5e-324, 1.0, "be recalls, above 0 and up to 1")
    return AtPoints(partial(PrecisionCurve, recalls), {"precision": _PrecisionAt(recalls)})


@dataclass(frozen=True, eq=False)
class _PrecisionAt(RankStatistic[RankTable, Floats]):
    """Precision at recalls."""

    recall: Floats

    label = "precision_recall"
    resolution = "positives"

    def finish(self, summary: RankTable) -> Floats:
        precision, recall = summary.precision_and_recall(_WHAT)
        wanted: Any = self.recall * (1.0 - 1e-12)  # cumulated weights are rounded
        return np.asarray(precision[np.searchsorted(-recall, -wanted, side="right") - 1])
