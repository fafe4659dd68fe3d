"""Isotonic calibration with the pool-adjacent-violators algorithm (PAV)."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.calibration.axis import ScoreRange
from fastpsr.calibration.base import Calibrator, require_fitted
from fastpsr.calibration.fold_losses import CellLossSums
from fastpsr.calibration.folds import FoldLosses, Folds
from fastpsr.calibration.log_odds import clip_log_odds, log_odds_of, log_prior_of, prior_log_odds
from fastpsr.counts import count, count_all, find_facts
from fastpsr.counts.ranks import minority_of, pav_blocks, rank_table
from fastpsr.counts.roc import PavBlocks
from fastpsr.counts.scores import ClassCounts
from fastpsr.counts.sums import ScoreTotals, Sums
from fastpsr.data import (
    Data,
    Floats,
    Kind,
    Part,
    PartitionedPredictions,
    Predictions,
    Transform,
    class_factors,
    mapped,
)
from fastpsr.data.steps import Step
from fastpsr.rules.base import ScoringRule


@dataclass(frozen=True, eq=False)
class PAV(Calibrator):
    """Isotonic calibration (PAV): the non-decreasing map with the least loss on its training data.

    Binary tasks only. The map is a step function, and optimal for every proper scoring rule. The
    posterior of a block is the (weighted) frequency of class 1 in it, which may be 0 or 1 in the
    first and last blocks. Trained on the evaluated data, it is an upper bound on the performance of
    any monotone calibration on these data, and overfits (Ferrer and Ramos, 2024, section 2.4.2).

    Parameters
    ----------
    floor : float
        Calibrated posteriors are clipped to [floor, 1 - floor]; by default they are not clipped.
    laplace : bool
        Whether a target and a non-target are added to the training data at each of the scores -inf
        and inf (Laplace's rule of succession, as in the BOSARIS toolkit's `opt_loglr`), so that no
        posterior is 0 or 1. Each weighs the mean of the positive weights of its class. The prior
        of the training data does not change. The BOSARIS toolkit also tilts the LLRs
        and orders ties, which are pooled here.

    Attributes
    ----------
    threshold_ : ndarray of float64, shape (B,)
        Lowest training score of each block, ascending, on the scale of ``predictions.scores``:
        log-odds also for posteriors, else LLRs or raw scores. A score belongs to the last block
        whose threshold is not above it, or to the first block.
    posterior_ : ndarray of float64, shape (B,)
        Posterior of class 1 in each block, at the training prior.
    log_odds_ : ndarray of float64, shape (B,)
        Log-odds of these posteriors, which are precise also near posterior 1.
    prior_log_odds_ : float
        Log-odds of the training prior, which are subtracted to get LLRs; 0 for posteriors.

    Notes
    -----
    Equal scores are in the same block. A sample of weight n is equivalent to n copies. The cost is
    O(N) plus sorting a few of the scores, or, with weights, all scores of the smaller class.

    References
    ----------
    M. Ayer et al., "An empirical distribution function for sampling with incomplete information",
    Annals of Mathematical Statistics 26, 1955, doi:10.1214/aoms/1177728423; L. Ferrer and D. Ramos,
    "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring Rules, and Calibration",
    2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> pav = fp.PAV().fit(data)
    >>> pav.threshold_.tolist(), pav.posterior_.tolist()
    ([1.0, 2.0, 4.0], [0.0, 0.5, 1.0])
    """

    floor: float = 0.0
    laplace: bool = False
    threshold_: Floats = field(init=False, repr=False)
    posterior_: Floats = field(init=False, repr=False)
    log_odds_: Floats = field(init=False, repr=False)
    prior_log_odds_: float = field(init=False, repr=False)
    binary_only = True
    fitted_names = ("threshold_", "posterior_", "log_odds_", "prior_log_odds_")

    def __post_init__(self) -> None:
        checks.as_floor(self.floor)

    def check_fitted(self) -> None:
        threshold, posterior, log_odds = self.threshold_, self.posterior_, self.log_odds_
        require_fitted(
            "threshold_", np.size(threshold) > 0 and np.all(threshold[1:] > threshold[:-1])
        )
        require_fitted("posterior_", np.shape(posterior) == np.shape(threshold))
        require_fitted("posterior_", np.all((posterior >= 0.0) & (posterior <= 1.0)))
        require_fitted("log_odds_", np.shape(log_odds) == np.shape(threshold))
        require_fitted("log_odds_", not np.isnan(log_odds).any())
        require_fitted("threshold_", not np.isnan(threshold).any())
        require_fitted("prior_log_odds_", np.isfinite(self.prior_log_odds_))

    def refit_sums(self, rule: ScoringRule, folds: Folds, data: Data) -> Sums | None:
        if data.n_classes > 2 or not data.class_weights.all():
            return None
        span = count(ScoreRange().over(data))
        if self.laplace and (data.has_weights or not span.is_finite):
            return None  # cells do not tell the mean weight of drawn samples, nor ties at infinity
        # steps start at targets: at those of which a fold is trained, or, if it is of all that are
        # calibrated, at the first target of a run
        if folds.n_calibrators > 1 and minority_of(data) != 1:
            return None
        table = rank_table(data, "runs" if folds.n_calibrators == 1 else "cells")
        edges = table.lowest[table.positives > 0.0]
        return _PavSums(
            rule, folds, data.kind, data.given_priors, data.log_odds_offset, edges, self.floor,
            self.laplace,
        )  # fmt: skip

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        blocks = _with_four_more(data) if self.laplace else pav_blocks(data)
        return self._attributes(blocks, prior_log_odds(data))

    @staticmethod
    @np.errstate(all="ignore")  # weights near the largest float
    def _attributes(blocks: PavBlocks, prior: float) -> dict[str, Any]:
        below, above = blocks.at_priors()  # priors do not change the order of the odds
        above = np.where(below + above > 0.0, above, blocks.positives)  # priors that underflow
        return {
            "threshold_": blocks.lowest,
            "posterior_": above / (below + above),
            "log_odds_": log_odds_of(above, below),
            "prior_log_odds_": prior,
        }

    def _transform(self, predictions: Predictions) -> Predictions:
        levels = clip_log_odds(self.log_odds_, self.floor) - self.prior_log_odds_
        values = kernels.cells.step_function(predictions.scores, self.threshold_[1:], levels)
        return predictions.replace_scores(self.output_kind, values)


def _with_four_more(data: Data) -> PavBlocks:
    """Return the isotonic fit of the data and a sample of each class at either infinity."""
    span = count(ScoreRange().over(data))
    finite, ends = data, np.ones((2, 2))
    if data.has_weights or not span.is_finite:
        counts, ends = count_all([ClassCounts(2).over(data), _WeighEnds().over(data)])
        ends = ends + data.class_weights / counts
    if not span.is_finite:  # pooled with the samples that are added
        finite = mapped(data, _Finite())
        if isinstance(finite, PartitionedPredictions):
            find_facts(finite)
    of_finite = np.empty((3, 0))
    if finite.class_weights.any():
        blocks = pav_blocks(finite)
        of_finite = np.stack([blocks.lowest, blocks.negatives, blocks.positives])
    cells = np.column_stack([[-np.inf, *ends[0]], of_finite, [np.inf, *ends[1]]])
    blocks = PavBlocks.of_cells(cells[0], cells[1], cells[2], None)
    # given priors weigh the classes by the totals of the samples alone
    below, above = class_factors(data.class_weights, data.given_priors)
    return replace(blocks, negatives=blocks.negatives * below, positives=blocks.positives * above)


@dataclass(frozen=True, eq=False)
class _Finite(Transform):
    """Samples of finite scores."""

    keeps_rows = False

    def __call__(self, part: Part) -> Predictions:
        return part.predictions[np.flatnonzero(np.isfinite(part.predictions.scores))]


@dataclass(frozen=True, eq=False)
class _WeighEnds(Step[Any]):
    """Sum the weights of each class at -inf and at inf, (2, 2)."""

    def start(self) -> Floats:
        return np.zeros((2, 2))

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        samples = part.predictions
        for of_end, end in zip(accumulator, (-np.inf, np.inf), strict=True):
            there = np.flatnonzero(samples.scores == end)
            weights = samples.weights[there] if samples.weights.size else None
            of_end += np.bincount(samples.labels[there], weights, 2)
        return accumulator


@dataclass(frozen=True, eq=False)
class _PavSums(CellLossSums):
    """Samples in cells that begin at scores of targets; each replicate pools the cells.

    Attributes
    ----------
    kind : {"posteriors", "likelihoods", "raw scores"}
    given_priors : ndarray of float64, shape (2,), or None
    offset : float
        Log-odds minus score.
    edges : ndarray of float64
        Where cells begin.
    floor : float
        Of the calibrated posteriors.
    laplace : bool
    """

    kind: Kind
    given_priors: Floats | None
    offset: float
    edges: Floats
    floor: float
    laplace: bool

    n_classes = 2

    @property
    def stream(self) -> tuple[str | int, ...]:
        """The number of folds, and of samples that are added."""
        return ("isotonic fits", self.folds.n_folds, 4 * self.laplace)

    @property
    def n_cells(self) -> int:
        return self.edges.size + 1

    @property
    def key(self) -> Hashable:
        return ("cells from targets on", self.laplace, self.folds.key)

    def cells(self, part: Part) -> NDArray[Any]:
        return kernels.cells.step_numbers(part.predictions.scores, self.edges)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[ScoreTotals, FoldLosses]:
        weight = weight.reshape(2, self.folds.n_folds, self.n_cells)
        by_class = weight.sum(axis=(1, 2))
        raw = sums[:, 0].reshape(2, -1).sum(axis=1)
        priors = self.given_priors
        after = FoldLosses.of(self._losses(weight), weight.sum(axis=2).T, priors)
        return ScoreTotals(raw, by_class, priors), after

    def _losses(self, weight: Floats) -> Floats:
        """Return the summed losses of each class, of each pair of calibrator and fold, (E, 2).

        Weights (2, F, cells) are of each class in each fold.
        """
        calibrators, of_fold = self.folds.served.T
        losses = np.zeros((calibrators.size, 2))
        has_rows = weight.sum(axis=(0, 2)) > 0.0
        for calibrator in np.unique(calibrators[has_rows[of_fold]]).tolist():
            log_odds = self._scores(weight, calibrator) + self.offset
            for entry in np.flatnonzero(calibrators == calibrator):
                for k, of_cells in enumerate(weight[:, of_fold[entry]]):
                    used = np.flatnonzero(of_cells)
                    of_used = self.rule.binary_losses(log_odds[used], np.full(used.size, k, "u1"))
                    losses[entry, k] = (of_used * of_cells[used]).sum()
        return losses

    def _scores(self, weight: Floats, calibrator: int) -> Floats:
        """Return the calibrated scores of the cells: log-odds of posteriors, else LLRs."""
        mask = self.folds.training_mask[calibrator][None]
        training = np.concatenate([kernels.axis.add_masked(mask, of_class) for of_class in weight])
        totals = training.sum(axis=1)
        if not totals.all():
            raise ValueError("a calibrator needs samples of every class")
        factors = class_factors(totals, self.given_priors)
        negatives, positives = training * factors[:, None]
        log_odds = self._levels(negatives, positives, factors)
        log_priors = log_prior_of(self.kind, totals, self.given_priors)
        return np.asarray(log_odds - float(log_priors[1] - log_priors[0]))

    def _levels(self, negatives: Floats, positives: Floats, factors: Floats) -> Floats:
        """Return the calibrated log-odds of the cells, given the training weights by class.

        At given priors, samples of the classes weigh `factors` (2,) times their own weight in them.
        """
        if self.laplace:  # the added samples weigh 1, as all samples do
            negatives, positives = (np.concatenate([[unit], w, [unit]])
                for unit, w in zip(factors, (negatives, positives), strict=True))  # fmt: skip
        starts = kernels.isotonic.pool_adjacent_violators(negatives, positives)
        log_odds = log_odds_of(np.add.reduceat(positives, starts),
                               np.add.reduceat(negatives, starts))  # fmt: skip
        block = np.zeros(negatives.size, np.int64)
        block[starts[1:]] = 1
        levels = clip_log_odds(log_odds, self.floor)[np.cumsum(block)]
        return levels[1:-1] if self.laplace else levels
