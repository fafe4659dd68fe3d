"""Detection of likely mistakes: wrong kinds of scores, reversed scores, permuted columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.caching import cached_property
from fastpsr.calibration.affine import DirectionPreserving
from fastpsr.costs import CostMatrix, bayes_decisions
from fastpsr.counts import begin, count
from fastpsr.data import Data, Floats, Part, Predictions
from fastpsr.data.steps import Step
from fastpsr.data.suspicion import FEWEST, are_like_probabilities, posteriors_as_llrs
from fastpsr.errors import SuspicionWarning, in_silence
from fastpsr.metrics import Cllr

_ERRORS = 3.0  # number of standard errors for a warning
_LARGE_SCALE = 3.0  # cosine similarities need a larger scale, LLRs a smaller one
_N_CODES = 1 << 16  # bfloat16 numbers
_ENOUGH = 1 << 16  # samples of either class, of a part
_SHOWN = 3  # classes that a message shows
_MOST_CLASSES = 1_024  # whose pairs are counted


def suspicions(data: Data) -> tuple[SuspicionWarning, ...]:
    """Return warnings about likely mistakes, from coarse counts.

    - LLRs of at least 10 samples that all lie in [0, 1], are not equal, and are not all 0 or 1.
    - LLRs of at least 10 samples of each class that all lie in [-1, 1], with a fitted scale above
      3, whose class means differ by three standard errors more than those of LLRs would.
    - LLRs of at least 10 samples of each class whose Cllr is above 1, worse than without a system,
      and at most half as large after the best affine map with a positive scale.
    - An AUC more than three standard errors below 0.5, with the standard error of the AUC of
      uninformative scores; for very few samples this cannot happen.
    - Of 3 to 1,024 classes, two or more that are taken for each other in turn: more samples of each
      have their largest posterior in the column of the next than in their own, by three standard
      errors, which takes 10 samples of a class. With fewer, if more than half of the classes have
      more than half of their samples in a column of their own that is of another class, by three
      standard errors of all together.
    - Posteriors of at least 10 samples that are all 0 or 1.

    For weighted samples the effective number of samples is used.

    Scores are rounded to 16 bits (bfloat16: two to three digits), which needs one read, and an
    amount of memory that does not depend on the size of the data. In parts with more than 131,072
    samples only some of the larger class are used, always including the lowest and the highest.

    References
    ----------
    J. Hanley and B. McNeil, "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143, 1982, table I at an area of .5, with the correction
    for ties of E. Lehmann, "Nonparametrics", 1975, section 1.4; L. Kish, "Survey sampling", 1965,
    section 11.7, for effective numbers.
    """
    begin(data)
    if data.n_classes > 2:
        if data.n_classes > _MOST_CLASSES:
            return ()
        decided = count(CountDecisions(data.n_classes).over(data))
        suspected = _permuted(decided.counts)
        if decided.are_certain and data.class_sizes.sum() >= FEWEST:
            suspected.append(_LIKE_DECISIONS)
        return tuple(suspected)
    counted = count(CountCoarsely(data.has_weights).over(data))
    sizes = data.class_sizes
    suspected = []
    has_moments = counted.values.size > 1 and np.isfinite(counted.n_effective).all()
    if data.kind == "likelihoods":
        if sizes.sum() >= FEWEST and are_like_probabilities(counted.values):
            suspected.append(posteriors_as_llrs())
        elif sizes.min() >= FEWEST and has_moments:
            suspected += _like_cosines(counted) or _far_from_calibrated(counted)
    if has_moments:
        suspected += _reversed(counted)
    if data.kind == "posteriors" and sizes.sum() >= FEWEST and np.isinf(counted.values).all():
        suspected.append(_LIKE_DECISIONS)
    return tuple(suspected)


_LIKE_DECISIONS = SuspicionWarning(
    "decisions",
    "the posteriors are all 0 or 1, as decisions are",
    "pass the probabilities that were decided on (predict_proba); decisions are for expected_cost",
)


@dataclass(frozen=True, eq=False)
class Decided:
    """How samples are decided.

    Attributes
    ----------
    counts : ndarray of float64, shape (K, K)
        How often samples of each class have each class as their likeliest; weighted samples count
        as their effective number.
    are_certain : bool
        Whether posteriors are all 0 or 1.
    """

    counts: Floats
    are_certain: bool


@dataclass(frozen=True, eq=False)
class Coarse:
    """Distribution of scores that are rounded to 16 bits.

    Attributes
    ----------
    values : ndarray of float64, shape (V,)
        Distinct scores, ascending.
    shares : ndarray of float64, shape (2, V)
        Fraction of the weight of each class at each score.
    n_effective : ndarray of float64, shape (2,)
        Effective number of samples of each class; nan if there are none, or squares of weights
        overflow.
    """

    values: Floats
    shares: Floats
    n_effective: Floats

    @property
    def auc(self) -> float:
        """The area under the ROC of the rounded scores."""
        non, tar = self.shares
        return float((tar * (np.cumsum(non) - 0.5 * non)).sum())

    @property
    def pooled(self) -> Floats:
        """Fraction of all samples at each score, (V,)."""
        return np.asarray(self.n_effective @ self.shares / self.n_effective.sum())

    @property
    def are_separate(self) -> bool:
        """Whether no score of class 0 lies above any of class 1."""
        non, tar = (self.values[share > 0.0] for share in self.shares)
        return bool(non[-1] <= tar[0])

    @cached_property
    def rows(self) -> Predictions:
        """The rounded LLRs, weighted."""
        y, place = np.nonzero(self.shares)
        counts = self.shares[y, place] * self.n_effective[y]
        return Predictions.from_llrs(y, self.values[place], sample_weight=counts)

    @cached_property
    def fitted(self) -> DirectionPreserving | None:
        """Direction-preserving calibration; None if there is none."""
        try:
            with in_silence():
                return DirectionPreserving().fit(self.rows)
        except ValueError:
            return None

    def fitted_scale(self) -> float:
        """Scale of direction-preserving calibration; nan if there is none."""
        if self.are_separate:
            return float("inf")
        return float("nan") if self.fitted is None else self.fitted.scale_


def _like_cosines(counted: Coarse) -> list[SuspicionWarning]:
    values, pooled = counted.values, counted.pooled
    if values[0] < -1.0 or values[-1] > 1.0 or (values == np.rint(values)).all():
        return []
    scale = counted.fitted_scale()
    variance = pooled @ (values - pooled @ values) ** 2
    gap = counted.shares[1] @ values - counted.shares[0] @ values  # for LLRs about the variance
    standard_error = np.sqrt(variance * (1.0 / counted.n_effective).sum())
    if not (scale > _LARGE_SCALE and gap > variance + _ERRORS * standard_error):
        return []
    factor = "a factor without bound" if np.isinf(scale) else f"{scale:.3g}"
    return [
        SuspicionWarning(
            "cosine similarities",
            f"the LLRs all lie in [-1, 1], and fit better multiplied by {factor}: they look like "
            "cosine similarities",
            "make predictions with from_raw_scores (scan_parquet: raw_scores=), and LLRs of these "
            "with cross_fit(DirectionPreserving(), predictions)",
        )
    ]


def _far_from_calibrated(counted: Coarse) -> list[SuspicionWarning]:
    if not counted.fitted_scale() > 0.0:
        return []
    with in_silence():
        raw = Cllr()(counted.rows)
        best = 0.0 if counted.fitted is None else Cllr()(counted.fitted.transform(counted.rows))
    if not (1.0 < raw < np.inf and best <= 0.5 * raw):
        return []
    return [
        SuspicionWarning(
            "shifted scores",
            f"the LLRs are worse than no system (Cllr {raw:.3g}), but an affine map makes a Cllr "
            f"of {best:.2g} of them: they look like scores that are shifted or scaled, such as "
            "cosine similarities in percent",
            "make predictions with from_raw_scores (scan_parquet: raw_scores=), and LLRs of these "
            "with cross_fit(DirectionPreserving(), predictions)",
        )
    ]


def _reversed(counted: Coarse) -> list[SuspicionWarning]:
    n_non, n_tar = counted.n_effective
    untied = 1.0 - (counted.pooled**3).sum()
    standard_error = np.sqrt((n_non + n_tar + 1.0) / (12.0 * n_non * n_tar) * untied)
    if not counted.auc < 0.5 - _ERRORS * standard_error:
        return []
    return [
        SuspicionWarning(
            "reversed scores",
            f"the AUC is about {counted.auc:.2g}, below 0.5 by more than {_ERRORS:g} standard "
            "errors: scores look reversed, or labels swapped",
            "higher must mean class 1: negate scores, give posteriors of class 1, or list the "
            "labels in order, classes=[negative, positive]",
        )
    ]


def _permuted(decided: Floats) -> list[SuspicionWarning]:
    in_own_column, most = decided.diagonal(), decided.max(axis=1)
    is_taken = most - in_own_column > _ERRORS * np.sqrt(most + in_own_column)
    places = decided.argmax(axis=1)
    is_most = (most > in_own_column) & (2.0 * most > decided.sum(axis=1))
    surplus, together = ((most + sign * in_own_column)[is_most].sum() for sign in (-1, 1))
    are_places_distinct = np.unique(places[is_most]).size == np.count_nonzero(is_most)
    if (
        2 * np.count_nonzero(is_most) > np.count_nonzero(most)
        and are_places_distinct
        and surplus > _ERRORS * np.sqrt(together)
    ):
        is_taken = is_taken | is_most
    taken_for = np.where(is_taken, places, -1).tolist()
    for start in range(len(taken_for)):
        cycle, k = [start], taken_for[start]
        while k >= 0 and k not in cycle:
            cycle.append(k)
            k = taken_for[k]
        if k == start:
            break
    else:
        return []
    pairs = [f"{a} in column {b}" for a, b in zip(cycle, [*cycle[1:], start], strict=True)]
    words = ", of class ".join(pairs[:_SHOWN]) + ", ..." * (len(pairs) > _SHOWN)
    return [
        SuspicionWarning(
            "permuted columns",
            f"more samples of class {words}, have their largest posterior than in the column of "
            "their own class: columns look as if they were in another order than the classes",
            "list the labels in the order of the columns, such as classes=list(model.classes_)",
        )
    ]


@dataclass(frozen=True, eq=False)
class CountDecisions(Step[Any]):
    """Count the decisions for samples of each class; of many, every n-th sample."""

    n_classes: int

    def start(self) -> tuple[Floats, Floats]:
        return np.zeros(self.n_classes**2), np.zeros(3)

    def add(self, accumulator: Any, prepared: None, part: Part) -> tuple[Floats, Floats]:
        cells, sums = accumulator
        sample = part.predictions[:: 1 + len(part.predictions) // _ENOUGH]
        decisions = bayes_decisions(sample, CostMatrix.zero_one(self.n_classes))
        w = sample.weights if sample.weights.size else np.ones(len(sample))
        codes = sample.labels.astype(np.int64) * self.n_classes + decisions
        cells += np.bincount(codes, w, cells.size)
        q = sample._values if sample._has_posteriors else None
        n_uncertain = len(sample) if q is None else np.count_nonzero(q.max(axis=1) < 1.0)
        with np.errstate(over="ignore", under="ignore"):
            sums += w.sum(), (w * w).sum(), n_uncertain
        return cells, sums

    def finish(self, accumulator: tuple[Floats, Floats]) -> Decided:
        cells, (total, squares, n_uncertain) = accumulator
        with np.errstate(all="ignore"):  # squares may overflow, or be 0
            factor = total / squares
        counts = cells * (factor if np.isfinite(factor) else 0.0)
        return Decided(counts.reshape(self.n_classes, -1), n_uncertain == 0)


@dataclass(frozen=True, eq=False)
class CountCoarsely(Step[Any]):
    """Sum weights, and their squares, of binary scores rounded to bfloat16."""

    has_weights: bool

    @property
    def is_exact(self) -> bool:
        """Whether all sums are whole numbers."""
        return not self.has_weights

    def start(self) -> tuple[Floats, Floats]:
        return np.zeros(2 * _N_CODES), np.zeros(2)

    def add(self, accumulator: Any, prepared: None, part: Part) -> tuple[Floats, Floats]:
        cells, squares = accumulator
        predictions = part.predictions
        rows = _some_rows(predictions.scores, predictions.labels)
        y = predictions.labels[rows]
        codes = _codes(predictions.scores[rows]) | y.astype(np.uint32) << 16
        if predictions.weights.size:
            w = predictions.weights[rows]
            cells += np.bincount(codes, w, cells.size)
            with np.errstate(over="ignore", under="ignore"):
                squares += np.bincount(y, w * w, 2)
        else:
            cells += np.bincount(codes, minlength=cells.size)
            squares += np.bincount(y, minlength=2)
        return cells, squares

    def finish(self, accumulator: tuple[Floats, Floats]) -> Coarse:
        cells, squares = accumulator
        by_class = cells.reshape(2, _N_CODES)
        filled = np.flatnonzero(by_class.any(axis=0))
        values = (filled.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        values, place = np.unique(values, return_inverse=True)  # 0 and -0 are equal
        weights = np.stack([np.bincount(place, of[filled], values.size) for of in by_class])
        totals = weights.sum(axis=1)
        with np.errstate(all="ignore"):  # a class may be absent, and squares may overflow
            n_effective = totals / squares * totals
            n_effective[~(n_effective > 0.0)] = np.nan
            return Coarse(values, weights / totals[:, None], n_effective)


def _some_rows(scores: NDArray[Any], y: NDArray[Any]) -> Any:
    """Return all rows, or of many the smaller class, every n-th of the other, and both extremes."""
    if y.size <= 2 * _ENOUGH:
        return slice(None)
    n_ones = int(np.count_nonzero(y))
    smaller = int(2 * n_ones <= y.size)
    rows = np.arange(0, y.size, y.size // _ENOUGH)
    pieces = [rows, np.array([scores.argmin(), scores.argmax()])]
    if min(n_ones, y.size - n_ones) <= _ENOUGH:
        pieces += [np.flatnonzero(y == smaller)]
        pieces[0] = rows[y[rows] != smaller]
    return np.concatenate(pieces)


def _codes(scores: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the sign, exponent and first 7 digits of each score as float32."""
    with np.errstate(over="ignore"):  # infinite as float32
        return np.asarray(scores.astype(np.float32, copy=False).view(np.uint32) >> 16)
