"""Losses of several calibrators in nested cross-fitting, and the choices that follow from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.settings import Intervals, Progress
from fastpsr.bootstrap.values import Job, draw_replicates
from fastpsr.calibration import CrossFit
from fastpsr.calibration.base import Calibrator, require_weights
from fastpsr.calibration.fold_losses import FoldLossSums
from fastpsr.calibration.folds import FoldLosses, Folds
from fastpsr.counts import begin, side_by_side
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Predictions
from fastpsr.errors import ArgumentError, in_silence, warn
from fastpsr.metrics.base import Statistic
from fastpsr.rules import ScoringRule


@dataclass(frozen=True, eq=False)
class Choices:
    """Losses of C calibrators in R replicates, and the choices that follow from them.

    Attributes
    ----------
    expected : ndarray of float64, shape (C, R)
        Expected loss of each calibrator, cross-fitted.
    scores : ndarray of float64, shape (C, R)
        The same, divided by the expected loss of the priors as posteriors.
    winners : ndarray of int64, shape (R, F)
        The calibrator that is chosen for each fold by losses on the others.
    nested : ndarray of float64, shape (R,)
        Normalized score of what is chosen for each fold on that fold.
    """

    expected: Floats
    scores: Floats
    winners: NDArray[np.int64]
    nested: Floats

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # losses near the largest float
    def of(cls, rule: ScoringRule, folds: Folds, given_priors: Any, tables: list[Floats]) -> Self:
        """Take tables of losses and weights of each calibrator, (R, E + F, K).

        Losses are those of the E pairs of a calibrator and a fold in ``folds.served``. Replicates
        in which some are undefined are left out.
        """
        n_served, n_folds, may_train = len(folds.served), folds.n_folds, folds.may_train
        losses = np.stack([table[:, :n_served] for table in tables])
        is_defined = ~np.isnan(losses).any(axis=(0, 2, 3))
        losses, weights = losses[:, is_defined], tables[0][is_defined, n_served:]
        class_weights = weights.sum(axis=1)
        priors = class_weights / class_weights.sum(axis=1, keepdims=True)
        if given_priors is not None:
            priors = np.broadcast_to(given_priors, class_weights.shape)
        naive = rule.entropies(np.ascontiguousarray(priors))

        def means(losses: Floats, weights: Floats) -> Floats:
            if given_priors is None:
                return np.asarray(losses.sum(axis=-1) / weights.sum(axis=-1))
            used = given_priors > 0.0
            return np.asarray((losses[..., used] / weights[..., used]) @ given_priors[used])

        expected = means(losses[:, :, :n_folds].sum(axis=2), class_weights)
        n_pairs = may_train.sum(axis=1)
        first = np.cumsum(n_pairs) - n_pairs  # of the pairs of each fold
        without = means(np.add.reduceat(losses[:, :, n_folds:], first, axis=2), may_train @ weights)
        winners = np.where(np.isnan(without), np.inf, without).argmin(axis=0)
        replicates, places = np.indices(winners.shape)
        nested = means(losses[winners, replicates, places].sum(axis=1), class_weights)
        return cls(expected, expected / naive, winners, nested / naive)

    def differences(self, best: int) -> Floats:
        """Return scores minus the scores of a calibrator, (C, R); 0 for equal infinite scores."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.scores == self.scores[best], 0.0, self.scores - self.scores[best])


@dataclass(frozen=True, eq=False)
class NoCalibration(Calibrator):
    """Leaves posteriors as they are."""

    name = "no calibration"

    def losses_of_folds(self, rule: ScoringRule, folds: Folds, data: Data) -> FoldLosses:
        sums = FoldLossSums(rule, folds, data.n_classes, data.given_priors)
        _, losses = sums.total(data)
        return losses  # type: ignore[no-any-return]

    def refit_sums(self, rule: ScoringRule, folds: Folds, data: Data) -> Sums | None:
        return FoldLossSums(rule, folds, data.n_classes, data.given_priors)

    def _transform(self, predictions: Predictions) -> Predictions:
        return predictions


@dataclass(frozen=True, eq=False)
class _TableOfLosses(Statistic[tuple[Any, FoldLosses], Floats]):
    """The losses of a calibrator, and the weights of the folds, (E + F, K)."""

    name: str
    calibrator: Calibrator
    rule: ScoringRule
    folds: Folds

    @property
    def label(self) -> str:
        return self.name

    def total(self, data: Data) -> tuple[Any, FoldLosses]:
        calibrator = self.calibrator
        try:
            losses = calibrator.losses_of_folds(self.rule, self.folds, data)
            calibrator.look_at(data)
        except ArgumentError as error:
            raise ArgumentError(
                "candidates",
                f"must suit the data, but {self.name} does not: {error.problem}",
                remedy=f"{error.remedy}, or leave it out" if error.remedy else "leave it out",
            ) from None
        return None, losses

    def sums(self, data: Data) -> Sums | None:
        return self.calibrator.refit_sums(self.rule, self.folds, data)

    def finish(self, summary: tuple[Any, FoldLosses]) -> Floats:
        _, losses = summary
        return np.concatenate([losses.of_served, losses.of_folds])


def nested_choices(
    calibrators: Mapping[str, Calibrator],
    rule: ScoringRule,
    train: CrossFit,
    data: Data,
    intervals: Intervals | None,
    progress: Progress,
) -> tuple[Choices, Choices | None]:
    """Return the choices in nested cross-fitting on data, with R = 1, and in replicates.

    Replicates are of the same draws for all, with calibrators fitted again; those that are
    undefined are left out, with a warning; None without `intervals`.
    """
    begin(data)
    if not data.class_weights.all():
        require_weights(data)
    folds = train.folds_of(data).nested()
    choices = partial(Choices.of, rule, folds, data.given_priors)
    tables = [_TableOfLosses(*named, rule, folds) for named in calibrators.items()]
    jobs = [Job(table, data) for table in tables]
    values = [partial(table.value_on, data) for table in tables]
    answers = side_by_side(*values, *(job.prepare for job in jobs), over=data)
    on_data = choices([table[None] for table in answers[: len(tables)]])
    if intervals is None:
        return on_data, None
    for job, table in zip(jobs, answers, strict=False):
        job.shape = table.shape
    n, units = intervals.n_resamples, intervals.resampling.units(data)
    with in_silence():
        losses = draw_replicates(jobs, units, n, intervals.seed, jointly=True, progress=progress)
        replicates = choices(losses)
    n_undefined = n - replicates.nested.size
    if n_undefined > n - 2:
        raise ValueError(f"calibrators cannot be fitted to {n_undefined:,} of {n:,} "
                         "replicates: there are too few samples of some class")  # fmt: skip
    if n_undefined:
        warn(
            f"the choice is undefined in {n_undefined:,} of {n:,} replicates, which are left "
            "out: a class is missing there, or a calibrator has no optimum"
        )
    return on_data, replicates
