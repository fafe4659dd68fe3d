"""Empirical cross-entropy along the prior: the plot by which forensic LLRs are judged."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.plans import run
from fastpsr.predictions import Floats, Predictions, check_predictions
from fastpsr.rules import Log
from fastpsr.summaries.fit_sums import Axis, FitSums
from fastpsr.summaries.rank_cells import pav_blocks
from fastpsr.summaries.sums import ScoreSums

__all__ = ["CrossEntropyCurve", "empirical_cross_entropy"]

_FARTHEST = 250.0  # log10 odds whose priors are still numbers with digits
_MANY = 10_000_000  # samples times points, from which sums on an axis replace passes


@dataclass(frozen=True, eq=False)
class CrossEntropyCurve:
    """Cross-entropies in bits along the prior of a target.

    Attributes
    ----------
    prior_log10_odds : ndarray of float64, shape (P,)
        ``log10(pi / (1 - pi))``, in the order asked for.
    raw : ndarray of float64, shape (P,)
        Of the LLRs as they are; infinite where one is that is wrong.
    pav : ndarray of float64, shape (P,)
        Of the LLRs that the best monotone map, trained on the same data, makes of them.
    null : ndarray of float64, shape (P,)
        Of an LLR of 0 for every sample: the entropy of the prior.
    """

    prior_log10_odds: Floats
    raw: Floats
    pav: Floats
    null: Floats


def empirical_cross_entropy(
    predictions: Predictions, prior_log10_odds: ArrayLike | None = None
) -> CrossEntropyCurve:
    """Return the cross-entropy of LLRs as a function of the prior, in bits.

    ``pi mean over targets of log2(1 + 1 / (LR o)) + (1 - pi) mean over non-targets of
    log2(1 + LR o)``, with o the prior odds: at odds of 1 it is Cllr.

    Parameters
    ----------
    predictions : Predictions
        Labeled, binary posteriors or likelihoods.
    prior_log10_odds : array-like of float, shape (P,), optional
        Log10 odds of a target's prior, at most 250 in size; by default 101 points from -2.5 to 2.5.

    Returns
    -------
    CrossEntropyCurve

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, a class without samples, or odds out of range.

    Notes
    -----
    A pass over the samples per point, or one pass for all points where there are many: to 1e-12
    bits. Weights count within each class; given priors play no part.

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
    check_predictions(predictions)
    if prior_log10_odds is None:
        prior_log10_odds = np.linspace(-2.5, 2.5, 101)
    points = checks.as_floats("prior_log10_odds", prior_log10_odds, 1)
    checks.require("prior_log10_odds", points, -_FARTHEST, _FARTHEST, "lie in -250 to 250")
    predictions.require_posteriors("cross-entropies")
    blocks = run(lambda: pav_blocks(predictions))
    totals = blocks.class_totals("cross-entropies")
    log_odds = points * np.log(10.0)
    target, nontarget = 1.0 / (1.0 + np.exp(-log_odds)), 1.0 / (1.0 + np.exp(log_odds))
    # the LLR of a block is the log of the ratio of its shares
    pav = _block_losses(
        blocks.positives / totals[1], blocks.negatives / totals[0], target, nontarget
    )
    llrs = predictions.as_llrs()
    raw = _raw_losses(llrs, log_odds)
    null = target * np.logaddexp(0.0, -log_odds) + nontarget * np.logaddexp(0.0, log_odds)
    to_bits = 1.0 / np.log(2.0)
    return CrossEntropyCurve(points, raw * to_bits, pav * to_bits, null * to_bits)


def _raw_losses(llrs: Predictions, log_odds: Floats) -> Floats:
    """Return the log losses in nats of LLRs completed with each prior."""
    sums = None
    if len(llrs) * log_odds.size > _MANY and llrs.has_finite_scores:
        axis = Axis.over(llrs.score_range, 1.0)
        if axis is not None:
            parts = np.zeros(len(llrs), np.uint16)
            sums = FitSums.of(llrs, axis, 1.0, parts, 1)
    losses = np.empty(log_odds.size)
    for place, odds in enumerate(log_odds):
        by_class = None
        if sums is not None:
            by_class = sums.losses(Log(), np.ones(1), np.array([odds]))
        if by_class is None or not np.isfinite(by_class).all():  # weights near the largest float
            shifted = llrs.replace_scores("likelihoods", llrs.llrs + odds).as_llrs(0.5)
            by_class = ScoreSums.of(Log(), shifted).loss
        shares = [1.0 / (1.0 + np.exp(odds)), 1.0 / (1.0 + np.exp(-odds))]
        losses[place] = by_class / llrs.class_weights @ shares
    return losses


def _block_losses(tar: Floats, non: Floats, target: Floats, nontarget: Floats) -> Floats:
    """Return the log loss in nats after PAV at each prior; a block of one class loses nothing."""
    mixed = (tar > 0.0) & (non > 0.0)
    ratios = np.log(tar[mixed]) - np.log(non[mixed])
    losses = np.zeros(target.size)
    for place in range(target.size):
        of_targets, of_others = target[place] * tar[mixed], nontarget[place] * non[mixed]
        llr = ratios + (np.log(target[place]) - np.log(nontarget[place]))
        losses[place] = of_targets @ np.logaddexp(0.0, -llr) + of_others @ np.logaddexp(0.0, llr)
    return losses
