"""Vector and matrix scaling with a penalty: linear maps of smoothed log-posteriors."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.calibration.affine import TemperatureScaling, require_squares
from fastpsr.calibration.base import Calibrator, require_fitted, require_trained_classes
from fastpsr.calibration.folds import one_fold
from fastpsr.calibration.linear_rows import newton_by_products, not_converged
from fastpsr.calibration.log_odds import AsPosteriors, as_posteriors, log_prior_of
from fastpsr.calibration.row_fits import held_rows
from fastpsr.counts import count, side_by_side
from fastpsr.counts.scores import ClassCounts
from fastpsr.data import Data, Floats, Predictions, class_factors, mapped
from fastpsr.errors import ArgumentError

_SQUARES = 12  # arrays of K x K that a search holds
_LEAST = -1e200  # instead of -inf, so that products with it are defined
_CHUNK = 1 << 17  # numbers of a chunk of rows, which stay in the second-level cache


class _Structured(Calibrator):
    """``softmax((I + D) x + b)``, with x the log-posteriors after temperature scaling, smoothed."""

    strength: float
    scale_: float
    n_samples_: float
    weights_: Floats
    bias_: Floats
    log_priors_: Floats
    needs_posteriors = True
    fitted_names = ("scale_", "n_samples_", "weights_", "bias_", "log_priors_")

    def __post_init__(self) -> None:
        strength = checks.as_number("strength", self.strength)
        if not 0.0 <= strength < np.inf:
            raise ArgumentError("strength", f"must be at least 0 and finite, not {self.strength}")
        object.__setattr__(self, "strength", strength)

    def require_classes(self, data: Data) -> None:
        if not self.strength or data.kind != "posteriors":  # the penalty also fits absent classes
            super().require_classes(data)

    def check_fitted(self) -> None:
        n_classes = np.size(self.bias_)
        require_fitted("bias_", np.ndim(self.bias_) == 1 and n_classes > 1)
        require_fitted("weights_", np.shape(self.weights_) in ((n_classes,), (n_classes,) * 2))
        require_fitted("log_priors_", np.shape(self.log_priors_) == (n_classes,))
        for name in self.fitted_names:
            require_fitted(name, np.isfinite(getattr(self, name)).all())
        require_fitted("n_samples_", self.n_samples_ > 0.0)

    def penalty(self, n_classes: int, n_samples: float) -> Floats:
        """Return the factors of the squares of D and b, (K, 2) or (K, K + 1)."""
        raise NotImplementedError

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        priors, n_classes = data.given_priors, data.n_classes
        log_priors = log_prior_of(data.kind, data.class_weights, priors)
        at_prior = mapped(data, AsPosteriors(log_priors))
        temperature, counts, rows = side_by_side(
            partial(TemperatureScaling().fitted_to, at_prior),
            partial(count, ClassCounts(n_classes).over(data)),
            partial(held_rows, at_prior, one_fold()),
            over=data,
        )
        n_samples = float(counts.sum())
        factors = class_factors(data.class_weights, priors)
        shares = factors / (factors * data.class_weights).sum()
        pull = 2.0 * self.penalty(n_classes, n_samples)
        identity = np.eye(*pull.shape) if pull.shape[1] > 2 else np.tile([1.0, 0.0], (n_classes, 1))
        begin = np.zeros_like(pull)
        if start is not None:
            begin = np.column_stack([start.weights_, start.bias_]) - identity
        samples = rows.predictions.present()
        of_rows = shares[samples.labels]
        of_rows = of_rows * samples.weights if samples.weights.size else of_rows
        x = _smoothed(samples, temperature.scale_, n_samples)
        end = newton_by_products(_Rows(x, samples.labels, of_rows, identity), begin, pull)
        if end is None:
            raise not_converged(n_classes)
        weights = (identity + end)[:, :-1]
        return {
            "scale_": temperature.scale_,
            "n_samples_": n_samples,
            "weights_": weights if pull.shape[1] > 2 else weights[:, 0],
            "bias_": end[:, -1] - end[:, -1].mean(),
            "log_priors_": log_priors,
        }

    def _transform(self, predictions: Predictions) -> Predictions:
        require_trained_classes(self.bias_.size, predictions)
        at_prior = as_posteriors(predictions, self.log_priors_)
        rows = _smoothed(at_prior, self.scale_, self.n_samples_)
        weights = self.weights_
        scores = rows * weights if weights.ndim == 1 else rows @ weights.T
        out = np.empty_like(scores)
        kernels.log_space.normalize_log_rows(scores, self.bias_, out)
        if predictions.kind == "likelihoods":
            out -= self.log_priors_
        values = out[:, 1] - out[:, 0] if predictions.scores.ndim == 1 else out
        return predictions.replace_scores(self.output_kind, np.ascontiguousarray(values))


@dataclass(frozen=True, eq=False)
class VectorScaling(_Structured):
    """Structured vector scaling: a slope and a bias for each class, drawn towards temperature.

    The posteriors are first scaled by a temperature and smoothed, ``x = log((n q + 1 / K) /
    (n + 1))`` for n training samples. The map is then ``softmax(w x + b)``, with the weights and
    biases that minimize the log loss plus ``strength x K / n x (sum (w - 1)^2 + sum b^2)``.

    Parameters
    ----------
    strength : float
        Strength of the penalty, at least 0. Without it, in binary tasks, this is beta calibration
        of the smoothed posteriors, but for the signs of its slopes.

    Attributes
    ----------
    scale_ : float
        Scale of the log-posteriors: the inverse of the temperature.
    n_samples_ : float
        Number n of training samples of positive weight, those drawn twice counted twice.
    weights_ : ndarray of float64, shape (K,)
    bias_ : ndarray of float64, shape (K,)
        Sums to 0.
    log_priors_ : ndarray of float64, shape (K,)
        Log-priors of the training data, at which likelihoods are mapped, and which are removed
        from the result; zeros for posteriors.

    Raises
    ------
    ValueError
        From ``fit``: for raw scores; if a temperature cannot be fitted (constant or separable
        data); for a class without samples, unless these are posteriors of more than two classes and
        there is a penalty.

    Notes
    -----
    Classes with few samples stay at the temperature, since there is little to outweigh the penalty.
    Posteriors of 0 are finite after smoothing, so that losses are finite after calibration. A fit
    needs its rows in memory: parts that exceed ``FASTPSR_MEMORY`` are refused.

    References
    ----------
    "Structured matrix scaling for multi-class calibration", arXiv:2511.03685; C. Guo et al., "On
    calibration of modern neural networks", ICML 2017 (without penalty and smoothing).

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 3000)
    >>> logits = (rng.normal(size=(3000, 3)) + 2.0 * np.eye(3)[y]) * [3.0, 1.0, 1.0]
    >>> data = fp.Predictions.from_logits(y, logits)
    >>> cross_entropy = fp.CrossEntropy()
    >>> for calibrator in (fp.TemperatureScaling(), fp.VectorScaling()):
    ...     print(round(cross_entropy(fp.cross_fit(calibrator, data)), 3))
    0.518
    0.379
    """

    strength: float = 1.0

    def penalty(self, n_classes: int, n_samples: float) -> Floats:
        return np.full((n_classes, 2), self.strength * n_classes / n_samples)


@dataclass(frozen=True, eq=False)
class MatrixScaling(_Structured):
    """Structured matrix scaling: a linear map of all log-posteriors, drawn towards temperature.

    As :class:`VectorScaling`, with a matrix of weights: ``softmax(W x + b)``, that minimizes the
    log loss plus ``strength x (K / n x (sum (W_kk - 1)^2 + sum b^2) + K (K - 1) / n x sum of the
    squares of other weights)``.

    Parameters
    ----------
    strength : float
        Strength of the penalty, above 0: without one, K^2 weights overfit.

    Attributes
    ----------
    scale_ : float
        Scale of the log-posteriors: the inverse of the temperature.
    n_samples_ : float
        Number n of training samples of positive weight, those drawn twice counted twice.
    weights_ : ndarray of float64, shape (K, K)
    bias_ : ndarray of float64, shape (K,)
        Sums to 0.
    log_priors_ : ndarray of float64, shape (K,)
        Log-priors of the training data, at which likelihoods are mapped, and which are removed
        from the result; zeros for posteriors.

    Raises
    ------
    ValueError
        As :class:`VectorScaling`, and if K x K numbers exceed ``FASTPSR_MEMORY``.

    References
    ----------
    "Structured matrix scaling for multi-class calibration", arXiv:2511.03685.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 3000)
    >>> logits = rng.normal(size=(3000, 3)) + 2.0 * np.eye(3)[y]
    >>> logits[:, 0] += 0.8 * logits[:, 1]
    >>> data = fp.Predictions.from_logits(y, logits)
    >>> cross_entropy = fp.CrossEntropy()
    >>> for calibrator in (fp.VectorScaling(), fp.MatrixScaling()):
    ...     print(round(cross_entropy(fp.cross_fit(calibrator, data)), 3))
    0.411
    0.359
    """

    strength: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.strength:
            raise ArgumentError("strength", "must be above 0 for a matrix of weights, not 0")

    def check_classes(self, n_classes: int) -> None:
        super().check_classes(n_classes)
        reason = "which has K x K weights"
        require_squares(self.name, n_classes, _SQUARES, reason, "VectorScaling()")

    def penalty(self, n_classes: int, n_samples: float) -> Floats:
        of_square = self.strength * n_classes / n_samples
        factors = np.full((n_classes, n_classes + 1), of_square * (n_classes - 1))
        factors[:, -1] = of_square
        np.fill_diagonal(factors, of_square)
        return factors


class _Rows:
    """Smoothed log-posteriors of rows of positive weight, for sums of the mean loss.

    Parameters are those of a map less the identity: a weight and a bias for each class, (K, 2), or,
    of matrices, weights of all classes and a bias, (K, K + 1).
    """

    def __init__(self, x: Floats, y: NDArray[Any], shares: Floats, identity: Floats) -> None:
        self._is_matrix = identity.shape[1] > 2
        # a column of ones, whose weights are biases
        self._x = np.column_stack([x, np.ones(len(x))]) if self._is_matrix else x
        self._y, self._shares, self._identity = y, shares, identity
        self._posteriors = np.empty(x.shape)

    def slopes(self, point: Floats, *, curved: bool) -> tuple[Floats, Floats | None]:
        """Return the gradient at a point, and curvatures as searches by products need them."""
        gradient = np.zeros(point.shape)
        curvature = np.zeros((2, *point.shape)) if curved else None
        for rows in self._chunks():
            x, shares, posteriors = self._x[rows], self._shares[rows], self._posteriors[rows]
            values = self._scores(x, self._identity + point)
            kernels.fitting.residual_rows(values, self._y[rows], shares, posteriors)
            gradient += self._by_parameters(values, x)
            if curvature is not None:
                spread = posteriors * (1.0 - posteriors) * shares[:, None]
                curvature[0] += self._by_parameters(spread, np.square(x))
                curvature[1] += self._by_parameters(spread, x)
        return gradient, curvature

    def product(self, direction: Floats) -> Floats:
        """Return the product of the curvature at the last point with a direction."""
        product = np.zeros(direction.shape)
        for rows in self._chunks():
            values = self._scores(self._x[rows], direction)
            kernels.fitting.curve_rows(values, self._posteriors[rows], self._shares[rows])
            product += self._by_parameters(values, self._x[rows])
        return product

    def _scores(self, x: Floats, parameters: Floats) -> Floats:
        if self._is_matrix:
            return np.asarray(x @ parameters.T)
        return np.asarray(x * parameters[:, 0] + parameters[:, 1])

    def _by_parameters(self, values: Floats, x: Floats) -> Floats:
        """Return the sums of values (n, K) times the features of the parameters."""
        if self._is_matrix:
            return np.asarray(values.T @ x)
        return np.column_stack([np.einsum("nk,nk->k", values, x), values.sum(axis=0)])

    def _chunks(self) -> Iterator[slice]:
        n, n_columns = self._x.shape
        size = max(1, _CHUNK // n_columns)
        for first in range(0, n, size):
            yield slice(first, first + size)


def _smoothed(predictions: Predictions, scale: float, n_samples: float) -> Floats:
    """Return log-posteriors, scaled and mixed with a share of equal ones, (N, K)."""
    log_q = predictions.log_posteriors
    n_classes = log_q.shape[1]
    out = np.maximum(log_q, _LEAST)
    out *= scale
    kernels.log_space.normalize_log_rows(out, np.zeros(n_classes), out)
    np.exp(out, out=out)
    out *= n_samples
    out += 1.0 / n_classes
    np.log(out, out=out)
    out -= np.log(n_samples + 1.0)
    return out
