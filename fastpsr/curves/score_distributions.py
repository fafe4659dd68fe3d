"""Distributions of the scores of each class: histograms, and Tippett plots."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.calibration.axis import ScoreRange
from fastpsr.counts import begin, count, count_all, takes_predictions
from fastpsr.counts.roc import require_both_classes
from fastpsr.counts.scores import CollectClass, Scores
from fastpsr.data import Data, Floats, Part
from fastpsr.data.labeled import log_prior_ratio
from fastpsr.data.steps import Step
from fastpsr.errors import ArgumentError
from fastpsr.results import Result


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Result):
    """Weights of both classes in bins of the score.

    Attributes
    ----------
    edges : ndarray of float64, shape (M + 1,)
        Bins are [low, high), the last with its upper edge.
    negatives, positives : ndarray of float64, shape (M,)
        Weight of each class in each bin.
    totals : ndarray of float64, shape (2,)
        Total weight of each class, inside and outside the bins.
    infinite : ndarray of float64, shape (2, 2)
        Weight of class 0 and class 1 (rows) at scores -inf and inf (columns), which are in no bin.
    are_llrs : bool
        Whether the scores are LLRs, natural logarithms.
    """

    edges: Floats
    negatives: Floats
    positives: Floats
    totals: Floats
    infinite: Floats
    are_llrs: bool

    def _columns(self) -> dict[str, Any]:
        """Return the bins."""
        return {
            "low": self.edges[:-1],
            "high": self.edges[1:],
            "negatives": self.negatives,
            "positives": self.positives,
        }

    @property
    def densities(self) -> tuple[Floats, Floats]:
        """Density of the scores of each class; 0 for a class without weight."""
        width = np.diff(self.edges)
        divisors = np.where(self.totals > 0.0, self.totals, 1.0)
        return self.negatives / divisors[0] / width, self.positives / divisors[1] / width


@takes_predictions
def score_histogram(predictions: Data, bins: int | ArrayLike = 100) -> ScoreHistogram:
    """Count the scores of each class in bins.

    Parameters
    ----------
    predictions : Predictions
        Labeled, binary. Posteriors are converted to LLRs; raw scores are not changed.
    bins : int, or array-like of float, shape (M + 1,)
        Number of bins over the range of the finite scores, or ascending edges.

    Returns
    -------
    ScoreHistogram

    Raises
    ------
    ValueError
        For more than 2 classes, or invalid bins.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0])
    >>> counts = fp.score_histogram(data, [-2.0, 0.0, 2.0, 4.0])
    >>> counts.negatives.tolist(), counts.positives.tolist()
    ([1.0, 1.0, 0.0], [0.0, 1.0, 1.0])
    """
    checks.check_binary("score histograms", predictions.n_classes)
    data = predictions
    begin(data)
    are_llrs = data.kind == "likelihoods"
    if data.kind == "posteriors":  # if a class is absent, log-odds are defined but LLRs are not
        are_llrs = bool(data.priors.all())
    scores = Scores(are_llrs)
    low = high = 0.0
    if checks.read("bins", bins).ndim == 0:
        span = count(ScoreRange().over(data))
        shift = (
            log_prior_ratio(data, data.priors) if are_llrs and data.kind == "posteriors" else 0.0
        )
        low, high = span.finite_low - shift, span.finite_high - shift
    edges = _edges(bins, low, high)
    (negatives, positives), infinite = count(_CountIntoBins(scores, edges).over(data))
    return ScoreHistogram(edges, negatives, positives, data.class_weights, infinite, are_llrs)


@dataclass(frozen=True, eq=False)
class _CountIntoBins(Step[Any]):
    """Sum the weight of each class in bins, (2, M), and at -inf and inf, (2, 2)."""

    scores: Scores
    edges: Floats

    def start(self) -> tuple[Floats, Floats]:
        return np.zeros((2, self.edges.size - 1)), np.zeros((2, 2))

    def add(self, accumulator: tuple[Floats, Floats], prepared: None, part: Part) -> Any:
        samples, edges = part.predictions.present(), self.edges
        scores, y, n_bins = self.scores(samples), samples.labels, self.edges.size - 1
        inside = (scores >= edges[0]) & (scores <= edges[-1])
        place = np.searchsorted(edges[1:-1], scores[inside], side="right")
        cells = place + np.where(y[inside], n_bins, 0)
        # not np.histogram, whose differences of cumulative weights lose small weights
        weights = samples.weights[inside] if samples.weights.size else None
        counts, infinite = accumulator
        counts += np.bincount(cells, weights, 2 * n_bins).astype(np.float64).reshape(2, n_bins)
        for k in range(2):
            for side, end in enumerate((-np.inf, np.inf)):
                there = (y == k) & (scores == end)
                weights = samples.weights
                infinite[k, side] += weights[there].sum() if weights.size else there.sum()
        return accumulator


def _edges(bins: int | ArrayLike, low: float, high: float) -> Floats:
    if checks.read("bins", bins).ndim == 0:
        if not isinstance(bins, (int, np.integer)) or not 1 <= bins <= 1 << 24:
            raise ArgumentError(
                "bins", f"must be an integer from 1 to 2^24, or edges, not {bins!r}"
            )
        half = high / 2.0 - low / 2.0
        if half * 2.0 > 1e300:
            raise ArgumentError("bins", f"must be given as edges for scores from {low} to {high}")
        if half <= 1e-12 * max(abs(low), abs(high)):  # all equal: use a range of width 1
            reach = max(0.5, 1e-6 * abs(high))
            low, high = low - reach, high + reach
        with np.errstate(all="ignore"):  # if the range is nearly 0
            edges = np.linspace(low, high, int(bins) + 1)
        if not (edges[1:] > edges[:-1]).all():
            raise ArgumentError(
                "bins", f"must be wider than rounding, {bins} from {low} to {high} are not"
            )
        return edges
    edges = checks.as_floats("bins", bins, 1)
    if edges.size < 2 or not np.isfinite(edges).all() or not (edges[1:] > edges[:-1]).all():
        raise ArgumentError("bins", "must be at least 2 finite edges in ascending order")
    return edges


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
    (targets, of_targets), (nontargets, of_others) = count_all(
        CollectClass(k, predictions.has_weights, Scores(are_llrs), "Tippett curves").over(
            predictions
        )
        for k in (1, 0)
    )
    return TippettCurves(targets, _survival(of_targets), nontargets, _survival(of_others), are_llrs)


def _survival(weights: Floats) -> Floats:
    """Return the fraction of the weight at or above each score, from the weight at each."""
    above = np.cumsum(weights[::-1])[::-1]
    return np.asarray(above / above[0])


def _at_or_above(value: float, scores: Floats, shares: Floats, side: str) -> float:
    """Return the fraction at or above a value (side "left"), or strictly above it ("right")."""
    place = np.searchsorted(scores, value, side="left" if side == "left" else "right")
    return float(shares[place]) if place < scores.size else 0.0
