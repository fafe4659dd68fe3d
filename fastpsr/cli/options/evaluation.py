"""Options that `evaluate` and `compare` share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastpsr as fp
from fastpsr.cli.options.files import OutputOptions, Report
from fastpsr.cli.options.intervals import ComparisonOptions, IntervalOptions
from fastpsr.cli.options.measures import CalibratorOptions, MeasureOptions, Metrics
from fastpsr.cli.options.scores import OF_POSTERIORS, KindsOfScores, kind_of
from fastpsr.cli.options.sources import (
    Binned,
    By,
    Columns,
    GroupDifferences,
    KeyOptions,
    SpeakerOptions,
    SystemColumns,
    TableOptions,
    TrialOptions,
    parse_bins,
    parse_by,
    parse_systems,
)

if TYPE_CHECKING:
    from fastpsr.evaluation import GroupPairs


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
    to_report: Report = None
    loss: CalibratorOptions = field(default_factory=CalibratorOptions)
    columns: Columns = None
    systems: SystemColumns = None
    tables: TableOptions = field(default_factory=TableOptions)
    trials: TrialOptions = field(default_factory=TrialOptions)
    bins: Binned = None
    group_differences: GroupDifferences = None

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
    def score_columns(self) -> dict[str, list[str]] | None:
        """The columns of scores of each system of a table, if --score names them."""
        return parse_systems(self.systems)

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions, as arguments of the library."""
        by, bins = parse_by(self.by), parse_bins(self.bins)
        if bins is not None and by is None:
            raise ValueError("--bins is for conditions: give --by too")
        return {"by": by, "bins": bins}

    @property
    def columns_of_conditions(self) -> list[str]:
        """The columns of the conditions, each once."""
        by = self.conditions["by"] or ()
        found = [[each] if isinstance(each, str) else each for each in by]
        return [*dict.fromkeys(name for names in found for name in names)]

    @property
    def pairs_of_groups(self) -> "GroupPairs | None":
        """Which conditions are compared."""
        return None if self.group_differences is None else self.group_differences.value

    @property
    def written(self) -> list[Path]:
        """The files that are written, other than standard output."""
        return [*self.outputs.written, *([] if self.to_report is None else [self.to_report])]


@dataclass(frozen=True)
class OptionsOfDifferences(EvaluationOptions):
    """The same with intervals, which differences always have."""

    drawn: ComparisonOptions = field(default_factory=ComparisonOptions)
