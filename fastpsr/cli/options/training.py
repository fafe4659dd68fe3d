"""Where the labeled scores of one system are: those that a calibrator is trained on."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import arrays_beside
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.modes import refuse_for_mode
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

    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Table of scores with labels, or a score file of trials that holds labels; of "
            "select also a folder or pattern of Parquet files.",
        ),
    ] = None
    scores: Path | None = option(
        "Score file of trials, - for standard input; without --key it must contain labels.",
        arguments={"scores": "scores"},  # in messages they are the scores of a file
    )
    keys: KeyOptions = field(default_factory=KeyOptions)
    scores_are: KindOfScores = None
    columns: Columns = None
    tables: TableOptions = field(default_factory=TableOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    trials: TrialOptions = field(default_factory=TrialOptions)
    allowed: AllowOptions = field(default_factory=AllowOptions)

    def located(self, context: typer.Context) -> "TrainingOptions":
        """Return options of one file, a table or that of --scores; raise if others are not for it.

        A file that is no table is that of --scores.
        """
        from fastpsr.tables import is_table

        file, by_class = self.file, self.keys.classes is not None
        if file is None and not self.of_trials:
            raise ValueError("give a table of scores with labels, or --key and --scores")
        if file is not None and (self.scores is not None or by_class):
            raise ValueError(f"--scores takes one file: {file} is one too many")
        options = self
        if file and not (is_table(file) or file.is_dir() or glob.has_magic(str(file))):
            options = replace(self, file=None, scores=file)
        elif file and self.of_trials:
            raise ValueError(f"--key needs --scores FILE: without it {file} is a table")
        options.check_mode(context, of_trials=options.of_trials)
        return options

    def check_mode(self, context: typer.Context, *, of_trials: bool) -> None:
        """Raise if an option was given that is not for a table, or not for trials."""
        has_key = self.keys.has_key(self.systems)
        refuse_for_mode(
            context, of_trials=of_trials, has_key=has_key, allowed=self.allowed, trials=self.trials
        )

    @property
    def of_scores(self) -> dict[str, Any]:
        """What labels and scores of a table are, as arguments of the library."""
        return self.tables.of_scores(self.allowed)

    @property
    def systems(self) -> list[Path]:
        """The file of --scores."""
        return [] if self.scores is None else [self.scores]

    @property
    def of_trials(self) -> bool:
        """Whether the scores are of trials."""
        return bool(self.keys.files or self.systems)

    @property
    def path(self) -> Path:
        """The file of the scores to train on."""
        return self.file or next(iter(self.keys.systems(self.systems)))

    def inputs(self, drawn: IntervalOptions | None = None) -> list[Path | None]:
        """Return all files to read that these options name."""
        clusters = None if drawn is None or self.of_trials else drawn.column
        beside = arrays_beside(self.tables.labels, self.tables.weights, clusters)
        return [self.file, *self.keys.inputs(self.systems), self.speakers.file, *beside]

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
