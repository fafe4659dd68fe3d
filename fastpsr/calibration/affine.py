"""Affine calibration in log space: direction-preserving, and temperature scaling."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.axis import Fits, TrainingPriors, WeightedScores
from fastpsr.calibration.base import require_fitted, require_trained_classes
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.linear_rows import too_large
from fastpsr.calibration.log_odds import floored
from fastpsr.calibration.row_fits import fit_class_rows, needs_every_class
from fastpsr.calibration.smooth import SmoothCalibrator
from fastpsr.data import Data, Floats, Part, Predictions
from fastpsr.data.budget import memory_budget
from fastpsr.errors import ArgumentError, warn
from fastpsr.rules import Log, ScoringRule
from fastpsr.rules.base import check_rule

_SQUARES = 4  # arrays of K x K that any fit with biases holds
_STEEP = 0.1  # least slope of maps beside which losses of the identity are known to 1e-6
_LARGEST = 1e307  # so that values stay finite when biases are added
_FLAT = 1e-9  # gradient per sample at which a search ends
_NEARBY = 0.1  # how far a root of the gradient may lie from there, by coordinate
_ROUNDING = 1e-14  # share of a loss


class _Affine(SmoothCalibrator):
    """``softmax(scale x log q + bias)``; binary scores are log-odds and LLRs."""

    scale_: float
    bias_: Floats
    fitted_names = ("scale_", "bias_", "floor_")

    # The map of one score

    @property
    def stream(self) -> tuple[str | int, ...]:
        return ("affine fits", int(self.with_bias))

    def features(self, scores: Floats) -> Floats:
        return scores.reshape(1, -1)

    def steepness(self, parameters: Floats) -> float:
        return abs(float(parameters[0]))

    def origin(self, low: float, high: float) -> float:
        # far from 0 squares lose digits
        middle = low / 2.0 + high / 2.0
        return middle if self.with_bias and abs(middle) > high - low > 0.0 else 0.0

    def moved(self, parameters: Floats, by: float) -> Floats:
        if not by:
            return parameters
        moved = parameters.copy()
        moved[..., 1] += by * moved[..., 0]
        return moved

    # Fitted attributes; with more than two classes, parameters are the scale and all biases

    def attributes(self, parameters: Floats, prior_log_odds: float) -> dict[str, Any]:
        bias = parameters[1:]
        if parameters.size <= 2:
            bias = (parameters[1] if self.with_bias else 0.0) * np.array([-0.5, 0.5])
        return {"scale_": float(parameters[0]), "bias_": bias}

    @property
    def fitted_parameters(self) -> Floats:
        if self.bias_.size > 2:
            return np.concatenate([[self.scale_], self.bias_])
        parameters = np.array([self.scale_, self.bias_[1] - self.bias_[0]])
        return parameters if self.with_bias else parameters[:1]

    def is_plain(self, fits: Fits, low: float, high: float) -> bool:
        if not fits.parameters[:, 0].min() > 0.0 or not np.isfinite(fits.parameters).all():
            return False
        with np.errstate(over="ignore"):
            extremes = fits.parameters[:, 0].max() * 10.0 * np.array([low, high])
        return bool(np.isfinite(extremes).all())

    def check_attributes(self, attributes: dict[str, Any]) -> None:
        scale = attributes["scale_"]
        if not (np.isfinite(scale) and np.isfinite(attributes["bias_"]).all()):
            raise too_large()
        if scale <= 0.0:
            warn(
                f"the fitted scale is {scale:.3g}: higher scores do not mean the class is likelier",
                kind="scale",
                once=True,
            )

    def check_fitted(self) -> None:
        require_fitted("scale_", np.ndim(self.scale_) == 0 and np.isfinite(self.scale_))
        require_fitted("bias_", np.ndim(self.bias_) == 1 and np.size(self.bias_) > 1)
        require_fitted("bias_", np.all(np.isfinite(self.bias_)))
        require_fitted("floor_", np.ndim(self.floor_) == 0 and np.isfinite(self.floor_))

    def require_classes(self, data: Data) -> None:
        if needs_every_class(data, with_bias=self.with_bias):
            super().require_classes(data)

    def fit_to_rows(
        self, data: Data, folds: Folds, rows: Part, floor: float, start: Floats | None
    ) -> Fits:
        if data.n_classes == 2:
            return super().fit_to_rows(data, folds, rows, floor, start)
        return fit_class_rows(self, data, folds, rows, floor, start)

    def _transform(self, predictions: Predictions) -> Predictions:
        require_trained_classes(self.bias_.size, predictions)
        predictions = floored(predictions, self.floor)
        # a scale of 0 or below would convert -inf to nan or +inf
        scores = predictions.scores
        if not self.scale_ > 0.0 and not predictions.has_finite_scores:
            scores = np.clip(scores, self.floor_, -self.floor_ if scores.ndim == 1 else None)
        kind = self.output_kind
        mapped = self.scale_ * scores
        if scores.ndim == 1:
            mapped += self.bias_[1] - self.bias_[0]
            return predictions.replace_scores(kind, mapped)
        if max(map(abs, predictions.score_range)) * abs(self.scale_) > _LARGEST:
            # differences of infinite values would be nan
            mapped = np.where(np.isfinite(scores), np.clip(mapped, -_LARGEST, _LARGEST), mapped)
        if kind == "likelihoods":
            return predictions.replace_scores(kind, mapped + self.bias_)
        kernels.log_space.normalize_log_rows(mapped, self.bias_, mapped)
        return predictions.replace_scores(kind, mapped)


@dataclass(frozen=True, eq=False)
class DirectionPreserving(_Affine):
    """The affine map ``softmax(scale x log q + bias)`` that minimizes a proper score.

    It has one scale for all classes and a bias per class (Ferrer and Ramos, 2024, Equation 23;
    Brummer and van Leeuwen, 2006). In binary tasks this is logistic regression on the log-odds.

    Parameters
    ----------
    rule : ScoringRule
        Rule whose mean loss on the training data is minimized. For the log rule the problem is
        convex and is solved to a gradient below 1e-9 per sample; for other rules local searches
        start at the optimum for the log rule, at no change, and at the best constant, and the best
        is returned, so that on the training data it is no worse than any of these. Cost rules,
        which are piecewise constant, are not accepted.
    floor : float
        Before fitting and transforming, posteriors are clipped to [floor, 1 - floor] and divided by
        their sum, as by ``Predictions.from_posteriors(..., floor=floor)``. At least 0 and below
        0.5; by default 0, no clipping. Likelihoods are clipped as posteriors at equal priors, that
        is LLRs to the log-odds of floor and 1 - floor. Raw scores cannot be clipped.
    prior : float, optional
        P(class 1) at which a binary fit weighs the classes, strictly between 0 and 1: the loss of
        the calibrated output at this prior is minimized, which makes it best for decisions around
        this prior. By default the priors of the data. The output keeps its meaning: LLRs have no
        prior, and posteriors refer to the priors of the data.

    Attributes
    ----------
    scale_ : float
        Not constrained; there is a warning if it is not positive.
    bias_ : ndarray of float64, shape (K,)
        Sums to 0.
    floor_ : float
        Value that replaced -inf in fitting: log(1e-30), or the least finite value if lower.

    Raises
    ------
    ValueError
        From ``fit``: if the classes can be separated perfectly by a scale and biases, so that there
        is no optimum; for constant scores; for a class without samples; for raw scores with a
        floor; for more than two classes with a prior; and if K x K numbers exceed
        ``FASTPSR_MEMORY``.

    Notes
    -----
    For likelihoods and raw scores, the log-prior of the training data is added in fitting. They are
    transformed to likelihoods without it: ``scale x llr + (bias[1] - bias[0])``.

    With a `prior` P this is prior-weighted logistic regression, as in the BOSARIS toolkit: weights
    are multiplied by P / W_1 for class 1 and (1 - P) / W_0 for class 0, where W are the total
    weights of the classes in the training data, of a fold or a bootstrap replicate.
    The fit adds logit P, for posteriors logit P minus the log-odds of the priors of the data. At
    P = W_1 / (W_0 + W_1), or at given priors, the fit equals the fit without a `prior`.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841; N. Brummer and D. van Leeuwen, "On calibration
    of language recognition scores", Odyssey 2006, doi:10.1109/ODYSSEY.2006.248106; N. Brummer and
    E. de Villiers, "The BOSARIS Toolkit user guide", 2011, for the prior.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> log_odds = np.array([-2.0, -1.0, 1.0, -0.5, 2.0, 3.0])
    >>> data = fp.Predictions.from_logits([0, 0, 0, 1, 1, 1], log_odds)
    >>> fitted = fp.DirectionPreserving().fit(data)
    >>> round(fitted.scale_, 4), fitted.bias_.round(4).tolist()
    (0.9459, [0.1793, -0.1793])

    A posterior of 0 for the true class has infinite loss before and after calibration, unless there
    is a floor:

    >>> votes = fp.Predictions.from_posteriors([0, 1, 0, 1, 1], [0.0, 0.0, 0.5, 0.6, 0.3])
    >>> cross_entropy = fp.CrossEntropy()
    >>> for calibrator in (fp.DirectionPreserving(), fp.DirectionPreserving(floor=0.01)):
    ...     print(round(cross_entropy(fp.cross_fit(calibrator, votes, fp.TrainOnTest())), 4))
    inf
    0.9861

    Raw scores at a prior of 0.01, for thresholds where false alarms are costly:

    >>> scores = fp.Predictions.from_raw_scores([0, 0, 0, 1, 1, 1], log_odds)
    >>> fitted = fp.DirectionPreserving(prior=0.01).fit(scores)
    >>> round(fitted.scale_, 4), fitted.bias_.round(4).tolist()
    (2.3034, [0.7674, -0.7674])
    """

    rule: ScoringRule = field(default_factory=Log)
    floor: float = 0.0
    prior: float | None = None
    with_bias = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rule(self.rule)
        if not self.rule.is_strict:
            raise ArgumentError(
                "rule",
                f"must be strictly proper to be minimized, not {self.rule!r}: the risk of a "
                "cost matrix is piecewise constant",
            )

    def check_classes(self, n_classes: int) -> None:
        super().check_classes(n_classes)
        reason = "whose fit adds up K x K numbers"
        require_squares(self.name, n_classes, _SQUARES, reason, "TemperatureScaling()")

    @property
    def key(self) -> Hashable:
        return (super().key, self.rule.key)

    @property
    def _is_log(self) -> bool:
        return isinstance(self.rule, Log)

    @property
    def _fits_sums(self) -> bool:
        if self._is_log or not self.rule.is_analytic:
            return self._is_log
        return self.rule.binary_slopes(np.zeros(1), np.zeros(1, np.uint8)) is not None

    @property
    def _shown_options(self) -> str:
        return ("" if self._is_log else f"{self.rule!r}, ") + super()._shown_options

    def fit_to_rows(
        self, data: Data, folds: Folds, rows: Part, floor: float, start: Floats | None
    ) -> Fits:
        fits = super().fit_to_rows(data, folds, rows, floor, start)
        if self._is_log or data.n_classes == 2:
            return fits
        samples, fold_of_row = rows.predictions, folds.fold_of_rows(rows)
        priors = TrainingPriors.of(data, self.prior)
        y, scores = samples.labels, samples.scores
        weights = samples.weights if samples.weights.size else np.ones(y.size)
        finite = np.maximum(scores, floor) if floor else scores
        parameters = []
        for mask, optimum in zip(folds.training_mask, fits.parameters, strict=True):
            used = np.flatnonzero(mask[fold_of_row] & (weights > 0.0))
            of_classes = np.bincount(y[used], weights[used], data.n_classes).astype(np.float64)
            shares = weights[used] * priors.factors(of_classes)[y[used]]
            loss = MeanLoss(self.rule, scores[used], finite[used], y[used], shares / shares.sum())
            parameters.append(fit_under_rule(loss, optimum, priors.offsets(of_classes)))
        return Fits(np.stack(parameters), fits.prior_log_odds)

    def fit_to_sums(
        self,
        sums: WeightedScores,
        masks: NDArray[np.bool_],
        start: Floats | None,
        steepest: float,
    ) -> Floats:
        optima = super().fit_to_sums(sums, masks, start, steepest)
        if self._is_log:
            return optima
        parameters = np.full_like(optima, np.nan)
        if steepest < _STEEP:  # the identity is beyond what cells resolve
            return parameters
        for c in np.flatnonzero(~np.isnan(optima).any(axis=1)):
            mask = masks[c : c + 1]
            weights = sums.training_weights(mask)[:, 0]
            y, nodes = np.nonzero(weights)
            finite, shares = sums.scores[nodes] + sums.origin, weights[y, nodes]
            scores = finite + sums.infinite[nodes]
            loss = MeanLoss(self.rule, scores, finite, y.astype(np.uint8), shares / shares.sum())
            offsets = np.array([0.0, sums.prior_log_odds(mask)[0]])
            parameters[c] = fit_under_rule(loss, optima[c], offsets)
        return parameters


@dataclass(frozen=True, eq=False)
class TemperatureScaling(_Affine):
    """The map ``softmax(scale x log q)`` that minimizes the log loss; 1 / scale is the temperature.

    This is direction-preserving calibration without biases, which cannot correct wrong priors
    (Ferrer and Ramos, 2024, section 3.3). It can be fitted to posteriors of more than two classes
    if some classes have no samples.

    Parameters
    ----------
    floor : float
        Posteriors are clipped before fitting and transforming; see :class:`DirectionPreserving`.
    prior : float, optional
        P(class 1) at which a binary fit weighs the classes; see :class:`DirectionPreserving`.

    Attributes
    ----------
    scale_ : float
    bias_ : ndarray of float64, shape (K,)
        Zeros.
    floor_ : float
        Value that replaced -inf in fitting.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841; C. Guo et al., "On calibration of modern neural
    networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> log_odds = np.array([-2.0, -1.0, 1.0, -0.5, 2.0, 3.0])
    >>> data = fp.Predictions.from_logits([0, 0, 0, 1, 1, 1], log_odds)
    >>> round(fp.TemperatureScaling().fit(data).scale_, 4)
    0.9149
    """

    floor: float = 0.0
    prior: float | None = None
    with_bias = False


@dataclass(frozen=True, eq=False)
class MeanLoss:
    """The mean loss of samples whose log-posteriors are affine in their scores.

    It is a function of points ``(scale, shift)`` for the log-odds of two classes, and of
    ``(scale, shifts)``, with a shift of each class but the first, for several.

    Attributes
    ----------
    rule : ScoringRule
    scores : ndarray of float64, shape (N,), or (N, K) for several classes
        May be infinite.
    finite : ndarray of float64, of the same shape
        Input of fits in place of the scores.
    y : ndarray of int, shape (N,)
    shares : ndarray of float64, shape (N,)
        Weights; their sum is 1.
    """

    rule: ScoringRule
    scores: Floats
    finite: Floats
    y: NDArray[Any]
    shares: Floats

    def at(self, point: Floats) -> float:
        """Return the mean loss of the finite scores."""
        return self._mean(self._log_posteriors(self.finite, point))

    def true_at(self, point: Floats) -> float:
        """Return the mean loss of the scores as they are."""
        # a scale of 0 or below would convert -inf to nan or inf
        scores = self.scores if point[0] > 0.0 else self.finite
        return self._mean(self._log_posteriors(scores, point))

    def with_slopes(self, point: Floats) -> tuple[float, Floats | None]:
        """Return the mean loss of the finite scores, and its gradient if the rule has one."""
        log_q = self._log_posteriors(self.finite, point)
        if log_q.ndim == 1:
            slopes = self.rule.binary_slopes(log_q, self.y)
        else:
            slopes = self.rule.slopes(log_q, self.y)
        if slopes is None:
            return self._mean(log_q), None
        weighted = (self.shares * slopes.T).T
        by_shift = weighted.sum(axis=0)
        by_shift = by_shift[None] if log_q.ndim == 1 else by_shift[1:]
        return self._mean(log_q), np.concatenate([[(weighted * self.finite).sum()], by_shift])

    def _mean(self, log_q: Floats) -> float:
        if log_q.ndim == 1:
            losses = self.rule.binary_losses(log_q, self.y)
        else:
            losses = self.rule.losses_at(log_q, self.y)
        value = float(np.where(self.shares, losses * self.shares, 0.0).sum())
        return np.inf if np.isnan(value) else value

    def _log_posteriors(self, scores: Floats, point: Floats) -> Floats:
        """Return log-odds (N,) of two classes, log-posteriors (N, K) of several."""
        log_q: Floats = point[0] * scores
        if scores.ndim == 1:
            return np.asarray(log_q + point[1])
        kernels.log_space.normalize_log_rows(log_q, np.concatenate([[0.0], point[1:]]), log_q)
        return log_q


def fit_under_rule(loss: MeanLoss, optimum: Floats, offsets: Floats) -> Floats:
    """Return the scale and biases of least mean loss at the training priors.

    Searches begin at the optimum for the log rule, and at the identity and the best constant where
    these are better than the end of the first. The result is never worse than any of these.

    Parameters
    ----------
    loss : MeanLoss
    optimum : ndarray of float64, shape (2,), or (1 + K,) for several classes
        Scale, and bias of the log-odds or biases of the classes, for the log rule.
    offsets : ndarray of float64, shape (K,)
        Added to the scores for log-posteriors at the training priors.
    """
    scale, bias = optimum[0], optimum[1:]
    to_prior = offsets[1:] - offsets[0]
    log_shares = np.log(np.bincount(loss.y, loss.shares, offsets.size))
    starts = [
        np.concatenate([[scale], (bias if bias.size == 1 else bias[1:] - bias[0]) + to_prior]),
        np.concatenate([[1.0], to_prior]),
        np.concatenate([[0.0], log_shares[1:] - log_shares[0]]),
    ]
    with np.errstate(all="ignore"):  # steps may overflow
        ends = [_end_of_search(loss, starts[0])]
        least = loss.at(ends[0])
        ends += [_end_of_search(loss, start) for start in starts[1:] if loss.at(start) < least]
        best = min([*ends, *starts], key=loss.true_at)
    shifts = best[1:] - to_prior
    if bias.size > 1:
        shifts = np.concatenate([[0.0], shifts])
        shifts -= shifts.mean()
    return np.concatenate([best[:1], shifts])


def _end_of_search(loss: MeanLoss, start: Floats) -> Floats:
    from scipy.optimize import minimize, root

    with_slopes: Any = loss.with_slopes
    if with_slopes(start)[1] is None:
        return np.asarray(minimize(loss.at, start, method="BFGS", jac="3-point").x)

    def slopes(point: Any) -> Any:
        return with_slopes(point)[1]

    end = minimize(with_slopes, start, method="BFGS", jac=True, options={"gtol": _FLAT})
    flat = root(slopes, end.x).x  # the value has only half of the digits of where it is least
    # where the optimum is at infinity, a root lies anywhere on the flat
    is_nearby = np.abs(flat - end.x).max() <= _NEARBY
    is_better = is_nearby and loss.at(flat) <= (1.0 + _ROUNDING) * end.fun
    return np.asarray(flat if is_better else end.x)


def require_squares(name: str, n_classes: int, n_squares: int, reason: str, other: str) -> None:
    """Raise if so many arrays of K x K exceed the memory budget."""
    if n_classes == 2:
        return
    most = max(2, int(np.sqrt(memory_budget() / (8 * n_squares))))
    if n_classes > most:
        raise ArgumentError(
            "predictions",
            f"must have at most {most:,} classes for {name}, {reason}, not {n_classes:,}",
            remedy=f"use {other}, or raise FASTPSR_MEMORY",
        )
