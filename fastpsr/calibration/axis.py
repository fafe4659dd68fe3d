"""The axis of scores: their range, sums in its cells, and the maps that are fitted to these."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.log_odds import log_prior_of
from fastpsr.data import Data, Floats, Kind, Part, class_factors
from fastpsr.data.steps import ROWS, Step
from fastpsr.kernels.types import DEGREE
from fastpsr.rules.base import ScoringRule

LOG_FLOOR = float(np.log(1e-30))  # replaces -inf
_WIDTH = 0.25  # of a cell, in log-odds after calibration: errors of 1e-13
_FEW_CELLS = 4096  # for any number of rows
_MOST_SUMS = 1 << 22  # of all classes, folds and cells
_MOST_OF_REPLICATES = 1 << 14

_ANGLES = (np.arange(DEGREE + 1) + 0.5) * np.pi / (DEGREE + 1)
_NODES = np.cos(_ANGLES)  # in [-1, 1]
_TO_WEIGHTS = 2.0 / (DEGREE + 1) * np.cos(np.outer(np.arange(DEGREE + 1), _ANGLES))
_TO_WEIGHTS[0] /= 2.0


@dataclass(frozen=True, eq=False)
class Span:
    """Lowest and highest score.

    Attributes
    ----------
    low, high : float
        May be infinite.
    finite_low, finite_high : float
        Range of the finite scores of positive weight; (0, 0) if there are none.
    """

    low: float
    high: float
    finite_low: float
    finite_high: float

    @property
    def is_finite(self) -> bool:
        """Whether all scores are finite."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    def floor(self, n_classes: int) -> float:
        """Return the value that replaces -inf: log(1e-30), or the least finite score if lower."""
        low = self.finite_low
        if n_classes == 2:  # -log-odds are the log-odds of the other class
            low = min(low, -self.finite_high)
        return min(LOG_FLOOR, low)


@dataclass(frozen=True, eq=False)
class ScoreRange(Step[Span]):
    """Find the range of the scores."""

    is_exact = True
    is_kept = True

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        predictions = part.predictions
        low, high = predictions.score_range
        finite_low, finite_high = low, high
        weights, is_finite = predictions.weights, np.isfinite(low) and np.isfinite(high)
        if weights.size or not is_finite:
            finite = predictions.scores
            if weights.size:
                finite = finite[weights > 0.0]
            if not is_finite:
                finite = finite[np.isfinite(finite)]
            finite_low = float(finite.min(initial=np.inf))
            finite_high = float(finite.max(initial=-np.inf))
        score_range = (low, high, finite_low, finite_high)
        return score_range if accumulator is None else self.merge(accumulator, score_range)

    def merge(self, total: Any, more: Any) -> Any:
        return (
            min(total[0], more[0]), max(total[1], more[1]),
            min(total[2], more[2]), max(total[3], more[3]),
        )  # fmt: skip

    def finish(self, accumulator: Any) -> Span:
        low, high, finite_low, finite_high = accumulator
        if finite_low > finite_high:
            finite_low = finite_high = 0.0
        return Span(low, high, finite_low, finite_high)


@dataclass(frozen=True, eq=False)
class Axis:
    """Cells of equal width that hold all scores.

    Attributes
    ----------
    low : float
        Where the first cell begins.
    width : float
    n_cells : int
    floor : float
        Value that replaces -inf in fits, and its negative inf: then the first and the last cell
        hold nothing but infinite scores. 0 if there are none.
    """

    low: float
    width: float
    n_cells: int
    floor: float = 0.0

    @classmethod
    def over(
        cls, low: float, high: float, steepness: float, most_cells: int = _FEW_CELLS
    ) -> "Axis | None":
        """Return cells for maps of about this steepness; None if there would be too many."""
        if not (np.isfinite(low) and np.isfinite(high) and steepness > 0.0):
            return None
        width = _WIDTH / steepness
        n_cells = (high - low) / width
        if not n_cells < most_cells:
            return None
        return cls(low, width, int(n_cells) + 1)

    def with_ends(self, floor: float) -> "Axis":
        """Return the cells with two more, for infinite scores, half a cell or more from others."""
        return Axis(self.low - 1.5 * self.width, self.width, self.n_cells + 3, floor)

    @property
    def suits_replicates(self) -> bool:
        """Whether the sums of many replicates fit in memory at a time."""
        return self.n_cells <= _MOST_OF_REPLICATES

    @property
    def key(self) -> Hashable:
        """Equal for equal cells."""
        return (self.low, self.width, self.n_cells, self.floor)

    @property
    def high(self) -> float:
        """The end of the last cell."""
        return self.low + self.width * self.n_cells

    def nodes(self, origin: float = 0.0) -> Floats:
        """Return scores that stand for the samples, (n_cells x nodes,), less `origin`."""
        centers = (self.low - origin) + self.width * (np.arange(self.n_cells) + 0.5)
        nodes = centers[:, None] + 0.5 * self.width * _NODES
        if self.floor:
            nodes[0], nodes[-1] = self.floor - origin, -self.floor - origin
        return nodes.ravel()

    @property
    def infinite(self) -> Floats:
        """Infinite part of each node: -inf or inf for nodes of infinite scores, else 0."""
        values = np.zeros((self.n_cells, DEGREE + 1))
        if self.floor:
            values[0], values[-1] = -np.inf, np.inf
        return values.ravel()

    @property
    def zero(self) -> float:
        """The cell of a score of 0, or a number between the cells of lower and higher scores."""
        place = float(np.floor(-self.low / self.width))
        return float(np.clip(place, 0.5, self.n_cells - 1.5)) if self.floor else place


