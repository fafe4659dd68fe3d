"""Where the labeled scores of one system are: those that a calibrator is trained on."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import arrays_beside
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.sources import (
    AllowOptions,
    Columns,
    KeyOptions,
    KindOfScores,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
    table_scale,
    trial_scale,
)

if TYPE_CHECKING:
    from fastpsr.cli.score_files import TableScores, TrialScores


@dataclass(frozen=True)
class TrainingOptions:
    """Where the labeled scores of one system are, and what they are."""

    scores: Annotated[
        Path | None,
        option(
            "Score file of trials, - for standard input; without --key it must contain labels.",
            arguments={"scores": "scores"},  # in messages they are the scores of a file
        ),
    ] = None
    keys: KeyOptions = field(default_factory=KeyOptions)
    scores_are: KindOfScores = None
    columns: Columns = None
    tables: TableOptions = field(default_factory=TableOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    trials: TrialOptions = field(default_factory=TrialOptions)
    allowed: AllowOptions = field(default_factory=AllowOptions)

    @property
    def of_scores(self) -> dict[str, Any]:
        """What labels and scores of a table are, as arguments of the library."""
        return self.tables.of_scores(self.allowed)

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
        return [*self.keys.inputs(self.systems), self.speakers.file, *beside]

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
        from fastpsr.cli.score_files import TableScores, TrialScores
        from fastpsr.cli.trial_files import TrialReader

        if not of_trials:
            return TableScores(table_scale(self.scores_are), self, drawn, conditions)
        reader = TrialReader(
            self.keys, self.trials, self.allowed, self.speakers, has_scores=bool(self.systems)
        )
        return TrialScores(reader, trial_scale(self.scores_are), drawn, conditions)
