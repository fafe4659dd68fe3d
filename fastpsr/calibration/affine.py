"""Affine calibration in log space: direction-preserving, and temperature scaling."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fastpsr import checks, kernels
from fastpsr.calibration.affine_sums import (
    affine_fits_by_sums,
    affine_losses_by_sums,
    affine_summands,
)
from fastpsr.calibration.base import Calibrator, output_kind, require_fitted
from fastpsr.calibration.fit_rows import Fits, fit_rows, held_rows, needs_every_class
from fastpsr.calibration.floors import floored, with_floor
from fastpsr.calibration.folds import Folds, OneFold
from fastpsr.calibration.sampling import ScoreRange, Span
from fastpsr.errors import ArgumentError, SuspicionWarning, warn
from fastpsr.plans import Data, Part, Plan, Shared, Transform
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats, Kind, Predictions
from fastpsr.rules import Log, ScoringRule
from fastpsr.rules.base import check_rule
from fastpsr.summaries.infinite_losses import count_infinite_losses
from fastpsr.summaries.summands import Summands
from fastpsr.summaries.sums import ScoreSums, summed_losses
from fastpsr.wording import counted

__all__ = ["DirectionPreserving", "TemperatureScaling"]

_MANY = 1 << 14  # samples from which sums on an axis are faster than separate fits
_LOG_FLOOR = float(np.log(1e-30))
_SQUARES = 4  # arrays of K x K that any fit with biases holds
_LARGEST = 1e307  # so that values stay finite when biases are added


class _Affine(Calibrator):
    """``softmax(scale x log q + bias)``; binary scores are log-odds and LLRs."""

    floor: float
    scale_: float
    bias_: Floats
    floor_: float
    fitted_names = ("scale_", "bias_", "floor_")
    _with_bias: bool

    def __post_init__(self) -> None:
        checks.as_floor(self.floor)

    def _rule(self) -> ScoringRule:
        return Log()

    def require_classes(self, data: Data) -> None:
        if needs_every_class(data, with_bias=self._with_bias):
            super().require_classes(data)

    def check_fitted(self) -> None:
        require_fitted("scale_", np.ndim(self.scale_) == 0 and np.isfinite(self.scale_))
        require_fitted("bias_", np.ndim(self.bias_) == 1 and np.size(self.bias_) > 1)
        require_fitted("bias_", np.all(np.isfinite(self.bias_)))
        require_fitted("floor_", np.ndim(self.floor_) == 0 and np.isfinite(self.floor_))

    def cross_fit_plan(self, data: Data, folds: Folds) -> Plan[Transform]:
        fits = None
        if isinstance(self._rule(), Log):
            clipped = with_floor(data, self.floor)
            key: Hashable = ("affine fits", self._with_bias, folds.key)
            (fits,) = yield [Shared(key, clipped, lambda: self._fit_together(clipped, folds))]
        if fits is None:
            return (yield from super().cross_fit_plan(data, folds))
        return _AffineByFold(folds, fits, self.floor, output_kind(data.kind))

    def look_at(self, data: Data) -> Plan[None]:
        if self.floor:
            return
        n = yield from count_infinite_losses(data)
        if not n:
            return
        have = "has" if n == 1 else "have"
        what = "score" if data.kind == "raw scores" else "posterior"
        rule = "" if isinstance(self._rule(), Log) else f"{self._rule()!r}, "
        remedy = f"pass a floor, such as {self.name}({rule}floor=1e-3)"
        if data.kind == "raw scores":
            remedy = "remove these, or use PAV(floor=1e-3)"
        warn(
            SuspicionWarning(
                "posteriors of 0",
                f"{counted(n, 'sample')} {have} {what} {'-inf' if what == 'score' else '0'} for "
                f"the true class, which {self.name} leaves as it is",
                remedy,
            ),
        )

    def losses_plan(self, rule: ScoringRule, folds: Folds, data: Data) -> Plan[ScoreSums]:
        if len(data) >= _MANY and isinstance(self._rule(), Log):
            losses = yield from affine_losses_by_sums(
                rule, with_floor(data, self.floor), folds, with_bias=self._with_bias
            )
            if losses is not None:
                return losses
        return (yield from super().losses_plan(rule, folds, data))

    def refit_summands(self, rule: ScoringRule, folds: Folds, data: Data) -> Plan[Summands | None]:
        if not isinstance(self._rule(), Log):
            return None
        return (
            yield from affine_summands(
                rule, data, folds, with_bias=self._with_bias, floor=self.floor
            )
        )

    def _fit_together(self, data: Data, folds: Folds) -> Plan[Fits | None]:
        """Plan: return the fits of all folds together, or None if they must be made separately.

        They are made separately for infinite scores, for folds with few samples, and if a fit has
        no optimum or a scale that requires a warning.
        """
        given = data.given_priors
        if given is not None and not given.all():
            return None
        span, rows = yield [ScoreRange().over(data), self._rows_at_once(data, folds)]
        if not span.is_finite or folds.n_calibrators * data.n_classes > len(data):
            return None
        fits = None
        if data.n_classes == 2 and len(data) >= _MANY:
            by_sums = yield from affine_fits_by_sums(data, folds, with_bias=self._with_bias)
            if by_sums is not None:
                scale, shift = by_sums
                fits = Fits(scale, np.outer(shift, [-0.5, 0.5]))
        if fits is None:
            try:
                fits = yield from fit_rows(
                    data, folds, with_bias=self._with_bias, floor=0.0,
                    score_range=(span.low, span.high), rows=rows,
                )  # fmt: skip
            except ValueError as error:
                if getattr(error, "argument", "scores") != "scores":
                    raise
                return None  # separate fits give the full message
        if not fits.scale.min() > 0.0 or not np.isfinite(fits.bias).all():
            return None
        with np.errstate(over="ignore"):
            extremes = fits.scale.max() * 10.0 * np.array([span.low, span.high])
        return fits if np.isfinite(extremes).all() else None

    def _rows_at_once(self, data: Data, folds: Folds) -> Plan[Part | None]:
        """Plan: return the rows if they fit in memory, unless sums on an axis are tried first."""
        if isinstance(self._rule(), Log) and data.n_classes == 2 and len(data) >= _MANY:
            return None
        return (yield from held_rows(data, folds))

    def _fit_plan(self, data: Data, start: Self | None) -> Plan[dict[str, Any]]:
        data = with_floor(data, self.floor)
        is_log = isinstance(self._rule(), Log)
        span, rows = yield [ScoreRange().over(data), self._rows_at_once(data, OneFold())]
        floor = _floor(span, data.n_classes)
        fits = None
        if is_log and data.n_classes == 2 and len(data) >= _MANY:
            by_sums = yield from affine_fits_by_sums(data, OneFold(), with_bias=self._with_bias)
            if by_sums is not None:
                fits = Fits(by_sums[0], np.outer(by_sums[1], [-0.5, 0.5]))
        if fits is None:
            low, high = span.low, span.high
            if not span.is_finite:
                low, high = max(low, floor), min(high, -floor)
            fits = yield from fit_rows(
                data, OneFold(), with_bias=self._with_bias,
                floor=0.0 if span.is_finite else floor, score_range=(low, high),
                rule=None if is_log else self._rule(),
                start=None if start is None else (start.scale_, start.bias_), rows=rows,
            )  # fmt: skip
        found = self._attributes(fits, 0, floor)
        if fits.scale.size > 1 and not span.is_finite:
            found = yield from self._best_of(data, fits, floor)
        scale, bias = found["scale_"], found["bias_"]
        if not (np.isfinite(scale) and np.isfinite(bias).all()):
            raise ArgumentError(
                "scores", "must be of a magnitude whose squares are finite to fit a scale"
            )
        if scale <= 0.0:
            warn(
                f"the fitted scale is {scale:.3g}: higher scores do not mean the class is likelier",
                RuntimeWarning,
            )
        return found

    @staticmethod
    def _attributes(fits: Fits, place: int, floor: float) -> dict[str, Any]:
        return {"scale_": float(fits.scale[place]), "bias_": fits.bias[place], "floor_": floor}

    def _best_of(self, data: Data, fits: Fits, floor: float) -> Plan[dict[str, Any]]:
        """Plan: return the fit of least loss where scores are infinite, which fits replace."""
        found = [self._attributes(fits, place, floor) for place in range(fits.scale.size)]
        made = [self.with_fitted(data.kind, each).transform(data) for each in found]
        sums = yield [summed_losses(self._rule(), each) for each in made]
        losses = np.array([each.mean() for each in sums])
        return found[int(np.where(np.isnan(losses), np.inf, losses).argmin())]

    def _transform(self, predictions: Predictions) -> Predictions:
        if predictions.n_classes != self.bias_.size:
            raise ArgumentError(
                "predictions",
                f"must have {self.bias_.size} classes, as the training data had, "
                f"not {predictions.n_classes}",
            )
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
        kernels.normalize_log_rows(mapped, self.bias_, mapped)
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
        floor; and if K x K numbers exceed ``FASTPSR_MEMORY``.

    Notes
    -----
    For likelihoods and raw scores, the log-prior of the training data is added in fitting. They are
    transformed to likelihoods without it: ``scale x llr + (bias[1] - bias[0])``.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841; N. Brummer and D. van Leeuwen, "On calibration
    of language recognition scores", Odyssey 2006, doi:10.1109/ODYSSEY.2006.248106.

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
    """

    rule: ScoringRule = field(default_factory=Log)
    floor: float = 0.0
    scale_: float = field(init=False, repr=False)
    bias_: Floats = field(init=False, repr=False)
    floor_: float = field(init=False, repr=False)
    _with_bias = True

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
        most = max(2, int(np.sqrt(memory_budget() / (8 * _SQUARES))))
        if n_classes > most:
            raise ArgumentError(
                "predictions",
                f"must have at most {most:,} classes for DirectionPreserving, a fit of which adds "
                f"up K x K numbers, not {n_classes:,}",
                remedy="use TemperatureScaling(), or raise FASTPSR_MEMORY",
            )

    def _rule(self) -> ScoringRule:
        return self.rule


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
    scale_: float = field(init=False, repr=False)
    bias_: Floats = field(init=False, repr=False)
    floor_: float = field(init=False, repr=False)
    _with_bias = False


@dataclass(frozen=True, eq=False)
class _AffineByFold(Transform):
    """Map each sample with the affine map of its fold; scales are positive."""

    folds: Folds
    fits: Fits
    floor: float
    kind: Kind

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Columns that determine the fold of a row."""
        return self.folds.reads

    def __call__(self, part: Part) -> Predictions:
        predictions, served = floored(part.predictions, self.floor), self.folds.served_by(part)
        scale, bias = self.fits.scale, self.fits.bias
        if predictions.n_classes == 2:
            values = kernels.map_by_part(
                predictions._score_rows, served, scale, bias[:, 1] - bias[:, 0]
            )
            return predictions.replace_scores(self.kind, values)
        values = kernels.map_by_part(predictions._score_rows, served, scale, bias)
        if self.kind == "posteriors":
            kernels.normalize_log_rows(values, np.zeros(values.shape[1]), values)
        return predictions.replace_scores(self.kind, values)


def _floor(span: Span, n_classes: int) -> float:
    """Return the value that replaces -inf: log(1e-30), or the least finite score if lower."""
    low = span.finite_low
    if n_classes == 2:  # -log-odds are the log-odds of the other class
        low = min(low, -span.finite_high)
    return min(_LOG_FLOOR, low)
