"""Where the labeled scores of one system are: those that a calibrator is trained on."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastpsr.cli.options.declaration import TABLES, option, words_of
from fastpsr.cli.options.files import arrays_beside
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.sources import KindOfScores, TableOptions, TrialOptions, kinds_by_name
from fastpsr.files import is_table

if TYPE_CHECKING:
    from fastpsr.cli.score_files import Source


@dataclass(frozen=True)
class TrainingOptions:
    """Where the labeled scores of one system are, and what they are."""

    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Table of scores with labels, or a score file of trials that holds labels.",
        ),
    ]
    trials: TrialOptions
    scores_are: KindOfScores
    tables: TableOptions
    scores: Path | None = option(
        "Score file of trials, - for standard input; without --key it must contain labels.",
        arguments={"scores": "scores"},  # in messages they are the scores of a file
    )
    columns: list[str] | None = option(
        "Columns of scores in the order of the classes.",
        panel=TABLES,
        metavar="COLUMN,...",
        parse=words_of,
    )

    def located(self, context: typer.Context) -> "TrainingOptions":
        """Return options of one file, a table or that of --scores; raise if others are not for it.

        A file that is no table is that of --scores.
        """
        file = self.file
        if file is None and not self.of_trials:
            raise ValueError("give a table of scores with labels, or --key and --scores")
        if file is not None and (self.scores is not None or isinstance(self.trials.key, dict)):
            raise ValueError(f"--scores takes one file: {file} is one too many")
        options = self
        if file and not (is_table(file) or file.is_dir() or glob.has_magic(str(file))):
            options = replace(self, file=None, scores=file)
        elif file and self.of_trials:
            raise ValueError(f"--key needs --scores FILE: without it {file} is a table")
        options.check(context, of_trials=options.of_trials)
        return options

    def check(self, context: typer.Context, *, of_trials: bool) -> None:
        """Raise if an option was given that is not for a table, or not for trials."""
        self.trials.check(context, of_trials=of_trials, has_scores=self.scores is not None)

    @property
    def systems(self) -> list[Path]:
        """The file of --scores."""
        return [] if self.scores is None else [self.scores]

    @property
    def of_trials(self) -> bool:
        """Whether the scores are of trials."""
        return bool(self.trials.key or self.scores)

    @property
    def path(self) -> Path:
        """The file of the scores to train on."""
        return self.file or next(iter(self.trials.systems(self.systems)))

    def inputs(self, drawn: IntervalOptions | None = None) -> list[Path | None]:
        """Return all files to read that these options name."""
        columns = [] if drawn is None or self.of_trials else drawn.columns
        beside = arrays_beside(self.tables.labels, self.tables.weights, *columns)
        return [self.file, *self.trials.inputs(self.systems), *beside]

    def source(
        self,
        *,
        of_trials: bool,
        drawn: IntervalOptions | None = None,
        conditions: Sequence[str] = (),
        scale: str | None = None,
    ) -> "Source":
        """Return the reader of the scores, of the units that are `drawn`, and of conditions."""
        from fastpsr.cli.score_files import Source

        kinds = [self.scores_are] if self.scores_are else scale and [scale]
        (kind,) = kinds_by_name(kinds or None, [""], of_trials=of_trials).values()
        return Source(self, kind, drawn, conditions, of_trials=of_trials)
