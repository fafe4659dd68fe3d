"""Options of `evaluate` and `compare`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import fastpsr as fp
from fastpsr.cli.options.conditions import ByOptions, Differences
from fastpsr.cli.options.declaration import METRICS, TABLES, option
from fastpsr.cli.options.files import Base, LogBase, OutputOptions
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.measures import FOLDS, CalibratorOptions, MeasureOptions, Metrics
from fastpsr.cli.options.sources import (
    OF_POSTERIORS,
    Columns,
    KindsOfScores,
    TableOptions,
    TrialOptions,
    parse_columns,
)


@dataclass(frozen=True)
class EvaluationOptions:
    """What is evaluated, how, and where it is written; in the order of the help."""

    trials: TrialOptions
    scores_are: KindsOfScores
    conditions: ByOptions
    measures: MeasureOptions
    drawn: IntervalOptions
    outputs: OutputOptions
    loss: CalibratorOptions
    tables: TableOptions
    columns: Columns = option(
        "Column of scores, of several classes one for each. Repeated, or with names: systems in "
        "one table.",
        panel=TABLES,
        metavar="[NAME=]COLUMN,...",
        type=list[str] | None,
        parse=parse_columns,
    )
    differences: Differences = option(
        "Also differences: of the first system and each other (first; of independent samples "
        "unpaired), of all pairs of systems (pairs), of each condition and all samples (pooled) or "
        "each other (conditions). Files other than JSON hold only these.",
        panel=METRICS,
        metavar="WORD,...",
        parse=Differences.parse,
        arguments={"group_differences": "--differences"},
    )
    base: LogBase = Base.E

    def metrics(
        self, scales: Iterable[str], n_classes: int, *, of_table: bool, has_spoof: bool
    ) -> Metrics:
        """Return the metrics of systems, which share them, by the kinds of their scores."""
        from fastpsr.data import KINDS, KINDS_OF_SCALES
        from fastpsr.evaluation.specification import named_metrics

        measures = self.measures
        kinds: list[Any] = [KINDS_OF_SCALES.get(scale, scale) for scale in scales]
        has_floor = of_table and all(kind in OF_POSTERIORS for kind in kinds)
        definition: Any = measures.eer or "hull"  # which EER checks
        eer = fp.EER(definition)
        metrics = named_metrics(
            measures.metrics,
            n_classes,
            [KINDS[kind] for kind in kinds],
            eer=eer,
            detection=measures.detection,
            costs=measures.cost_matrix,
            spoofing=measures.spoofing(has_spoof=has_spoof),
            calibrator=self.loss.untrained(has_floor=has_floor),
            train=fp.CrossFit(folds=self.loss.folds or FOLDS),
        )
        is_default = self.loss.calibrator == CalibratorOptions.calibrator
        of_options = {
            "--costs": [] if measures.costs is None else ["NRisk costs"],
            "--calibrator": [] if is_default else ["RCL"],
            "--folds": [] if self.loss.folds is None else ["RCL"],
        }
        measures.check_effects(metrics, self.outputs, of_options)
        if measures.eer is not None and eer.label not in metrics:
            raise ValueError(
                f"--eer is for tables with the EER, not for one of {', '.join(metrics)}: LLRs and "
                "raw scores of two classes have it, others with --metrics EER"
            )
        return metrics
