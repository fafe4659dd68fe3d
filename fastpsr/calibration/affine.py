"""Affine calibration in log space: direction-preserving, and temperature scaling."""

from dataclasses import dataclass, field
from typing import Any, Self
from warnings import warn

import numpy as np

from fastpsr import kernels
from fastpsr.calibration.affine_sums import (
    cross_fit_by_sums,
    fit_by_sums,
    refit_summands,
    refitted_sums,
)
from fastpsr.calibration.base import Calibrator, log_prior, require_fitted
from fastpsr.calibration.folds import Plan
from fastpsr.calibration.multiclass_fits import cross_fit_side_by_side
from fastpsr.calibration.newton import descend, fit_log_loss
from fastpsr.calibration.separability import require_overlap
from fastpsr.predictions import Floats, Kind, Predictions
from fastpsr.rules import Log, ScoringRule
from fastpsr.rules.base import check_rule
from fastpsr.summaries.summands import Summands
from fastpsr.summaries.sums import ScoreSums

__all__ = ["DirectionPreserving", "TemperatureScaling"]

_MANY = 1 << 14  # samples from which sums on an axis beat fits one by one
_LOG_FLOOR = float(np.log(1e-30))
_LARGEST = 1e307  # so that adding biases leaves it finite


class _Affine(Calibrator):
    """``softmax(scale x log q + bias)``; binary scores are log-odds and LLRs."""

    scale_: float
    bias_: Floats
    floor_: float
    fitted_names = ("scale_", "bias_", "floor_")
    _with_bias: bool

    def _rule(self) -> ScoringRule:
        return Log()

    def check_fitted(self) -> None:
        require_fitted("scale_", np.ndim(self.scale_) == 0 and np.isfinite(self.scale_))
        require_fitted("bias_", np.ndim(self.bias_) == 1 and np.size(self.bias_) > 1)
        require_fitted("bias_", np.all(np.isfinite(self.bias_)))
        require_fitted("floor_", np.ndim(self.floor_) == 0 and np.isfinite(self.floor_))

    def cross_fit_at_once(self, predictions: Predictions, plan: Plan) -> Predictions | None:
        if not isinstance(self._rule(), Log):
            return None
        if predictions.n_classes > 2:
            values = cross_fit_side_by_side(predictions, plan, self._with_bias)
        elif len(predictions) >= _MANY:
            values = cross_fit_by_sums(predictions, plan, self._with_bias)
        else:
            return None
        kind: Kind = "posteriors" if predictions.kind == "posteriors" else "likelihoods"
        return None if values is None else predictions.replace_scores(kind, values)

    def refitted_sums(
        self, rule: ScoringRule, plan: Plan, predictions: Predictions
    ) -> ScoreSums | None:
        if len(predictions) < _MANY or not isinstance(self._rule(), Log):
            return None
        return refitted_sums(rule, plan, predictions, self._with_bias)

    def refit_summands(
        self, rule: ScoringRule, plan: Plan, predictions: Predictions
    ) -> Summands | None:
        if not isinstance(self._rule(), Log):
            return None
        return refit_summands(rule, plan, predictions, self._with_bias)

    def _fit(self, samples: Predictions, start: Self | None) -> dict[str, Any]:
        floor = _floor(samples)
        found = None
        if len(samples) >= _MANY and isinstance(self._rule(), Log):
            found = fit_by_sums(samples, self._with_bias)
        scale, bias = self._fit_to_samples(samples, floor, start) if found is None else found
        if not (np.isfinite(scale) and np.isfinite(bias).all()):
            raise ValueError(
                "scores must be of a magnitude whose squares are finite to fit a scale"
            )
        if scale <= 0.0:
            warn(
                f"the fitted scale is {scale:.3g}: higher scores do not mean the class is likelier",
                RuntimeWarning,
                stacklevel=4,
            )
        return {"scale_": scale, "bias_": bias, "floor_": floor}

    def _fit_to_samples(
        self, samples: Predictions, floor: float, start: Self | None
    ) -> tuple[float, Floats]:
        y, scores = samples.labels, _above_floor(samples, floor)
        require_overlap(scores, y, samples.weights, with_bias=self._with_bias)
        weights = samples.balanced_weights()
        weights = weights / weights.max(initial=1e-300)  # of any magnitude: only ratios matter
        offset = log_prior(samples)
        first = None if start is None else (start.scale_, start.bias_)
        found = fit_log_loss(scores, y, weights, offset, self._with_bias, first)
        if isinstance(self._rule(), Log):
            return found
        return descend(self._rule(), scores, y, weights, offset, found)

    def _transform(self, predictions: Predictions) -> Predictions:
        if predictions.n_classes != self.bias_.size:
            raise ValueError(
                f"predictions must have {self.bias_.size} classes, as the training data had, "
                f"not {predictions.n_classes}"
            )
        # a scale of 0 or below would turn -inf into nan or +inf
        scores = predictions.scores if self.scale_ > 0.0 else _above_floor(predictions, self.floor_)
        kind = self.output_kind
        mapped = self.scale_ * scores
        if scores.ndim == 1:
            mapped += self.bias_[1] - self.bias_[0]
            return predictions.replace_scores(kind, mapped)
        if max(map(abs, predictions.score_range)) * abs(self.scale_) > _LARGEST:
            # differences of infinities would be nan
            mapped = np.where(np.isfinite(scores), np.clip(mapped, -_LARGEST, _LARGEST), mapped)
        if kind == "likelihoods":
            return predictions.replace_scores(kind, mapped + self.bias_)
        kernels.normalize_log_rows(mapped, self.bias_, mapped)
        return predictions.replace_scores(kind, mapped)


