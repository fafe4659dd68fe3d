"""Calibrators that are steps over cells, refitted to what the cells weigh in a replicate."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.folds import Plan
from fastpsr.predictions import Floats, Predictions, class_factors
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.summands import Summands
from fastpsr.summaries.sums import ScoreSums

__all__ = ["step_summands"]

Levels = Callable[[Floats, Floats], Floats]


def step_summands(
    name: str,
    rule: ScoringRule,
    plan: Plan,
    predictions: Predictions,
    find_cells: Callable[[], NDArray[Any]],
    n_cells: int,
    levels: Levels,
) -> Summands:
    """Return summands of raw and calibrated losses of a binary task.

    Parameters
    ----------
    name : str
        Of the cells and of what is done with them.
    find_cells : callable
        Returns the (N,) cell of each sample.
    levels : callable
        ``levels(negatives, positives)`` returns the log-odds, (cells,), that training weights of
        both classes in the cells lead to.
    """
    n_parts = plan.trains.shape[0]
    given = predictions.given_priors

    def groups() -> Any:
        part = predictions.labels * np.int32(n_parts) + plan.served_by
        return part * np.int32(n_cells) + find_cells()

    def assemble(weight: Floats, sums: Floats) -> tuple[ScoreSums, ScoreSums]:
        weight = weight.reshape(2, n_parts, n_cells)
        by_class = weight.sum(axis=(1, 2))
        losses = np.zeros(2)
        for part in np.flatnonzero(weight.sum(axis=(0, 2))):
            training = weight[:, plan.trains[part]].sum(axis=1)
            totals = training.sum(axis=1)
            if not totals.all():
                raise ValueError("a calibrator needs samples of every class")
            log_odds = levels(*(training * class_factors(totals, given)[:, None]))
            if predictions.kind != "posteriors":  # to LLRs, and on to log-odds
                priors = totals if given is None else given
                log_odds = log_odds - np.log(priors[1] / priors[0]) + predictions.log_odds_offset
            for k in (0, 1):
                used = np.flatnonzero(weight[k, part])
                y = np.full(used.size, k, np.uint8)
                losses[k] += (rule.binary_losses(log_odds[used], y) * weight[k, part, used]).sum()
        raw = sums[:, 0].reshape(2, -1).sum(axis=1)
        return ScoreSums(raw, by_class, given), ScoreSums(losses, by_class, given)

    kind = f"{name} {rule!r} {plan.digest}"
    columns = (rule.losses_of(predictions),)
    return Summands(kind, 2 * n_parts * n_cells, 2, groups, assemble, columns)