@dataclass(frozen=True, eq=False)
class AxisTotals:
    """Chebyshev sums of the scores of each class, for each fold and cell of an axis.

    Sums of a smooth function of the scores over any of the samples follow to about 1e-13.

    Attributes
    ----------
    axis : Axis
    filled : ndarray of int64
        Cells that hold rows; of others there are no sums.
    sums : ndarray of float64, shape (2, F, filled, DEGREE + 1)
        Of the rows of each of F folds.
    """

    axis: Axis
    filled: NDArray[np.int64]
    sums: Floats

    @classmethod
    def of_numbers(cls, axis: Axis, weight: Floats, sums: Floats) -> "AxisTotals":
        """Take (R, G) weights and (R, G, DEGREE) sums of groups of class, fold and cell.

        The folds are those of the first of R replicates, then those of the next.
        """
        by_cell = weight.reshape(len(weight), 2, -1, axis.n_cells)
        filled = np.flatnonzero(by_cell.any(axis=(0, 1, 2)))
        n, _, n_folds, _ = by_cell.shape
        numbers = np.empty((2, n, n_folds, filled.size, DEGREE + 1))
        numbers[..., 0] = np.take(by_cell, filled, axis=3).swapaxes(0, 1)
        sums = np.take(sums.reshape(*by_cell.shape, DEGREE), filled, axis=3)
        numbers[..., 1:] = sums.swapaxes(0, 1)
        return cls(axis, filled, numbers.reshape(2, n * n_folds, filled.size, DEGREE + 1))

    def nodes(self, origin: float = 0.0) -> Floats:
        """Return the nodes of the filled cells, less `origin`."""
        return self._of_filled(self.axis.nodes(origin))

    @property
    def infinite(self) -> Floats:
        """Infinite part of each node: -inf or inf for nodes of infinite scores, else 0."""
        return self._of_filled(self.axis.infinite)

    def _of_filled(self, values: Floats) -> Floats:
        """Return the values at the nodes of the filled cells."""
        return values.reshape(self.axis.n_cells, -1)[self.filled].ravel()

    @property
    def class_totals(self) -> Floats:
        """Total weight of each class in each fold, (2, F)."""
        return np.asarray(self.sums[..., 0].sum(axis=2))

    @property
    def extremes(self) -> Floats:
        """First and last cell of each class in each fold, (2, 2, F); (inf, -inf) for none."""
        filled = self.sums[..., 0] > 0.0
        first = np.where(filled.any(axis=2), self.filled[filled.argmax(axis=2)], np.inf)
        last = self.filled[filled.shape[2] - 1 - filled[..., ::-1].argmax(axis=2)]
        return np.stack([first, np.where(np.isfinite(first), last, -np.inf)])

    def losses(
        self,
        rule: ScoringRule,
        folds: NDArray[np.int64],
        log_odds: Floats,
        of_fold: Any = slice(None),
    ) -> Floats:
        """Return the summed losses of each class in some folds (E,), (E, 2).

        Log-odds (C, nodes) are those of all nodes; ``log_odds[of_fold]`` are those in each fold.
        """
        sums = np.empty((folds.size, 2))
        rows = np.arange(folds.size)[of_fold] if isinstance(of_fold, slice) else of_fold
        of_cells = log_odds.reshape(len(log_odds), self.filled.size, -1)
        for k, weights in enumerate(self.node_weights):
            entry, cell = np.nonzero(self.sums[k, folds, :, 0])  # others hold no rows of the class
            at = of_cells[rows[entry], cell]
            y = np.full(at.size, k, np.uint8)
            losses = rule.binary_losses(at.ravel(), y).reshape(at.shape)
            weights = weights.reshape(len(weights), *of_cells.shape[1:])[folds[entry], cell]
            if self.axis.floor:  # weight 0 wins over inf
                losses = np.where(weights, losses, 0.0)
            with np.errstate(over="ignore", invalid="ignore"):  # weights near the largest float
                # no BLAS for so little
                of_cell = np.einsum("iq,iq->i", losses, weights)
                sums[:, k] = np.bincount(entry, of_cell, folds.size)
        return sums

    def weigh(self, masks: NDArray[np.bool_]) -> Floats:
        """Return the weights of the nodes per class in sets of folds, (2, C, nodes)."""
        return np.stack(
            [kernels.axis.add_masked(masks, of_class) for of_class in self.node_weights]
        )

    @cached_property
    def node_weights(self) -> Floats:
        """Weights of the nodes per class and fold, (2, F, nodes); may be negative."""
        weights = kernels.axis.weigh_nodes(np.ascontiguousarray(self.sums), _TO_WEIGHTS)
        if self.axis.floor:  # all samples of a cell at one of its nodes, as these are alike
            ends = np.isin(self.filled, (0, self.axis.n_cells - 1))
            weights[:, :, ends, 0] = self.sums[:, :, ends, 0]
            weights[:, :, ends, 1:] = 0.0
        return weights.reshape(2, self.sums.shape[1], -1)


