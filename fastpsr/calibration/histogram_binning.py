"""Histogram binning: calibration by the class frequencies in bins of the posterior."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fastpsr import checks, kernels
from fastpsr.calibration.base import Calibrator, require_fitted
from fastpsr.calibration.log_odds import (
    AsPosteriors,
    as_posteriors,
    clip_log_odds,
    log_odds_of,
    prior_log_odds,
)
from fastpsr.counts.bins import BinSums, Events, fixed_edges
from fastpsr.data import Data, Floats, Predictions, mapped


@dataclass(frozen=True, eq=False)
class HistogramBinning(Calibrator):
    """Replace the posterior of class 1 by the frequency of class 1 in its bin.

    Binary tasks only. Bins (low, high] have equal width, and 0 is in the first bin; posteriors in
    an empty bin are replaced by its center. The expected calibration error uses this map (Ferrer
    and Ramos, 2024, section 2.5.2). It is provided for comparison; other calibrators are better.

    Parameters
    ----------
    bins : int
        Number of bins, at least 1.
    floor : float
        Calibrated posteriors are clipped to [floor, 1 - floor]; by default they are not clipped.

    Attributes
    ----------
    edges_ : ndarray of float64, shape (bins + 1,)
    posterior_ : ndarray of float64, shape (bins,)
        Posterior of class 1 in each bin, at the training prior.
    prior_log_odds_ : float
        Log-odds of the training prior, by which LLRs are converted to the binned posteriors; 0 for
        posteriors.

    Raises
    ------
    ValueError
        From ``fit``, for raw scores, which have no posteriors to bin.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.9])
    >>> fp.HistogramBinning(4).fit(data).posterior_.tolist()
    [0.5, 1.0, 0.625, 1.0]
    """

    bins: int = 15
    floor: float = 0.0
    edges_: Floats = field(init=False, repr=False)
    posterior_: Floats = field(init=False, repr=False)
    prior_log_odds_: float = field(init=False, repr=False)
    binary_only = True
    needs_posteriors = True
    bins_posteriors = True
    fitted_names = ("edges_", "posterior_", "prior_log_odds_")

    def __post_init__(self) -> None:
        checks.check_bins(self.bins)
        checks.as_floor(self.floor)

    def check_fitted(self) -> None:
        uniform = fixed_edges(self.bins)
        require_fitted("edges_", np.array_equal(self.edges_, uniform))
        require_fitted("posterior_", np.shape(self.posterior_) == (self.bins,))
        inside = (self.posterior_ >= 0.0) & (self.posterior_ <= 1.0)
        require_fitted("posterior_", np.all(inside))
        require_fitted("prior_log_odds_", np.isfinite(self.prior_log_odds_))

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        offset = prior_log_odds(data)
        edges = fixed_edges(self.bins)
        at_prior = mapped(data, AsPosteriors(np.array([0.0, offset])))
        sums = BinSums(2, edges, Events("class"), data.given_priors).total(at_prior)
        weight, hits, _ = sums.shares
        centers = (edges[:-1] + edges[1:]) / 2.0  # of bins that are empty
        posterior = np.divide(hits, weight, out=centers, where=weight > 0.0)
        return {"edges_": edges, "posterior_": posterior, "prior_log_odds_": offset}

    def _transform(self, predictions: Predictions) -> Predictions:
        at_prior = as_posteriors(predictions, np.array([0.0, self.prior_log_odds_]))
        bins = kernels.cells.bin_numbers(at_prior.positive_posteriors, self.edges_)
        levels = clip_log_odds(log_odds_of(self.posterior_, 1.0 - self.posterior_), self.floor)
        return predictions.replace_scores(self.output_kind, (levels - self.prior_log_odds_)[bins])
