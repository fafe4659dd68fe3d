"""Options that `evaluate` and `compare` share."""

from dataclasses import dataclass, field
from pathlib import Path

from fastpsr.cli.options.files import OutputOptions, Report
from fastpsr.cli.options.intervals import ComparisonOptions, IntervalOptions
from fastpsr.cli.options.measures import CalibratorOptions, MeasureOptions
from fastpsr.cli.options.scores import KindsOfScores
from fastpsr.cli.options.sources import (
    By,
    Columns,
    GroupDifferences,
    KeyOptions,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
)
from fastpsr.evaluation import GroupPairs

__all__ = ["EvaluationOptions", "OptionsOfDifferences"]


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
    tables: TableOptions = field(default_factory=TableOptions)
    trials: TrialOptions = field(default_factory=TrialOptions)
    group_differences: GroupDifferences = None

    @property
    def pairs_of_groups(self) -> GroupPairs | None:
        """Which groups of trials are compared."""
        return None if self.group_differences is None else self.group_differences.value

    @property
    def written(self) -> list[Path]:
        """The files that are written, other than standard output."""
        return [*self.outputs.written, *([] if self.to_report is None else [self.to_report])]


@dataclass(frozen=True)
class OptionsOfDifferences(EvaluationOptions):
    """The same with intervals, which differences always have."""

    drawn: ComparisonOptions = field(default_factory=ComparisonOptions)
