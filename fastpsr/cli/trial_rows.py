"""The rows of a system on a trial list: one per condition and metric."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastpsr.calibration import CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.dcf import OperatingPoints, detection_costs
from fastpsr.cli.options import TrialScale
from fastpsr.cli.trial_files import check_column, predictions_of
from fastpsr.cli.wording import in_options
from fastpsr.evaluate import evaluate
from fastpsr.metrics import AUC, EER, BrierScore, CalibrationLoss, Cllr, CrossEntropy, MinCllr
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
    n_target: int
    n_nontarget: int
    note: str


@dataclass(frozen=True, eq=False)
class TrialMeasure:
    """What is measured of each system; `by` and `equalise` name columns of the key."""

    scale: TrialScale
    prior: float | None
    dcfs: Sequence[OperatingPoints]
    calibrator: Calibrator
    folds: int
    by: str | None
    equalise: str | None

    def rows(
        self,
        path: Path,
        made: TrialSet,
        *,
        speakers_known: bool,
        progress: Callable[[str], object],
    ) -> list[TrialRow]:
        """Return the rows of a system: pooled, then by condition."""
        weights = None
        if self.equalise is not None:
            names = [check_column(made, "--equalise", n) for n in self.equalise.split(",")]
            weights = made.equalised_weights(names)
        parts = {POOLED: made}
        if self.by is not None:
            check_column(made, "--by", self.by)
            parts |= {f"{self.by}={value}": part for value, part in made.split(self.by).items()}
        rows = []
        for condition, part in parts.items():
            assert part.y_true is not None
            n_target = int(part.y_true.sum())
            counts = (n_target, len(part) - n_target)
            metrics = self._metrics(part.speakers if speakers_known else None)
            if 0 in counts:
                lacking = "targets" if counts[0] == 0 else "non-targets"
                note = f"not computed: {condition} has no {lacking}"
                found = [(name, float("nan"), note) for name in metrics]
            else:
                predictions = predictions_of(
                    part,
                    path,
                    self.scale,
                    prior=self.prior,
                    weights=weights if condition == POOLED else None,
                )
                table = evaluate(
                    predictions, metrics, progress=lambda name: progress(f"{path}: {name}")
                )
                found = [(r.metric, r.value, in_options(r.note)) for r in table.rows]
            rows += [TrialRow(str(path), condition, m, v, *counts, note) for m, v, note in found]
        return rows

    def _metrics(self, groups: Any) -> dict[str, Any]:
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
