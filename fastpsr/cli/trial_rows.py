"""The rows of a system on a trial list: one per condition and metric."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import Resampling
from fastpsr.calibration import CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.dcf import OperatingPoints, detection_costs
from fastpsr.cli.intervals import as_arguments, resampling_of_trials
from fastpsr.cli.options import TrialScale, check_folds
from fastpsr.cli.show import say
from fastpsr.cli.trial_files import check_column, predictions_of
from fastpsr.cli.wording import in_options, worded
from fastpsr.evaluate import Intervals, Row, evaluate
from fastpsr.metrics import AUC, EER, BrierScore, CalibrationLoss, Cllr, CrossEntropy, MinCllr
from fastpsr.plans import run
from fastpsr.predictions import Predictions
from fastpsr.rules import Log
from fastpsr.trials import TrialSet

__all__ = ["POOLED", "TrialMeasure", "TrialRow"]

POOLED = "pooled"


@dataclass(frozen=True)
class TrialRow:
    """One number: of a system, in a condition with so many trials."""

    system: str
    condition: str
    metric: str
    value: float
    low: float | None
    high: float | None
    bias: float | None
    n_undefined: int
    n_target: int
    n_nontarget: int
    note: str
    unit: str = ""
    reference_value: float | None = None


@dataclass(frozen=True, eq=False)
class TrialMeasure:
    """What is measured of each system; `by` and `equalize` name columns of the key.

    Folds that are given must fit all trials together; a condition may have too few for a metric.
    """

    scale: TrialScale
    prior: float | None
    dcfs: Sequence[OperatingPoints]
    calibrator: Calibrator
    folds: int
    folds_are_given: bool
    by: str | None
    equalize: str | None
    intervals: Intervals | None

    def rows(
        self,
        path: Path,
        made: TrialSet,
        *,
        speakers_known: bool,
        progress: Callable[[str, int, int], object],
        pooled: dict[str, Predictions] | None = None,
    ) -> list[TrialRow]:
        """Return the rows of a system: pooled, then by condition.

        The predictions of all trials are put into `pooled`, if that is given, under the path.
        """
        weights = self.weights(made)
        parts = {POOLED: made}
        if self.by is not None:
            check_column(made, "--by", self.by)
            parts |= {f"{self.by}={value}": part for value, part in made.split(self.by).items()}
        rows = []
        for condition, part in parts.items():
            assert part.y_true is not None
            n_target = int(part.y_true.sum())
            counts = (n_target, len(part) - n_target)
            groups = part.speakers if speakers_known else None
            metrics = self.metrics(groups)
            if 0 in counts:
                lacking = "targets" if counts[0] == 0 else "non-targets"
                note = f"not computed: {condition} has no {lacking}"
                found: Sequence[Row] = [Row(name, float("nan"), note=note) for name in metrics]
            else:
                predictions = predictions_of(
                    part,
                    path,
                    self.scale,
                    prior=self.prior,
                    weights=weights if condition == POOLED else None,
                )
                if condition == POOLED and self.folds_are_given:
                    check_folds(self.folds, predictions, groups)
                if condition == POOLED and pooled is not None:
                    pooled[str(path)] = predictions
                where = f"{path}, {condition}"
                resampling = self._resampling(part, predictions, path, condition)
                found = evaluate(
                    predictions,
                    metrics,
                    progress=lambda what, *amount, where=where: progress(
                        f"{where}: {what}", *amount
                    ),
                    **as_arguments(self.intervals, resampling),
                ).rows
            for row in found:
                numbers = asdict(replace(row, error=None))
                del numbers["error"]
                if row.error is not None:
                    numbers["note"] = f"not computed: {in_options(row.error)}"
                rows.append(TrialRow(str(path), condition, **numbers, n_target=n_target,
                                     n_nontarget=counts[1]))  # fmt: skip
        return rows

    def weights(self, made: TrialSet) -> NDArray[np.float64] | None:
        """Return what the trials weigh, None for all alike."""
        if self.equalize is None:
            return None
        names = [check_column(made, "--equalize", n) for n in self.equalize.split(",")]
        with worded(columns="--equalize"):
            return made.equalized_weights(names)

    def _resampling(
        self, made: TrialSet, predictions: Predictions, path: Path, condition: str
    ) -> Resampling | None:
        """Return what is drawn; None, with a warning, if a condition has too few to draw from."""
        resampling = resampling_of_trials(self.intervals, made)
        if resampling is not None:
            try:
                run(lambda: resampling.units(predictions))
            except ValueError as error:
                if condition == POOLED:
                    raise ValueError(f"{path}: {in_options(error)}") from None
                say(f"warning: {path}, {condition}: no intervals: {in_options(error)}")
                return None
        return resampling

    def metrics(self, groups: Any) -> dict[str, Any]:
        """Return the metrics by name; of raw scores those that ranks allow."""
        raw = self.scale == "raw"
        ranks = {"EER": EER(), **detection_costs(self.dcfs, raw=raw)}
        if raw:
            return {**ranks, "minCllr": MinCllr(), "AUC": AUC()}
        train = CrossFit(folds=self.folds, groups=groups)
        return {
            **ranks,
            "Cllr": Cllr(),
            "minCllr": MinCllr(),
            "AUC": AUC(),
            "NCE": CrossEntropy(),
            "NBS": BrierScore(),
            "RCL": CalibrationLoss(Log(), self.calibrator, train),
        }
