"""Tippett plots: the fractions of targets and non-targets whose LLR exceeds a value."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import checks
from fastpsr.counts import begin, count_all, takes_predictions
from fastpsr.counts.roc import require_both_classes
from fastpsr.counts.scores import CollectClass, Scores
from fastpsr.data import Data, Floats
from fastpsr.results import Result


@dataclass(frozen=True, eq=False)
class TippettCurves(Result):
    """Fractions of targets and of non-targets with a score of at least a given value.

    Attributes
    ----------
    target_scores, nontarget_scores : ndarray of float64, shape (T,) and (U,)
        The distinct scores of each class, ascending: LLRs, or raw scores. May be infinite.
    p_target, p_nontarget : ndarray of float64, shape (T,) and (U,)
        Fraction of the weight of the class at or above each of its scores; 1 at the first.
    are_llrs : bool
        Whether the scores are LLRs, natural logarithms.
    """

    target_scores: Floats
    p_target: Floats
    nontarget_scores: Floats
    p_nontarget: Floats
    are_llrs: bool

    def _columns(self) -> dict[str, Any]:
        """Return the scores of both classes, non-targets first."""
        sizes = [self.nontarget_scores.size, self.target_scores.size]
        return {
            "is_target": np.repeat([False, True], sizes),
            "score": np.concatenate([self.nontarget_scores, self.target_scores]),
            "fraction": np.concatenate([self.p_nontarget, self.p_target]),
        }

    @property
    def misleading(self) -> tuple[float, float]:
        """Fraction of targets below LLR 0, and of non-targets above: rates of misleading evidence.

        nan for raw scores.
        """
        if not self.are_llrs:
            return float("nan"), float("nan")
        below = 1.0 - _at_or_above(0.0, self.target_scores, self.p_target, "left")
        return below, _at_or_above(0.0, self.nontarget_scores, self.p_nontarget, "right")


@takes_predictions
def tippett(predictions: Data) -> TippettCurves:
    """Return the Tippett curves of binary predictions: complementary cumulative distributions.

    Parameters
    ----------
    predictions : Predictions
        Labeled. Posteriors are converted to LLRs; raw scores are not changed.

    Returns
    -------
    TippettCurves

    Raises
    ------
    ValueError
        For more than 2 classes, or if a class has no samples.

    Notes
    -----
    Both classes are sorted. Weights are used within each class.

    References
    ----------
    C. Tippett et al., "The evidential value of the comparison of paint flakes from sources other
    than vehicles", Journal of the Forensic Science Society 8, 1968,
    doi:10.1016/S0015-7368(68)70442-4.

    Examples
    --------
    >>> import fastpsr as fp
    >>> curves = fp.tippett(fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, -1.0, 3.0]))
    >>> curves.target_scores.tolist(), curves.p_target.tolist()
    ([-1.0, 3.0], [1.0, 0.5])
    >>> curves.misleading
    (0.5, 0.5)
    """
    checks.check_binary("Tippett curves", predictions.n_classes)
    begin(predictions)
    require_both_classes("Tippett curves", predictions.class_weights)
    are_llrs = predictions.kind != "raw scores"
    (targets, of_targets), (others, of_others) = count_all(
        CollectClass(k, predictions.has_weights, Scores(are_llrs), "Tippett curves").over(
            predictions
        )
        for k in (1, 0)
    )
    return TippettCurves(targets, _survival(of_targets), others, _survival(of_others), are_llrs)


def _survival(weights: Floats) -> Floats:
    """Return the fraction of the weight at or above each score, from the weight at each."""
    above = np.cumsum(weights[::-1])[::-1]
    return np.asarray(above / above[0])


def _at_or_above(value: float, scores: Floats, shares: Floats, side: str) -> float:
    """Return the fraction at or above a value (side "left"), or strictly above it ("right")."""
    place = np.searchsorted(scores, value, side="left" if side == "left" else "right")
    return float(shares[place]) if place < scores.size else 0.0
