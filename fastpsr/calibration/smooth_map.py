"""The interface of smooth maps of one score, which one search fits."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.axis import Axis
from fastpsr.calibration.training_priors import TrainingPriors
from fastpsr.data import Floats


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
class WeightedScores:
    """Scores that stand for the samples of each class and fold.

    Attributes
    ----------
    scores : ndarray of float64, shape (Q,)
        Less an origin.
    infinite : ndarray of float64, shape (Q,)
        What is added to them for the samples' own: -inf or inf where these are infinite, else 0.
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
        """Return what the scores weigh in the training sets of some folds each, (2, C, Q)."""
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
        """Return the features of scores (n,), without that of the bias, (p, n)."""

    @abstractmethod
    def steepness(self, parameters: Floats) -> float:
        """Return the greatest slope of the log-odds."""

    @property
    def lower(self) -> Floats:
        """Lower bounds of the parameters, -inf where there is none."""
        return np.full(self.n_parameters, -np.inf)

    @property
    def penalty(self) -> Floats:
        """Penalty matrix, symmetric and positive semidefinite."""
        return np.zeros((self.n_parameters, self.n_parameters))

    @property
    def n_parameters(self) -> int:
        """Number of parameters, of which the last is the bias."""
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