@dataclass(frozen=True, eq=False)
class DirectionPreserving(_Affine):
    """The affine map ``softmax(scale x log q + bias)`` that minimizes a proper score.

    One scale for all classes and a bias per class (the paper's Equation 23, after Brummer and van
    Leeuwen, 2006). In binary tasks this is logistic regression on the log-odds.

    Parameters
    ----------
    rule : ScoringRule
        What to minimize on the training data. For the log rule the problem is convex, and solved
        to a gradient under 1e-9 per sample; for others the search is local and begins at the
        optimum for the log rule. Cost rules cannot be minimized so.

    Attributes
    ----------
    scale_ : float
        Not constrained; a warning is given at 0 or below.
    bias_ : ndarray of float64, shape (K,)
        Sums to 0.
    floor_ : float
        What stood in for -inf in fitting: log(1e-30), or the least finite value if lower.

    Raises
    ------
    ValueError
        From ``fit``: for data that a scale and biases separate perfectly, which have no optimum,
        for constant scores, and for a class without samples.

    Notes
    -----
    Likelihood and raw input is fitted with the training log-prior added, and mapped to
    likelihoods: ``scale x llr + (bias[1] - bias[0])``.

    References
    ----------
    N. Brummer and D. van Leeuwen, "On calibration of language recognition scores", Odyssey 2006,
    doi:10.1109/ODYSSEY.2006.248106.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> log_odds = np.array([-2.0, -1.0, 1.0, -0.5, 2.0, 3.0])
    >>> data = fp.Predictions.from_logits([0, 0, 0, 1, 1, 1], log_odds)
    >>> fitted = fp.DirectionPreserving().fit(data)
    >>> round(fitted.scale_, 4), fitted.bias_.round(4).tolist()
    (0.9459, [0.1793, -0.1793])
    """

    rule: ScoringRule = field(default_factory=Log)
    scale_: float = field(init=False, repr=False)
    bias_: Floats = field(init=False, repr=False)
    floor_: float = field(init=False, repr=False)
    _with_bias = True

    def __post_init__(self) -> None:
        check_rule(self.rule)
        if not self.rule.is_strict:
            raise ValueError(
                f"rule must be strictly proper to be minimized, not {self.rule!r}: the risk of a "
                "cost matrix is piecewise constant"
            )

    def _rule(self) -> ScoringRule:
        return self.rule


@dataclass(frozen=True, eq=False)
class TemperatureScaling(_Affine):
    """The map ``softmax(scale x log q)`` that minimizes the log loss; 1 / scale is the temperature.

    Direction-preserving calibration without biases: it cannot mend wrong priors (the paper's
    section 3.3).

    Attributes
    ----------
    scale_ : float
    bias_ : ndarray of float64, shape (K,)
        Zeros.
    floor_ : float
        What stood in for -inf in fitting.

    References
    ----------
    C. Guo et al., "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> log_odds = np.array([-2.0, -1.0, 1.0, -0.5, 2.0, 3.0])
    >>> data = fp.Predictions.from_logits([0, 0, 0, 1, 1, 1], log_odds)
    >>> round(fp.TemperatureScaling().fit(data).scale_, 4)
    0.9149
    """

    scale_: float = field(init=False, repr=False)
    bias_: Floats = field(init=False, repr=False)
    floor_: float = field(init=False, repr=False)
    _with_bias = False


def _floor(samples: Predictions) -> float:
    """Return what stands in for -inf: log(1e-30), or the least finite score if that is lower."""
    low, high = samples.score_range
    if not samples.has_finite_scores:
        finite = samples.scores[np.isfinite(samples.scores)]
        low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    if samples.n_classes == 2:  # -log-odds are the other class's log-odds
        low = min(low, -high)
    return min(_LOG_FLOOR, low)


def _above_floor(samples: Predictions, floor: float) -> Floats:
    scores = samples.scores
    if samples.has_finite_scores:
        return scores
    return np.clip(scores, floor, -floor if scores.ndim == 1 else None)
