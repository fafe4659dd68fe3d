"""Scores that calibrators are trained on: of tables and of trials, and how they are written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import trials
from fastpsr.cli.measures import drawn_of_table, drawn_of_trials
from fastpsr.cli.options import SCHEMES, TrialScale
from fastpsr.cli.score_files import read_scores, write_columns
from fastpsr.cli.show import console
from fastpsr.cli.trial_files import TrialReader, predictions_of
from fastpsr.evaluation import Intervals
from fastpsr.predictions import Predictions
from fastpsr.tables import Table
from fastpsr.trials import TrialSet

__all__ = ["LabeledScores", "TableScores", "TrialScores"]


@dataclass(frozen=True, eq=False)
class LabeledScores:
    """What was read; `write` writes the calibrated scores and returns a message."""

    predictions: Any  # Predictions, in parts where a table is read so
    write: Callable[[Predictions, Path], str]
    format: str | None = None  # for trials, which are written in the format that was read
    groups: Any = None  # groups that cross-fitting keeps apart
    drawn: Callable[[Intervals], Intervals] = lambda intervals: intervals  # of these scores


@dataclass(frozen=True, eq=False)
class TableScores:
    """Reads tables."""

    scale: str
    labels: str | None
    columns: str | None
    weights: str | None
    clusters: str | None = None

    def read(self, path: Path, *, in_parts: bool | None = False) -> LabeledScores:
        """Read a table; with None, part by part where it is large or of several files."""
        table = self._read(path, in_parts)
        table.require_labels()
        return LabeledScores(table.predictions(None), _write_table, **self._units(table.clusters))

    @staticmethod
    def _units(clusters: tuple[Any, ...]) -> dict[str, Any]:
        """Return the groups that stay together, and what is drawn."""

        def drawn(intervals: Intervals) -> Intervals:
            return drawn_of_table(intervals, () if intervals.drawn in SCHEMES else clusters)

        return {"groups": clusters if len(clusters) == 2 else None, "drawn": drawn}

    def read_others(self, path: Path, training: Predictions | None) -> LabeledScores:
        return LabeledScores(self._read(path).predictions(None), _write_table)

    def _read(self, path: Path, in_parts: bool | None = False) -> Table:
        where = (self.labels, self.columns, self.weights, self.clusters)
        table = read_scores(path, self.scale, *where, in_parts=in_parts)
        console.print(f"{path}: {table.notes}; taken as {self.scale}")
        return table


@dataclass(frozen=True, eq=False)
class TrialScores:
    """Reads score files of trials."""

    reader: TrialReader
    scale: TrialScale

    def read(self, path: Path) -> LabeledScores:
        made = self.reader.read(path)
        groups = made.speakers if self.reader.speakers.are_known else None
        return self._scores(path, made, None, groups)

    def read_others(self, path: Path, training: Predictions | None) -> LabeledScores:
        prior = None
        if self.scale == "posteriors":  # calibrated posteriors are at the training priors
            if training is None:
                raise ValueError(
                    "--scores-are posteriors needs --key and --scores rather than --load: LLRs of "
                    "trials are posteriors without the prior that the calibrator was trained at"
                )
            prior = float(training.priors[1])
        return self._scores(path, self.reader.read_unlabeled(path), prior)

    def _scores(
        self, path: Path, made: TrialSet, prior: float | None, groups: Any = None
    ) -> LabeledScores:
        console.print(f"scores taken as {self.scale}")
        predictions = predictions_of(made, path, self.scale, prior=prior)
        format = self.reader.score_options.format or made.source.format

        def write(result: Predictions, target: Path) -> str:
            llrs = result.llrs
            trials.write_scores(target, made, llrs, format=format)
            alone = self.reader.classes is not None and not self.reader.has_scores
            order = "; first those of targets" * alone
            return f"{len(result):,} trials with LLRs{order}{_infinite(llrs)}"

        return LabeledScores(
            predictions, write, format, groups, lambda intervals: drawn_of_trials(intervals, made)
        )


def _write_table(result: Predictions, path: Path) -> str:
    """Write labels, and log-odds, LLRs or a logarithm per class; return a message."""
    columns: dict[str, NDArray[Any]] = {}
    if result.y_true is not None:
        columns["y_true"] = result.y_true
    if result.n_classes == 2:
        columns["llr" if result.kind == "likelihoods" else "log_odds"] = result.scores
    else:
        name = "log_likelihood" if result.kind == "likelihoods" else "log_posterior"
        columns[name] = result.scores
    if result.weights.size:
        columns["sample_weight"] = np.asarray(result.weights)
    write_columns(path, columns)
    return f"{len(result):,} rows of {', '.join(columns)}{_infinite(result.scores)}"


def _infinite(scores: NDArray[np.float64]) -> str:
    """Return a message about infinite scores, or "" if there are none."""
    counts = {word: np.count_nonzero(scores == float(word)) for word in ("-inf", "inf")}
    if not any(counts.values()):
        return ""
    return "; " + ", ".join(f"scores that are {word}: {n:,}" for word, n in counts.items())
