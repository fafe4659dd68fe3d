"""Detection of likely mistakes: wrong kinds of scores, reversed scores, permuted columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.affine import DirectionPreserving
from fastpsr.costs import CostMatrix, bayes_decisions
from fastpsr.counts import begin, count
from fastpsr.data import Data, Floats, Part, Predictions
from fastpsr.data.steps import Step
from fastpsr.data.suspicion import FEWEST, are_like_probabilities, posteriors_as_llrs
from fastpsr.errors import SuspicionWarning, in_silence
from fastpsr.metrics import AUC, Cllr

_ERRORS = 3.0  # number of standard errors for a warning
_LARGE_SCALE = 3.0  # cosine similarities need a larger scale, LLRs a smaller one
_ENOUGH = 1 << 16  # samples of a part
_SHOWN = 3  # classes that a message shows
_MOST_CLASSES = 1_024  # whose pairs are counted

_DECISIONS = SuspicionWarning(
    "decisions",
    "the posteriors are all 0 or 1, as decisions are",
    "pass the probabilities that were decided on (predict_proba); decisions are for expected_cost",
)
_AS_RAW_SCORES = (
    "make predictions with from_raw_scores (scan_parquet: raw_scores=), and LLRs of these with "
    "cross_fit(DirectionPreserving(), predictions)"
)


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
      errors, which takes 10 samples of a class.
    - Posteriors of at least 10 samples that are all 0 or 1.

    For weighted samples the effective number of samples is used.

    Scores are rounded to 16 bits (bfloat16: two to three digits), which needs one read, and an
    amount of memory that does not depend on the size of the data. Of parts with more than 65,536
    samples every n-th is used, besides the lowest and the highest.

    References
    ----------
    J. Hanley and B. McNeil, "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143, 1982, table I at an area of .5, with the correction
    for ties of E. Lehmann, "Nonparametrics", 1975, section 1.4; L. Kish, "Survey sampling", 1965,
    section 11.7, for effective numbers.
    """
    begin(data)
    if data.n_classes > _MOST_CLASSES:
        return ()
    counts, suspected = count(CountCells(data.n_classes).over(data)), []
    if data.n_classes > 2:
        certain, uncertain = np.split(counts, 2, axis=1)
        are_certain = not uncertain.any()
        suspected += _permuted(certain + uncertain)
    else:
        coarse = _coarse(counts)
        differ = coarse.class_sizes.all() and coarse.scores.min() < coarse.scores.max()
        are_certain = data.kind == "posteriors" and bool(np.isinf(coarse.scores).all())
        if data.kind == "likelihoods":
            if data.class_sizes.sum() >= FEWEST and are_like_probabilities(coarse.scores):
                suspected.append(posteriors_as_llrs())
            elif data.class_sizes.min() >= FEWEST and differ:
                suspected += _miscalibrated(coarse)
        if differ:
            suspected += _reversed(coarse)
    if are_certain and counts.any() and data.class_sizes.sum() >= FEWEST:
        suspected.append(_DECISIONS)
    return tuple(suspected)


