"""Options of `evaluate` and `compare`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import fastpsr as fp
from fastpsr.cli.options.files import OutputOptions
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.measures import CalibratorOptions, MeasureOptions, Metrics
from fastpsr.cli.options.sources import (
    OF_POSTERIORS,
    AllowOptions,
    By,
    Conditions,
    DifferenceOptions,
    KeyOptions,
    KindsOfScores,
    SpeakerOptions,
    SystemColumns,
    TableOptions,
    TrialOptions,
    kind_of,
    parse_columns,
    parse_systems,
)


@dataclass(frozen=True)
class EvaluationOptions:
    """What is evaluated, how, and where it is written; in the order of the help."""

    keys: KeyOptions = field(default_factory=KeyOptions)
    scores_are: KindsOfScores = None
    by: By = None
    measures: MeasureOptions = field(default_factory=MeasureOptions)
    drawn: IntervalOptions = field(default_factory=IntervalOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    outputs: OutputOptions = field(default_factory=OutputOptions)
    loss: CalibratorOptions = field(default_factory=CalibratorOptions)
    systems: SystemColumns = None
    tables: TableOptions = field(default_factory=TableOptions)
    trials: TrialOptions = field(default_factory=TrialOptions)
    allowed: AllowOptions = field(default_factory=AllowOptions)
    differences: DifferenceOptions = field(default_factory=DifferenceOptions)

    def metrics(
        self,
        scales: Sequence[str],
        n_classes: int = 2,
        *,
        of_table: bool = False,
        has_spoof: bool = False,
    ) -> Metrics:
        """Return the metrics of systems, which share them, by the kinds of their scores."""
        from fastpsr.data import KINDS

        has_floor = of_table and all(scale in OF_POSTERIORS for scale in scales)
        return self.measures.of_kinds(
            [KINDS[kind_of(scale)] for scale in scales],
            n_classes,
            spoofing=self.measures.spoofing(has_spoof=has_spoof),
            calibrator=self.loss.untrained(has_floor=has_floor),
            train=fp.CrossFit(folds=self.loss.folds),
        )

    @property
    def system_columns(self) -> dict[str, list[str]] | None:
        """The columns of scores of each system of one table, if --columns names systems."""
        return parse_systems(self.systems)

    @property
    def columns(self) -> list[str] | None:
        """The columns of scores of every table."""
        return parse_columns(self.systems[0]) if self.systems else None

    @property
    def conditions(self) -> Conditions:
        """The conditions."""
        return Conditions.parse(self.by)

    @property
    def written(self) -> list[Path]:
        """The files that are written, other than standard output."""
        return [path for _, path in self.outputs.files if path and str(path) != "-"]
