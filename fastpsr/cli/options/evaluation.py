"""Options of `evaluate` and `compare`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import fastpsr as fp
from fastpsr.cli.options.conditions import ByOptions, Differences
from fastpsr.cli.options.declaration import METRICS, TABLES, option
from fastpsr.cli.options.files import OutputOptions
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
        "Column of scores, of several classes their columns in order. Several times, or with a "
        "name: of each system of one table, by default named after its column.",
        panel=TABLES,
        metavar="[NAME=]COLUMN,...",
        type=list[str] | None,
        parse=parse_columns,
    )
    differences: Differences = option(
        "Also differences: of the first system and each other (first) or of all pairs of "
        "systems (pairs), with intervals; of each condition of --by and all samples (pooled) "
        "or between all conditions (conditions). With commas between. Files other than JSON "
        "hold only these.",
        panel=METRICS,
        metavar="WORD,...",
        parse=Differences.parse,
        arguments={"group_differences": "--differences"},
    )

    def metrics(
        self, scales: Iterable[str], n_classes: int, *, of_table: bool, has_spoof: bool
    ) -> Metrics:
        """Return the metrics of systems, which share them, by the kinds of their scores."""
        from fastpsr.data import KINDS, KINDS_OF_SCALES

        kinds: list[Any] = [KINDS_OF_SCALES.get(scale, scale) for scale in scales]
        has_floor = of_table and all(kind in OF_POSTERIORS for kind in kinds)
        return self.measures.of_kinds(
            [KINDS[kind] for kind in kinds],
            n_classes,
            spoofing=self.measures.spoofing(has_spoof=has_spoof),
            calibrator=self.loss.untrained(has_floor=has_floor),
            train=fp.CrossFit(folds=self.loss.folds or FOLDS),
        )
