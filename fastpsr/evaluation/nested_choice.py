"""Losses of several calibrators in nested cross-fitting, and the choices that follow from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.settings import Intervals, Progress
from fastpsr.bootstrap.values import Job, draw_replicates
from fastpsr.caching import cached_property
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
class NestedLosses:
    """Summed losses of C calibrators in R replicates, from which choices follow.

    Attributes
    ----------
    rule : ScoringRule
    folds : Folds
    given_priors : ndarray of float64, shape (K,), or None
    losses : ndarray of float64, shape (C, R, E, K)
        By the pairs of a calibrator and a fold in ``folds.served``.
    weights : ndarray of float64, shape (R, F, K)
        Of each class in each fold.
    """

    rule: ScoringRule
    folds: Folds
    given_priors: Floats | None
    losses: Floats
    weights: Floats

    @classmethod
    def of(cls, rule: ScoringRule, folds: Folds, given_priors: Any, tables: list[Floats]) -> Self:
        """Take (R, E + F, K) tables of losses and weights of each calibrator."""
        n_served = len(folds.served)
        losses = np.stack([table[:, :n_served] for table in tables])
        is_defined = ~np.isnan(losses).any(axis=(0, 2, 3))
        return cls(
            rule, folds, given_priors, losses[:, is_defined], tables[0][is_defined, n_served:]
        )

    @cached_property
    def priors(self) -> Floats:
        """Priors of the evaluation, (R, K)."""
        if self.given_priors is not None:
            return np.broadcast_to(self.given_priors, self.weights[:, 0].shape)
        totals = self.weights.sum(axis=1)
        return np.asarray(totals / totals.sum(axis=1, keepdims=True))

    @cached_property
    def naive(self) -> Floats:
        """Expected loss of the priors as posteriors, (R,)."""
        return self.rule.entropies(np.ascontiguousarray(self.priors))

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")  # losses near the largest float
    def expected(self) -> Floats:
        """Expected loss of each calibrator, cross-fitted, (C, R)."""
        losses = self.losses[:, :, : self.folds.n_folds].sum(axis=2)
        return self._mean(losses, self.weights.sum(axis=1))

    @property
    def scores(self) -> Floats:
        """Normalized scores of the calibrators, (C, R)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.expected / self.naive)

    def differences(self, best: int) -> Floats:
        """Return scores less those of a calibrator, (C, R); equal infinite ones differ by 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.scores == self.scores[best], 0.0, self.scores - self.scores[best])

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")  # losses near the largest float
    def winners(self) -> NDArray[np.int64]:
        """The calibrator that is chosen for each fold by losses on the others, (R, F)."""
        n_folds, may_train = self.folds.n_folds, self.folds.may_train
        n_pairs = may_train.sum(axis=1)
        first = np.cumsum(n_pairs) - n_pairs  # of the pairs of each fold
        losses = np.add.reduceat(self.losses[:, :, n_folds:], first, axis=2)
        scores = self._mean(losses, may_train @ self.weights)
        return np.asarray(np.where(np.isnan(scores), np.inf, scores).argmin(axis=0))

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")  # losses near the largest float
    def nested(self) -> Floats:
        """Expected loss of what is chosen for each fold on that fold, (R,)."""
        replicates, folds = np.indices(self.winners.shape)
        losses = self.losses[self.winners, replicates, folds]
        return self._mean(losses.sum(axis=1), self.weights.sum(axis=1))

    def _mean(self, losses: Floats, weights: Floats) -> Floats:
        """Return expected losses of sums by class (..., K)."""
        if self.given_priors is None:
            return np.asarray(losses.sum(axis=-1) / weights.sum(axis=-1))
        used = self.given_priors > 0.0
        return np.asarray((losses[..., used] / weights[..., used]) @ self.given_priors[used])


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
    rule: ScoringRule
    calibrator: Calibrator
    folds: Folds

    @property
    def label(self) -> str:
        return self.name

    def total(self, data: Data) -> tuple[Any, FoldLosses]:
        calibrator = self.calibrator
        try:
            calibrator.check_accepts(data)
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


def nested_losses(
    calibrators: Mapping[str, Calibrator], rule: ScoringRule, train: CrossFit, data: Data
) -> tuple[NestedLosses, list[Job]]:
    """Return the losses on the data, (R = 1), and jobs that replicate them."""
    begin(data)
    if not data.class_weights.all():
        require_weights(data.class_weights, data.kind)
    folds = train.folds_of(data).nested()
    statistics = [
        _TableOfLosses(name, rule, calibrator, folds) for name, calibrator in calibrators.items()
    ]
    jobs = [Job(statistic, data) for statistic in statistics]
    values = [partial(statistic.value_on, data) for statistic in statistics]
    answers = side_by_side(*values, *(job.prepare for job in jobs), over=data)
    tables = answers[: len(jobs)]
    for job, table in zip(jobs, tables, strict=True):
        job.shape = table.shape
    priors = data.given_priors
    return NestedLosses.of(rule, folds, priors, [table[None] for table in tables]), jobs


def draw_losses(
    losses: NestedLosses, jobs: list[Job], settings: Intervals, progress: Progress
) -> NestedLosses:
    """Return the losses in replicates, all of the same draws, with calibrators fitted again.

    Those that are undefined are left out, with a warning.
    """
    n_resamples, units = settings.n_resamples, settings.resampling.units(jobs[0].whole)
    with in_silence():
        tables = draw_replicates(
            jobs, units, n_resamples, settings.seed, jointly=True, progress=progress
        )
        replicates = NestedLosses.of(losses.rule, losses.folds, losses.given_priors, tables)
    n_undefined = n_resamples - replicates.naive.size
    if n_undefined > n_resamples - 2:
        raise ValueError(f"calibrators cannot be fitted to {n_undefined:,} of {n_resamples:,} "
                         "replicates: there are too few samples of some class")  # fmt: skip
    if n_undefined:
        warn(
            f"the choice is undefined in {n_undefined:,} of {n_resamples:,} replicates, which "
            "are left out: a class is missing there, or a calibrator has no optimum"
        )
    return replicates
