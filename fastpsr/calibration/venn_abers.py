"""Inductive Venn-Abers calibration: isotonic calibration with one sample of either class added."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fastpsr import checks, kernels
from fastpsr.calibration.base import Calibrator, require_fitted
from fastpsr.calibration.log_odds import clip_log_odds, log_odds_of, log_prior_of
from fastpsr.counts import count
from fastpsr.counts.ranks import distinct_scores
from fastpsr.data import LABELS, Data, Floats, Part, Predictions
from fastpsr.data.steps import Step
from fastpsr.errors import ArgumentError
from fastpsr.results import Result


@dataclass(frozen=True, eq=False)
class PosteriorInterval(Result):
    """Lower and upper posteriors of class 1 by Venn-Abers calibration.

    Attributes
    ----------
    low, high : ndarray of float64, shape (N,)
        The isotonic posterior if the sample itself were added to the training data, as one of class
        0 and as one of class 1.
    """

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class VennAbers(Calibrator):
    """Inductive Venn-Abers calibration: isotonic fits with the sample itself added (IVAP).

    Binary tasks only. With p0 and p1, the isotonic posteriors of a score if it were added to the
    training data with label 0 or 1, the posterior is ``p1 / (1 - p0 + p1)`` (Vovk, Petej and
    Fedorova, 2015, Algorithms 1 to 6, and their Equation 6 for the log loss). It is never 0 or 1,
    and the fit of PAV lies between p0 and p1.

    Parameters
    ----------
    floor : float
        Calibrated posteriors are clipped to [floor, 1 - floor]; by default they are not clipped.

    Attributes
    ----------
    upper_threshold_, upper_ : ndarray of float64, shape (B,)
        p1 of scores up to each threshold, both ascending; it is 1 above the last.
    lower_threshold_, lower_ : ndarray of float64, shape (C,)
        ``1 - p0`` of scores from each threshold on, descending; it is 1 below the first.
    prior_log_odds_ : float
        Log-odds to subtract: of the frequencies of the training classes, for posteriors minus the
        log-odds of given priors.

    Raises
    ------
    ValueError
        From ``fit``: for sample weights other than 0 and 1, with which samples are not
        exchangeable; for more than 2 classes; for a class without samples; and if all distinct
        scores exceed ``FASTPSR_MEMORY``.

    Notes
    -----
    Equal scores share p0 and p1. The fit is at the frequencies of the classes; given priors shift
    the log-odds afterwards. In a bootstrap replicate a sample that is drawn twice counts as two.
    Infinite scores are scores like others. The cost is a sort of all scores, and O(N) for the fit
    of each fold.

    References
    ----------
    V. Vovk, I. Petej and V. Fedorova, "Large-scale probabilistic predictors with and without
    guarantees of validity", NeurIPS 2015, arXiv:1511.00213.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> fitted = fp.VennAbers().fit(data)
    >>> interval = fitted.interval(data)
    >>> interval.low.round(3).tolist(), interval.high.round(3).tolist()
    ([0.0, 0.333, 0.333, 0.5, 0.667], [0.5, 0.667, 0.667, 1.0, 1.0])
    """

    floor: float = 0.0
    upper_threshold_: Floats = field(init=False, repr=False)
    upper_: Floats = field(init=False, repr=False)
    lower_threshold_: Floats = field(init=False, repr=False)
    lower_: Floats = field(init=False, repr=False)
    prior_log_odds_: float = field(init=False, repr=False)
    binary_only = True
    takes_weights = False
    fitted_names = (
        "upper_threshold_", "upper_", "lower_threshold_", "lower_", "prior_log_odds_",
    )  # fmt: skip

    def __post_init__(self) -> None:
        checks.as_floor(self.floor)

    def interval(self, predictions: Predictions) -> PosteriorInterval:
        """Return p0 and p1 of samples; labels are not needed.

        They are at the priors of the predictions, and of raw scores, which have none, at the
        frequencies of the training classes.

        Parameters
        ----------
        predictions : Predictions
            In memory, of the kind that the calibrator was fitted to.

        Raises
        ------
        ValueError
            As ``transform``.
        """
        calibrated = self.transform(predictions)
        if not isinstance(calibrated, Predictions):
            raise ArgumentError(
                "predictions", "must be in memory for intervals of posteriors",
                remedy="pass predictions.compute() if they fit in memory",
            )  # fmt: skip
        upper, lower = self._at(predictions.scores)
        if predictions.kind == "raw scores":
            return PosteriorInterval(1.0 - lower, upper)
        ends = (log_odds_of(1.0 - lower, lower), log_odds_of(upper, 1.0 - upper))
        low, high = (
            calibrated.replace_scores(self.output_kind, end - self.prior_log_odds_) for end in ends
        )
        return PosteriorInterval(low.positive_posteriors, high.positive_posteriors)

    def check_fitted(self) -> None:
        for which, ascends in (("upper", 1.0), ("lower", -1.0)):
            threshold, level = getattr(self, f"{which}_threshold_"), getattr(self, f"{which}_")
            require_fitted(f"{which}_threshold_", np.size(threshold) > 0)
            require_fitted(f"{which}_threshold_", np.all(threshold[1:] > threshold[:-1]))
            require_fitted(f"{which}_", np.shape(level) == np.shape(threshold))
            require_fitted(f"{which}_", np.all((level > 0.0) & (level <= 1.0)))
            require_fitted(f"{which}_", np.all(ascends * np.diff(level) >= 0.0))
        require_fitted("prior_log_odds_", np.isfinite(self.prior_log_odds_))

    def look_at(self, data: Data) -> None:
        if data.has_weights:
            count(_RefuseWeights().over(data))

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        table = distinct_scores(data, self.name)
        scores = table.lowest
        upper, lower = kernels.isotonic.isotonic_with_one_more(table.negatives, table.positives)
        last = np.flatnonzero(np.append(np.diff(upper) != 0.0, True))
        first = np.flatnonzero(np.append(True, np.diff(lower) != 0.0))
        # fitted at the frequencies, of which posteriors keep the part that priors do not replace
        log_priors = log_prior_of("raw scores", data.class_weights, None)
        prior = float(log_priors[1] - log_priors[0])
        if data.kind == "posteriors":
            priors = data.given_priors
            prior -= prior if priors is None else float(np.log(priors[1]) - np.log(priors[0]))
        return {
            "upper_threshold_": scores[last],
            "upper_": upper[last],
            "lower_threshold_": scores[first],
            "lower_": lower[first],
            "prior_log_odds_": prior,
        }

    def _at(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return p1 and 1 - p0 of scores, (N,) each."""
        ends = np.concatenate([[1.0], self.upper_[::-1]])
        upper = kernels.cells.step_function(-scores, -self.upper_threshold_[::-1], ends)
        ends = np.concatenate([[1.0], self.lower_])
        return upper, kernels.cells.step_function(scores, self.lower_threshold_, ends)

    def _transform(self, predictions: Predictions) -> Predictions:
        upper, lower = self._at(predictions.scores)
        log_odds = clip_log_odds(np.log(upper) - np.log(lower), self.floor)
        return predictions.replace_scores(self.output_kind, log_odds - self.prior_log_odds_)


@dataclass(frozen=True, eq=False)
class _RefuseWeights(Step[Any]):
    """Raise if a sample has a weight other than 0 and 1 that is no number of draws."""

    reads = LABELS
    is_exact = True

    def add(self, accumulator: None, prepared: None, part: Part) -> None:
        weights = part.predictions.weights
        if part.predictions.n_draws is not None or not weights.size:
            return
        fractional = np.flatnonzero((weights != 0.0) & (weights != 1.0))
        if fractional.size:
            raise ArgumentError(  # of views in parts, rows are counted over all
                "sample_weight",
                "must be 1 (or 0) for VennAbers, with which samples are exchangeable",
                part.first_row + int(fractional[0]),
                value=f"{weights[fractional[0]]:.6g}",
                remedy="use PAV(laplace=True), which takes weights",
            )

    def merge(self, total: None, more: None) -> None:
        return None