def _coarse(counts: Floats) -> Predictions:
    """Return weighted samples of the counts by the first 16 bits of scores as float32, (2, C)."""
    labels, codes = np.nonzero(counts)
    scores = (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return Predictions.from_raw_scores(labels, scores, sample_weight=counts[labels, codes])


def _miscalibrated(coarse: Predictions) -> list[SuspicionWarning]:
    """Warn of LLRs that look like cosine similarities, or are far from calibrated."""
    y, scores, counts = coarse.labels, coarse.scores, coarse.weights
    llrs = coarse.replace_scores("likelihoods", scores)
    with in_silence():
        raw = Cllr()(llrs)
        try:
            fitted = DirectionPreserving().fit(llrs)
            scale, best = fitted.scale_, Cllr()(fitted.transform(llrs))
        except ValueError:
            are_separate = scores[y == 0].max() <= scores[y == 1].min()
            scale, best = (np.inf if are_separate else np.nan), 0.0
    if np.abs(scores).max() <= 1.0 and (scores != np.rint(scores)).any():
        means = np.bincount(y, counts * scores) / coarse.class_weights
        variance = np.cov(scores, aweights=counts, ddof=0)
        standard_error = np.sqrt(variance * (1.0 / coarse.class_weights).sum())
        expected = variance + _ERRORS * standard_error  # of LLRs
        if scale > _LARGE_SCALE and means[1] - means[0] > expected:
            factor = "a factor without bound" if np.isinf(scale) else f"{scale:.3g}"
            what = f"the LLRs all lie in [-1, 1], and fit better multiplied by {factor}"
            what += ": they look like cosine similarities"
            return [SuspicionWarning("cosine similarities", what, _AS_RAW_SCORES)]
    if not (scale > 0.0 and 1.0 < raw < np.inf and best <= 0.5 * raw):
        return []
    what = (
        f"the LLRs are worse than no system (Cllr {raw:.3g}), but an affine map makes a Cllr of "
        f"{best:.2g} of them: they look like scores that are shifted or scaled, such as cosine "
        "similarities in percent"
    )
    return [SuspicionWarning("shifted scores", what, _AS_RAW_SCORES)]


def _reversed(coarse: Predictions) -> list[SuspicionWarning]:
    area, (n_non, n_tar) = AUC()(coarse), coarse.class_weights
    _, places = np.unique(coarse.scores, return_inverse=True)
    ties = np.bincount(places, coarse.weights) / (n_non + n_tar)
    variance = (n_non + n_tar + 1.0) / (12.0 * n_non * n_tar) * (1.0 - (ties**3).sum())
    if not area < 0.5 - _ERRORS * np.sqrt(variance):
        return []
    return [
        SuspicionWarning(
            "reversed scores",
            f"the AUC is about {area:.2g}, below 0.5 by more than {_ERRORS:g} standard errors: "
            "scores look reversed, or labels swapped",
            "higher must mean class 1: negate scores, give posteriors of class 1, or list the "
            "labels in order, classes=[negative, positive]",
        )
    ]


def _permuted(decided: Floats) -> list[SuspicionWarning]:
    in_own_column, most = decided.diagonal(), decided.max(axis=1)
    is_taken = most - in_own_column > _ERRORS * np.sqrt(most + in_own_column)
    places = decided.argmax(axis=1)
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
class CountCells(Step[Any]):
    """Count the samples of each class by their apparent kind, (K, C).

    Of two classes these are the scores, rounded to bfloat16. Of more they are the decisions for
    certain posteriors, then those for others. Weighted samples count as the effective number of
    their class; as none if squares of weights overflow.
    """

    n_classes: int

    def start(self) -> tuple[Floats, Floats]:
        n_cells = 2 * self.n_classes if self.n_classes > 2 else 1 << 16
        return np.zeros((self.n_classes, n_cells)), np.zeros(self.n_classes)

    def add(self, accumulator: Any, prepared: None, part: Part) -> tuple[Floats, Floats]:
        counts, squares = accumulator
        stride = 1 + len(part.predictions) // _ENOUGH
        sample = part.predictions[::stride]
        if stride > 1 and self.n_classes == 2:
            scores = part.predictions.scores
            rows = np.arange(0, scores.size, stride)
            sample = part.predictions[np.append(rows, [scores.argmin(), scores.argmax()])]
        y, w = sample.labels, sample.weights if sample.weights.size else np.ones(len(sample))
        with np.errstate(over="ignore", under="ignore"):
            cells = _decisions(sample) if self.n_classes > 2 else _rounded(sample)
            np.add.at(counts, (y, cells), w)
            squares += np.bincount(y, w * w, self.n_classes)
        return counts, squares

    def finish(self, accumulator: tuple[Floats, Floats]) -> Floats:
        counts, squares = accumulator
        with np.errstate(all="ignore"):  # squares may overflow, or be 0
            factors = counts.sum(axis=1) / squares
            return counts * np.where(np.isfinite(factors), factors, 0.0)[:, None]


def _rounded(sample: Predictions) -> NDArray[Any]:
    """Return the sign, exponent and first 7 digits of each score as float32."""
    return sample.scores.astype(np.float32).view(np.uint32) >> 16


def _decisions(sample: Predictions) -> NDArray[Any]:
    """Return the likeliest class of each sample, plus K where its posterior is not 1."""
    decisions = bayes_decisions(sample, CostMatrix.zero_one(sample.n_classes))
    is_certain = sample._has_posteriors and sample._values.max(axis=1) == 1.0
    return np.where(is_certain, decisions, decisions + sample.n_classes)