@dataclass(frozen=True, eq=False)
class SumOnAxis(Step[AxisTotals]):
    """Sum the scores of binary data in the cells of an axis, by class and fold."""

    folds: Folds
    axis: Axis
    is_kept = True

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    def add(self, accumulator: Floats | None, prepared: None, part: Part) -> Floats:
        axis, predictions = self.axis, part.predictions
        sums = kernels.axis.sum_on_axis(
            predictions.scores, predictions.labels, self.folds.fold_of_rows(part),
            predictions.weights, axis.low, axis.width, axis.n_cells, self.folds.n_folds,
        )  # fmt: skip
        return sums if accumulator is None else self.merge(accumulator, sums)

    def finish(self, accumulator: Floats) -> AxisTotals:
        filled = np.flatnonzero(accumulator[..., 0].any(axis=(0, 1)))
        return AxisTotals(self.axis, filled, np.take(accumulator, filled, axis=2))


def most_cells(n_rows: int, n_folds: int) -> int:
    """Return the number of cells above which sums save nothing, and samples are used."""
    n_sums = 2 * n_folds * (DEGREE + 1)
    return max(min(n_rows, _MOST_SUMS) // n_sums, _FEW_CELLS)


@dataclass(frozen=True, eq=False)
class Fits:
    """C fitted maps.

    Attributes
    ----------
    parameters : ndarray of float64, shape (C, p)
    prior_log_odds : ndarray of float64, shape (C,)
        Log-odds at the training prior minus scores, which is added to these in fitting; 0 for
        posteriors at that prior.
    """

    parameters: Floats
    prior_log_odds: Floats


@dataclass(frozen=True, eq=False)
class TrainingPriors:
    """Class priors of a fit, and the shift of scores to these priors.

    A fit minimizes the expected loss of calibrated posteriors at these priors. LLRs are moved there
    by their log-odds, and posteriors, which are at the priors of the data, by the difference.

    Attributes
    ----------
    kind : {"posteriors", "likelihoods", "raw scores"}
        Kind of the scores.
    given : ndarray of float64, shape (K,), or None
        Priors of the data; None for the class frequencies.
    own : ndarray of float64, shape (2,), or None
        Priors of a binary fit; None for those of the data.
    """

    kind: Kind
    given: Floats | None
    own: Floats | None

    @classmethod
    def of(cls, data: Data, prior: float | None) -> Self:
        """Return the priors of a fit to data, at a prior of class 1 (by default of the data)."""
        fit_priors = None if prior is None else np.array([1.0 - prior, prior])
        return cls(data.kind, data.given_priors, fit_priors)

    @property
    def weighing(self) -> Floats | None:
        """The priors that weigh the classes; None for the class frequencies."""
        return self.given if self.own is None else self.own

    def factors(self, class_weights: Floats) -> Floats:
        """Return the factors on the weights of samples of each class, (K,)."""
        return class_factors(class_weights, self.weighing)

    def offsets(self, class_weights: Floats) -> Floats:
        """Return log-posteriors at the training priors minus scores, but for a constant, (K,)."""
        if self.own is None:
            return log_prior_of(self.kind, class_weights, self.given)
        return np.array([0.0, self.log_odds(class_weights)])

    def log_odds(self, class_weights: Floats) -> Floats:
        """Return log-odds at the training priors minus binary scores, for weights (2, ...)."""
        shape = class_weights.shape[1:]
        if self.kind == "posteriors" and self.own is None:
            return np.zeros(shape)
        of_data = _log_ratio(class_weights if self.given is None else self.given)
        at = of_data if self.own is None else _log_ratio(self.own)
        return np.broadcast_to(at - of_data if self.kind == "posteriors" else at, shape)


def _log_ratio(weights: Floats) -> Floats:
    return np.asarray(np.log(weights[1]) - np.log(weights[0]))


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """Scores that stand for the samples of each class and fold.

    Attributes
    ----------
    scores : ndarray of float64, shape (Q,)
        Less an origin.
    infinite : ndarray of float64, shape (Q,)
        Added to them for the samples' scores: -inf or inf for infinite scores, else 0.
    origin : float
    span : pair of float
        Lowest and highest finite score of the samples.
    weigh : callable
        Returns what the scores weigh for each class in some folds each, (2, C, Q), given masks of
        these, (C, F); may be negative.
    class_totals : ndarray of float64, shape (2, F)
    extremes : ndarray of float64, shape (2, 2, F)
        Lowest and highest score of each class in each fold, or numbers in the same order.
    zero : float
        The number in that order of a score of 0.
    may_train : ndarray of bool, shape (F, F)
        As those of `Folds`.
    n_samples : float
        Number of samples that the weights stand for.
    priors : TrainingPriors
    """

    scores: Floats
    infinite: Floats
    origin: float
    span: tuple[float, float]
    weigh: Callable[[NDArray[np.bool_]], Floats]
    class_totals: Floats
    extremes: Floats
    zero: float
    may_train: NDArray[np.bool_]
    n_samples: float
    priors: TrainingPriors

    def training_weights(self, masks: NDArray[np.bool_]) -> Floats:
        """Return the weights of the scores per class in training sets of folds, (2, C, Q)."""
        weights = self.weigh(masks)
        priors = self.priors.weighing
        if priors is not None:
            totals = self.totals(masks)
            weights *= (priors[:, None] / totals * totals.sum(axis=0))[:, :, None]
        return weights

    def prior_log_odds(self, masks: NDArray[np.bool_]) -> Floats:
        """Return log-odds at the training prior minus scores, in training sets, (C,)."""
        return self.priors.log_odds(self.totals(masks))

    def have_overlap(self, masks: NDArray[np.bool_], *, with_bias: bool) -> NDArray[np.bool_]:
        """Whether the classes of training sets cannot be separated, (C,).

        They are separated by a threshold, or without a bias by a score of 0. Cells do not tell for
        classes that meet in one, and False is returned.
        """
        lowest, highest = self.extremes
        low_0, low_1 = (np.where(masks, low, np.inf).min(axis=1) for low in lowest)
        high_0, high_1 = (np.where(masks, high, -np.inf).max(axis=1) for high in highest)
        if with_bias:
            return np.asarray((low_0 < high_1) & (low_1 < high_0))
        zero = self.zero
        upward, downward = (high_0 > zero) | (low_1 < zero), (low_0 < zero) | (high_1 > zero)
        return np.asarray(upward & downward)

    def totals(self, masks: NDArray[np.bool_]) -> Floats:
        """Return the weight of each class in training sets, (2, C)."""
        return np.stack([(masks * of_class).sum(axis=1) for of_class in self.class_totals])


class SmoothMap(ABC):
    """A map of the scores of binary data whose log-odds are linear in its parameters.

    The log-odds at the training prior are ``parameters @ features``, plus the last parameter with a
    bias. Parameters minimize the mean log loss plus ``parameters @ penalty @ parameters / 2``, and
    are not less than `lower`.
    """

    #: Whether the last parameter is added to the log-odds.
    with_bias: ClassVar[bool] = True
    #: Whether features are those of log-odds at the training prior: what is missing is added to
    #: the scores. Otherwise it is added to what the parameters yield.
    adds_prior_first: ClassVar[bool] = False
    #: P(class 1) at which fits weigh the classes; None for the priors of the data.
    prior: float | None = None
    #: Whether a fit is chosen among others, which may be steeper.
    chooses_among_fits: ClassVar[bool] = False

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Equal for equal features, bounds and penalties."""

    @property
    def stream(self) -> tuple[str | int, ...]:
        """Key of the random stream of replicates."""
        return (type(self).__name__,)

    @abstractmethod
    def features(self, scores: Floats) -> Floats:
        """Return the features of scores (n,) without the bias, (p, n)."""

    @abstractmethod
    def steepness(self, parameters: Floats) -> float:
        """Return the greatest slope of the log-odds."""

    @property
    def lower(self) -> Floats:
        """Lower bounds of the parameters, -inf without a bound."""
        return np.full(self.n_parameters, -np.inf)

    @property
    def penalty(self) -> Floats:
        """Penalty matrix, symmetric and positive semidefinite."""
        return np.zeros((self.n_parameters, self.n_parameters))

    @property
    def n_parameters(self) -> int:
        """Number of parameters; the last is the bias."""
        return len(self.features(np.zeros(1))) + self.with_bias

    def origin(self, low: float, high: float) -> float:
        """Return the score that is subtracted from scores in this range before a fit."""
        return 0.0

    def moved(self, parameters: Floats, by: float) -> Floats:
        """Return the parameters (..., p) for scores that are greater by a number."""
        return parameters

    def apply(self, parameters: Floats, scores: Floats) -> Floats:
        """Return ``parameters @ features`` of scores (n,), plus the bias."""
        log_odds = np.full(scores.size, parameters[-1] if self.with_bias else 0.0)
        for slope, feature in zip(parameters, self.features(scores), strict=False):
            if slope:  # an infinite feature of slope 0 adds nothing
                log_odds += slope * feature
        return log_odds

    def scores(self, fits: Fits, number: int, scores: Floats) -> Floats:
        """Return calibrated scores: log-odds for posteriors, otherwise LLRs."""
        if not self.adds_prior_first:
            return self.apply(fits.parameters[number], scores)
        prior = fits.prior_log_odds[number]
        return np.asarray(self.apply(fits.parameters[number], scores + prior) - prior)

    def scores_of_fits(self, fits: Fits, numbers: NDArray[np.int64], scores: Floats) -> Floats:
        """Return the calibrated scores (M, n) of scores (n,) by M of the fits."""
        return np.stack([self.scores(fits, number, scores) for number in numbers])

    def axis(self, low: float, high: float, steepness: float, most_cells: int) -> Axis | None:
        """Return cells for scores in a range and maps about as steep; None if they are too many."""
        return Axis.over(low, high, steepness, most_cells)

    def fit_to_sums(
        self,
        sums: WeightedScores,
        masks: NDArray[np.bool_],
        start: Floats | None,
        steepest: float,
    ) -> Floats:
        """Return the parameters (C, p) of fits to the folds in `masks` (C, F); nan if not found.

        Searches begin at the parameters `start` (C, p), by default at the constants that are best.
        They may end early where a fit is steeper than the `steepest` that the sums are for.
        """
        scores, weights = sums.scores, sums.training_weights(masks)
        prior_log_odds = np.ascontiguousarray(sums.prior_log_odds(masks))
        if start is None:
            start = np.zeros((len(masks), self.n_parameters))
            if self.with_bias:
                totals = weights.sum(axis=2)
                with np.errstate(divide="ignore", invalid="ignore"):  # weights that underflow
                    start[:, -1] = np.log(totals[1]) - np.log(totals[0]) - prior_log_odds
        start = self.moved(start, sums.origin)
        at = scores + prior_log_odds[:, None] if self.adds_prior_first else scores[None]
        n_parameters = start.shape[-1]
        features = np.ones((len(at), n_parameters, scores.size))  # the last is the bias's
        n_slopes = n_parameters - self.with_bias
        of_all = self.features(at.ravel()).reshape(n_slopes, *at.shape)
        features[:, :n_slopes] = of_all.transpose(1, 0, 2)
        offset = np.zeros_like(prior_log_odds) if self.adds_prior_first else prior_log_odds
        fits = kernels.axis.fit_to_nodes(
            features, weights[0], weights[1], offset, start, self.penalty, self.lower
        )
        is_found = (fits[:, -1] > 0.0) & np.isfinite(fits).all(axis=1)
        return self.moved(np.where(is_found[:, None], fits[:, :-1], np.nan), -sums.origin)
