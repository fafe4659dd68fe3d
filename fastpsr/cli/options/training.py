"""Where the scores are that calibrators are trained on."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastpsr.cli.options.files import arrays_beside
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.scores import ScoresMean, table_scale, trial_scale
from fastpsr.cli.options.sources import (
    Columns,
    KeyOptions,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
)

if TYPE_CHECKING:
    from fastpsr.cli.training_scores import TableScores, TrialScores

TrainingTrials = Annotated[
    Path | None,
    typer.Option(
        help="Score file of trials to train on, - for standard input; without --key it must "
        "contain labels."
    ),
]


@dataclass(frozen=True)
class TrainingOptions:
    """Where the scores are that calibrators are trained on, and what they are."""

    scores: TrainingTrials = None
    keys: KeyOptions = field(default_factory=KeyOptions)
    scores_are: ScoresMean = None
    columns: Columns = None
    tables: TableOptions = field(default_factory=TableOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    trials: TrialOptions = field(default_factory=TrialOptions)

    @property
    def systems(self) -> list[Path]:
        """The file of --scores."""
        return [] if self.scores is None else [self.scores]

    def with_trials(self, train: Path | None) -> "tuple[Path | None, TrainingOptions]":
        """Return the table to train on, and options: a file that is no table is of --scores."""
        from fastpsr.tables import is_table

        if train is None or self.scores is not None or self.keys.classes is not None:
            return train, self
        if is_table(train) or train.is_dir() or glob.has_magic(str(train)):
            return train, self
        return None, replace(self, scores=train)

    @property
    def of_trials(self) -> bool:
        """Whether the scores are of trials."""
        return bool(self.keys.files or self.systems)

    @property
    def files(self) -> list[Path | None]:
        """All files to read that these options name."""
        beside = arrays_beside(self.tables.labels, self.tables.weights)
        return [*self.keys.inputs(self.systems), self.speakers.speakers, *beside]

    def path(self, table: Path | None) -> Path | None:
        """Return the file of the scores to train on: that of a table, if one is given."""
        return table or next(iter(self.keys.systems(self.systems)), None)

    def source(
        self,
        *,
        of_trials: bool,
        drawn: IntervalOptions | None = None,
        conditions: Sequence[str] = (),
    ) -> "TableScores | TrialScores":
        """Return what reads the scores; also what is `drawn` of them, and their conditions."""
        from fastpsr.cli.training_scores import TableScores, TrialScores
        from fastpsr.cli.trial_files import TrialReader

        if not of_trials:
            scale = table_scale(self.scores_are)
            return TableScores(scale, self.tables, self.columns, drawn, conditions)
        has_scores = bool(self.systems)
        reader = TrialReader(self.keys, self.trials, self.columns, self.speakers, has_scores)
        return TrialScores(reader, trial_scale(self.scores_are), drawn, conditions)
