"""Spline calibration: a smooth monotone map, as smooth as cross-validation finds best."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.axis import Axis, Fits, ScoreRange, Span, WeightedScores
from fastpsr.calibration.base import require_fitted
from fastpsr.calibration.folds import Folds, deal_samples
from fastpsr.calibration.linear_rows import too_large
from fastpsr.calibration.smooth import ScoreMap
from fastpsr.counts import count, shared
from fastpsr.data import Data, Floats, Part, Predictions, Transform, mapped

_KNOTS = 20
_FEWEST_CELLS = 128  # over the range of the scores; knots lie on the edges of cells
_MOST_CELLS = 8192
_CENTER = 16.0  # log-odds beyond it, such as those of posteriors of 0, do not make cells wider,
_FINER = 16  # unless cells would be that many times as many
_WIDTH = 0.25  # of a cell in calibrated log-odds
_FOLDS = 5  # inner ones, which choose the penalty
_PENALTIES = (np.inf, *10.0 ** np.arange(4.0, -5.0, -1.0))  # lambda N, the smoothest first
_PATIENCE = 2  # penalties that may be worse than the best so far before the choice ends


@dataclass(frozen=True, eq=False)
class Spline(ScoreMap):
    """The smooth non-decreasing map of the log-odds with the least penalized log loss.

    Binary tasks only. The slope of the map is piecewise linear between knots, constant outside, and
    nowhere negative. It minimizes the mean log loss plus `lambda` times the integral of the squared
    second derivative. Between the least penalty and an infinite one, with which the map is
    direction-preserving calibration, inner folds of the training data choose: the penalty of least
    log loss on samples that did not train.

    Parameters
    ----------
    floor : float
        Posteriors are clipped before fitting and transforming; see :class:`DirectionPreserving`.
    prior : float, optional
        P(class 1) at which the classes are weighed; see :class:`DirectionPreserving`.

    Attributes
    ----------
    parameters_ : ndarray of float64, shape (42,)
        20 knots (log-odds or LLRs), the 20 slopes at them, what the middle knot is mapped to,
        and `lambda` times the number of samples, or -1 for an infinite `lambda`.
    prior_log_odds_ : float
        Log-odds of the training prior, for posteriors minus the log-odds of the priors of the data,
        which is 0 without a `prior`.
    floor_ : float
        Value that replaced -inf in fitting.

    Raises
    ------
    ValueError
        From ``fit``: if a threshold separates the classes perfectly, so that there is no optimum;
        for constant scores; for a class without samples; for more than 2 classes, and for raw
        scores, which have no posteriors.

    Notes
    -----
    Knots are at 20 quantiles of the training scores, in which both classes have the same weight,
    rounded to a grid of a power of two, with 128 to 256 cells over the finite scores. `lambda`
    times the number of training samples of positive weight is one of 1e-4, 1e-3, ..., 1e4 and
    infinity, tried in descending order until two in a row are worse than the best. The inner folds
    are 5 of samples; in cross-fitting they are the other folds, so that groups and speakers stay
    apart. For each penalty the problem is convex, and solved to a gradient below 1e-9 per sample.
    A posterior of 0 or 1 is mapped to the limit.

    References
    ----------
    B. Lucena, "Spline-based probability calibration", 2018, arXiv:1809.07751; P. J. Green and B. W.
    Silverman, "Nonparametric regression and generalized linear models", 1994, chapter 5.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(1)
    >>> y = np.arange(4000) % 2
    >>> llr = np.sinh(rng.normal(2.0 * y - 1.0, 1.0))  # the logs of these ratios are 2 asinh(llr)
    >>> fitted = fp.Spline().fit(fp.Predictions.from_llrs(y, llr))
    >>> fitted.transform(fp.Predictions.from_llrs(None, [-2.0, 0.0, 2.0])).llrs.round(1).tolist()
    [-2.9, 0.0, 2.9]
    """

    needs_posteriors = True
    chooses_among_fits = True

    # The map

    @property
    def n_parameters(self) -> int:
        return 2 * _KNOTS + 2

    def features(self, scores: Floats) -> Floats:
        raise NotImplementedError("features depend on the knots")

    def steepness(self, parameters: Floats) -> float:
        return max(float(_slopes(parameters).max()), 1e-3)

    def axis(self, low: float, high: float, steepness: float, most_cells: int) -> Axis | None:
        if not low < high:
            return None
        unit = _unit(low, high)
        first, last = np.floor(low / unit), np.floor(high / unit) + 1.0
        stretch = unit * steepness / _WIDTH
        if not np.isfinite(stretch):
            return None
        finer = max(0, int(np.ceil(np.log2(stretch))))
        n_cells = (last - first) * 2.0**finer
        if not n_cells <= 2 * _MOST_CELLS:
            return None
        return Axis(float(first * unit), float(unit / 2.0**finer), int(n_cells))

    def apply(self, parameters: Floats, scores: Floats) -> Floats:
        return _value(parameters[:_KNOTS], _slopes(parameters), parameters[2 * _KNOTS], scores)

    def fit_to_sums(
        self,
        sums: WeightedScores,
        masks: NDArray[np.bool_],
        start: Floats | None,
        steepest: float,
    ) -> Floats:
        unit = _unit(*sums.span)
        fits = np.full((len(masks), self.n_parameters), np.nan)
        for fit, mask in zip(fits, masks, strict=True):
            knots = _knots(sums.scores, sums.training_weights(mask[None])[:, 0], unit)
            parameters = _chosen(sums, mask, _Basis.of(knots, sums.scores), steepest)
            if parameters is not None:
                fit[:] = parameters
        return fits

    # Fits: inner folds for a single fit, and infinite scores at the floor

    def with_inner_folds(self, data: Data, folds: Folds) -> Folds | None:
        original = data.drawn_from
        fewest = int(np.min(original.class_sizes))
        if folds.n_folds == 1 and fewest > 1:
            n_folds = min(_FOLDS, fewest)
            name = ("folds", n_folds, 0)  # the folds of CrossFit()
            dealt = shared(name, original, lambda: deal_samples(original, n_folds, 0))
            return dealt.inner()
        # folds that train a calibrator, and may train others on which it is not trained
        inner = folds.training_mask[:, :, None] & folds.training_mask[:, None, :] & folds.may_train
        return folds if folds.n_folds == 1 or inner.any(axis=(1, 2)).all() else None

    def _fits(self, data: Data, folds: Folds, start: Self | None = None) -> tuple[Fits, Span]:
        span = count(ScoreRange().over(data))
        if not span.is_finite:
            data = mapped(data, _AtFloor(span.floor(2)))
        return super()._fits(data, folds, start)

    def is_constant(self, parameters: Floats) -> bool:
        return not _slopes(parameters).any()

    def check_fitted(self) -> None:
        super().check_fitted()
        require_fitted("parameters_", (np.diff(self.parameters_[:_KNOTS]) >= 0.0).all())
        require_fitted("parameters_", (_slopes(self.parameters_) >= 0.0).all())


@dataclass(frozen=True, eq=False)
class _Basis:
    """Features of distinct knots: integrals, from the middle knot, of hat functions.

    Attributes
    ----------
    knots : ndarray of float64, shape (m,)
    features : ndarray of float64, shape (m + 1, Q)
        The last are those of the bias.
    line : ndarray of float64, shape (2, Q)
        Features of a map of constant slope.
    roughness : ndarray of float64, shape (m + 1, m + 1)
        Half of ``p @ roughness @ p`` is the integral of the squared second derivative.
    """

    knots: Floats
    features: Floats
    line: Floats
    roughness: Floats

    @classmethod
    def of(cls, knots: Floats, scores: Floats) -> "_Basis":
        """Return the features of scores (Q,)."""
        n_knots = knots.size
        full = np.concatenate([knots, np.full(_KNOTS - n_knots, knots[-1])])
        hats = np.eye(n_knots, _KNOTS)
        hats[-1, n_knots:] = 1.0
        features = np.ones((n_knots + 1, scores.size))
        for k, slopes in enumerate(hats):
            features[k] = _value(full, slopes, 0.0, scores)
        line = np.stack([scores - full[_KNOTS // 2], np.ones(scores.size)])
        differences = np.diff(np.eye(n_knots, n_knots + 1), axis=0)
        with np.errstate(over="ignore"):  # scores that hardly differ
            roughness = 2.0 * (differences.T / np.diff(knots)) @ differences
        return cls(knots, features, line, roughness)


class _Path:
    """Fits to some training sets under one penalty after another, each from the one before."""

    def __init__(self, basis: _Basis, weights: Floats, prior_log_odds: Floats) -> None:
        self._basis, self._weights, self._prior = basis, weights, prior_log_odds
        n_fits = prior_log_odds.size
        self._at = np.zeros((n_fits, basis.knots.size + 1))
        totals = weights.sum(axis=2)
        self._at[:, -1] = np.log(totals[1] / totals[0]) - prior_log_odds
        self._penalty = np.inf

    def step(self, penalty: float, n_samples: float) -> NDArray[np.bool_]:
        """Fit with `lambda` of ``penalty / n_samples``; return whether each fit succeeded, (C,)."""
        basis, line = self._basis, penalty == np.inf
        features = basis.line if line else basis.features
        at = self._at[:, -2:] if line else self._at
        roughness = np.zeros((2, 2)) if line else penalty / n_samples * basis.roughness
        lower = np.zeros(len(features))
        lower[-1] = -np.inf
        fits = kernels.axis.fit_to_nodes(
            features[None], self._weights[0], self._weights[1], self._prior, at, roughness, lower
        )
        has_fit = (fits[:, -1] > 0.0) & np.isfinite(fits).all(axis=1)
        valid_fits = fits[has_fit]
        self._at[has_fit, :-1] = valid_fits[:, :1] if line else valid_fits[:, :-2]
        self._at[has_fit, -1] = valid_fits[:, -2]
        self._penalty = penalty
        return np.asarray(has_fit)

    @property
    def steepest(self) -> int:
        """The number of the fit with the steepest slope."""
        return int(self._at[:, :-1].max(axis=1).argmax())

    def log_odds(self, number: int) -> Floats:
        """Return the log-odds of all scores after a fit, (Q,)."""
        values = kernels.axis.weigh_nodes(self._at[number][None], self._basis.features)
        return np.asarray(values[0] + self._prior[number])

    def parameters(self, number: int = -1) -> Floats:
        """Return the parameters of the map of a fit."""
        n_missing = _KNOTS - self._basis.knots.size
        code = -1.0 if self._penalty == np.inf else self._penalty
        *slopes, height = self._at[number]
        pairs = (self._basis.knots, np.array(slopes))
        padded = [np.concatenate([each, np.full(n_missing, each[-1])]) for each in pairs]
        return np.concatenate([*padded, [height, code]])


@np.errstate(all="ignore")  # weights near the largest float
def _chosen(
    sums: WeightedScores, mask: NDArray[np.bool_], basis: _Basis, limit: float
) -> Floats | None:
    """Return the parameters of the fit to some folds with the penalty that its folds choose.

    Where a fit is steeper than a limit, they are its parameters.
    """
    held_out, inner = [], []
    for fold in np.flatnonzero(mask & sums.class_totals.any(axis=0)):
        training = mask & sums.may_train[fold]
        if sums.have_overlap(training[None], with_bias=True)[0]:
            held_out.append(fold)
            inner.append(training)
    masks = np.stack([*inner, mask])
    path = _Path(basis, sums.training_weights(masks), sums.prior_log_odds(masks))
    n_samples = sums.n_samples * float(sums.totals(mask[None]).sum() / sums.class_totals.sum())
    best, lowest, n_worse = None, np.inf, 0
    for penalty in _PENALTIES if basis.knots.size > 1 and held_out else _PENALTIES[:1]:
        has_fit = path.step(penalty, n_samples)
        if path.parameters(path.steepest)[_KNOTS : 2 * _KNOTS].max() > limit:
            return path.parameters(path.steepest)
        if best is None:
            if not has_fit[-1]:
                return None
            best = path.parameters()  # the only one without inner folds
            candidates = [number for number, is_found in enumerate(has_fit[:-1]) if is_found]
        loss = np.inf
        if candidates and has_fit[[*candidates, -1]].all():
            loss = _held_out_loss(sums, path, [(n, int(held_out[n])) for n in candidates])
        if loss < lowest:
            best, lowest, n_worse = path.parameters(), loss, 0
        else:
            n_worse += 1
        if n_worse == _PATIENCE:
            break
    return best


def _held_out_loss(sums: WeightedScores, path: _Path, pairs: list[tuple[int, int]]) -> float:
    """Return the mean log loss of fits on folds that did not train them."""
    losses, totals, of_folds = np.zeros(2), np.zeros(2), np.eye(len(sums.may_train), dtype=bool)
    for number, fold in pairs:
        log_odds, weights = path.log_odds(number), sums.weigh(of_folds[fold : fold + 1])
        for k, sign in enumerate((1.0, -1.0)):
            losses[k] += (kernels.log_space.softplus(sign * log_odds) * weights[k, 0]).sum()
        totals += sums.class_totals[:, fold]
    priors = sums.priors.weighing
    if priors is None:
        return float(losses.sum() / totals.sum())
    return float((priors * losses / totals).sum())


def _value(knots: Floats, slopes: Floats, height: float, scores: Floats) -> Floats:
    """Return the map with slopes at 20 knots, and a height at the middle one, at scores (n,)."""
    widths = np.diff(knots)
    heights = np.concatenate([[0.0], np.cumsum(0.5 * (slopes[1:] + slopes[:-1]) * widths)])
    heights += height - heights[_KNOTS // 2]
    place = np.clip(np.searchsorted(knots, scores, side="right") - 1, 0, _KNOTS - 2)
    inside = np.clip(scores, knots[0], knots[-1])
    within = inside - knots[place]
    bend = np.divide(np.diff(slopes), widths, out=np.zeros(_KNOTS - 1), where=widths > 0.0)
    values = heights[place] + within * (slopes[place] + 0.5 * bend[place] * within)
    outside = scores != inside
    beyond = scores[outside] - inside[outside]
    outer = np.where(beyond < 0.0, slopes[0], slopes[-1])
    # an infinite score has a finite value where the slope is 0
    values[outside] += np.multiply(outer, beyond, out=np.zeros(beyond.size), where=outer != 0.0)
    return np.asarray(values)


def _slopes(parameters: Floats) -> Floats:
    return parameters[_KNOTS : 2 * _KNOTS]


def _unit(low: float, high: float) -> float:
    """Return the power of two that divides all knots between a lowest and a highest score."""
    center = min(max(high, -_CENTER), _CENTER) - min(max(low, -_CENTER), _CENTER)
    span = max(center, (high - low) / _FINER, float(np.finfo(float).tiny) * _FEWEST_CELLS)
    return float(2.0 ** np.floor(np.log2(span / _FEWEST_CELLS)))


def _knots(scores: Floats, weights: Floats, unit: float) -> Floats:
    """Return the distinct multiples of a unit that are nearest to the quantiles of the scores.

    Both classes, with weights (2, Q), count alike.
    """
    with np.errstate(over="ignore"):
        cells = np.floor(scores / unit)
    first, last = cells.min(), cells.max()
    if not (np.isfinite(unit) and last - first < np.iinfo(np.int32).max):
        raise too_large()
    shares = (weights / weights.sum(axis=1, keepdims=True)).sum(axis=0) / 2.0
    of_cells = np.bincount((cells - first).astype(np.int64), shares)
    # rounded, so that ties do not depend on the order of the samples
    below = np.round(np.concatenate([[0.0], np.cumsum(of_cells)]), 12)
    levels = (np.arange(_KNOTS) + 0.5) / _KNOTS
    nearest = np.abs(below - levels[:, None]).argmin(axis=1)
    return np.unique(unit * (first + nearest))  # far from 0, others may be the same float


@dataclass(frozen=True, eq=False)
class _AtFloor(Transform):
    """Scores with infinite values moved to a floor."""

    floor: float

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        clipped = np.clip(predictions.scores, self.floor, -self.floor)
        return predictions.replace_scores(predictions.kind, clipped)
