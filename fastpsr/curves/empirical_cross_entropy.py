"""Empirical cross-entropy as a function of the prior (ECE plots of forensic LLRs)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.calibration.axis import Axis, ScoreRange, SumOnAxis
from fastpsr.calibration.folds import one_fold
from fastpsr.counts import begin, count, side_by_side, takes_predictions
from fastpsr.counts.ranks import pav_blocks
from fastpsr.counts.roc import require_both_classes
from fastpsr.counts.sums import ClassSums
from fastpsr.data import Data, Floats, Part, Predictions, Transform, mapped
from fastpsr.results import Result
from fastpsr.rules import Log

_FARTHEST = 600.0  # log-odds whose priors are still represented with full precision
_MANY = 10_000_000  # samples times points; from here sums on an axis replace passes


@dataclass(frozen=True, eq=False)
class CrossEntropyCurve(Result):
    """Cross-entropies in bits as a function of the target prior pi.

    Attributes
    ----------
    prior_log_odds : ndarray of float64, shape (P,)
        ``log(pi / (1 - pi))``, natural logarithm, in the order of the input.
    raw : ndarray of float64, shape (P,)
        Cross-entropy of the given LLRs; infinite if a target has LLR -inf or a non-target inf.
    pav : ndarray of float64, shape (P,)
        Cross-entropy after PAV, the best monotone map, trained on the same data.
    null : ndarray of float64, shape (P,)
        Cross-entropy if all LLRs are 0: the entropy of the prior.
    """

    prior_log_odds: Floats
    raw: Floats
    pav: Floats
    null: Floats


@takes_predictions
def empirical_cross_entropy(
    predictions: Data, prior_log_odds: ArrayLike | None = None
) -> CrossEntropyCurve:
    """Return the cross-entropy of LLRs as a function of the prior, in bits.

    ``pi mean over targets of log2(1 + 1 / (LR o)) + (1 - pi) mean over non-targets of
    log2(1 + LR o)``, with o the prior odds: at odds of 1 it is Cllr.

    Parameters
    ----------
    predictions : Predictions, or predictions in parts
        Labeled, binary posteriors or likelihoods.
    prior_log_odds : array-like of float, shape (P,), optional
        Natural log-odds of the target prior, from -600 to 600; by default 121 points from -6 to 6.

    Returns
    -------
    CrossEntropyCurve

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, a class without samples, or odds out of range.

    Notes
    -----
    There is one pass over the samples per point, or, for many samples and points, one pass for all
    points, with errors below 1e-12 bits. Data in parts are read once for all points, and once more
    for the range of the LLRs if there are many. Weights are used within each class; given priors
    have no effect.

    References
    ----------
    D. Ramos and J. Gonzalez-Rodriguez, "Reliable support: measuring calibration of likelihood
    ratios", Forensic Science International 230, 2013, doi:10.1016/j.forsciint.2013.04.014.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0])
    >>> curve = fp.empirical_cross_entropy(data, [0.0])
    >>> curve.raw.round(4).tolist(), curve.pav.tolist(), curve.null.tolist()
    ([0.6646], [0.5], [1.0])
    """
    if prior_log_odds is None:
        prior_log_odds = np.linspace(-6.0, 6.0, 121)
    points = checks.as_floats("prior_log_odds", prior_log_odds, 1)
    checks.require("prior_log_odds", points, -_FARTHEST, _FARTHEST, "lie in -600 to 600")
    predictions.require_posteriors("cross-entropies")
    begin(predictions)
    if predictions.n_classes == 2:
        require_both_classes("cross-entropies", predictions.class_weights)
    blocks, raw = side_by_side(
        partial(pav_blocks, predictions), partial(_raw_losses, predictions, points),
        over=predictions,
    )  # fmt: skip
    totals = blocks.class_totals("cross-entropies")
    target, nontarget = 1.0 / (1.0 + np.exp(-points)), 1.0 / (1.0 + np.exp(points))
    # the LLR of a block is the log of the ratio of its shares
    pav = _block_losses(
        blocks.positives / totals[1], blocks.negatives / totals[0], target, nontarget
    )
    null = target * np.logaddexp(0.0, -points) + nontarget * np.logaddexp(0.0, points)
    to_bits = 1.0 / np.log(2.0)
    return CrossEntropyCurve(points, raw * to_bits, pav * to_bits, null * to_bits)


def _raw_losses(data: Data, log_odds: Floats) -> Floats:
    """Return the log losses in nats of the LLRs at each prior."""
    checks.check_binary("LLRs", data.n_classes)
    llrs: Data = mapped(data, _AsLlrs())
    by_class = None
    if len(data) * log_odds.size > _MANY:
        span = count(ScoreRange().over(llrs))
        axis = Axis.over(span.low, span.high, 1.0)
        if axis is not None:
            sums = count(SumOnAxis(one_fold(), axis).over(llrs))
            folds = np.zeros(log_odds.size, np.int64)
            by_class = sums.losses(Log(), folds, sums.nodes() + log_odds[:, None])
    if by_class is None or not np.isfinite(by_class).all():  # weights near the largest float
        by_class = _LossesAtPriors(2, log_odds).total(llrs)
    shares = 1.0 / (1.0 + np.exp(np.stack([log_odds, -log_odds], axis=1)))
    losses: Floats = (by_class / data.class_weights * shares).sum(axis=1)
    return losses


@dataclass(frozen=True)
class _AsLlrs(Transform):
    """Predictions as LLRs."""

    kind = "likelihoods"

    def __call__(self, part: Part) -> Predictions:
        return part.predictions.as_llrs()


@dataclass(frozen=True, eq=False)
class _LossesAtPriors(ClassSums):
    """Log losses of LLRs at priors of these log-odds."""

    log_odds: Floats

    @property
    def n_columns(self) -> int:
        """Number of priors."""
        return self.log_odds.size

    def _posteriors(self, llrs: Predictions) -> Iterator[Predictions]:
        for odds in self.log_odds:
            yield llrs.replace_scores("posteriors", llrs.llrs + odds)

    def columns(self, part: Part, *companions: Part) -> Iterator[Floats]:
        return map(Log().losses_of, self._posteriors(part.predictions))

    def totals(self, part: Part, *companions: Part) -> tuple[Floats, Floats]:
        sums = list(map(Log().summed_losses, self._posteriors(part.predictions)))
        return part.predictions.class_weights, np.column_stack(sums)

    def assemble(self, weight: Floats, sums: Floats) -> Floats:
        return sums.T


def _block_losses(tar: Floats, non: Floats, target: Floats, nontarget: Floats) -> Floats:
    """Return the log loss in nats after PAV at each prior; it is 0 for a block of one class."""
    mixed = (tar > 0.0) & (non > 0.0)
    ratios = np.log(tar[mixed]) - np.log(non[mixed])
    losses = np.zeros(target.size)
    for place in range(target.size):
        of_targets, of_others = target[place] * tar[mixed], nontarget[place] * non[mixed]
        llr = ratios + (np.log(target[place]) - np.log(nontarget[place]))
        losses[place] = of_targets @ np.logaddexp(0.0, -llr) + of_others @ np.logaddexp(0.0, llr)
    return losses
