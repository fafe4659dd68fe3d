"""Labeled scores of tables and of trials: how they are read by options, and written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import IID, Resampling
from fastpsr.bootstrap.schemes import names_of_ids, with_ids
from fastpsr.cli.options.files import check_written_ending
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.sources import kind_of, parse_columns
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console
from fastpsr.cli.wording import in_options
from fastpsr.data import Predictions, Scale
from fastpsr.errors import ArgumentError
from fastpsr.files import whole_file
from fastpsr.tables import Table, open_table

if TYPE_CHECKING:  # which loads trials
    from fastpsr.cli.trial_files import TrialReader
    from fastpsr.trials import TrialSet


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table, the kind of its scores, and what is drawn of it, with names of columns as ids."""

    table: Table
    scale: str
    drawn: Resampling

    @property
    def units(self) -> Resampling:
        """What is drawn, with ids, or their names if the table is read part by part."""
        ids = dict(zip(self.table.ids, self.table.clusters, strict=True))
        return with_ids(self.drawn, ids.__getitem__)


def read_scores(
    path: Path,
    scales: Mapping[str, str],
    columns: Mapping[str, Sequence[str] | None],
    labels: str | None,
    weights: str | None,
    drawn: IntervalOptions | None = None,
    conditions: Sequence[str] = (),
    *,
    in_parts: bool | None = False,
) -> dict[str, ReadTable]:
    """Read a table with the scores of systems by name, or open one that is read part by part.

    `labels`, `columns` and `weights` name columns or arrays; for .npy files, all except the scores
    are separate files. Ids are read if `drawn` is given, and columns of `conditions`.
    """
    try:
        table = open_table(path)
    except ArgumentError as error:
        is_other = error.rule.startswith("must end in")
        more = "; score files of trials follow --scores" * is_other
        raise ValueError(f"{in_options(error)}{more}") from None
    scheme = IID() if drawn is None else drawn.of_table(table)
    ids = tuple(names_of_ids(scheme).values())
    kinds = {name: kind_of(scales[name]) for name in columns}
    by = {"by": conditions}
    chosen = table.choose(kinds, columns, labels, weights, ids, by, in_parts=in_parts)
    return {name: ReadTable(each, scales[name], scheme) for name, each in chosen.items()}


@dataclass(frozen=True, eq=False)
class LabeledScores:
    """What was read; `write` writes the calibrated scores and returns a message."""

    predictions: Any  # Predictions, in parts where a table is read so
    write: Callable[[Predictions, Path], str]
    format: str | None = None  # for trials, which are written in the format that was read
    groups: Any = None  # groups that cross-fitting keeps apart
    resampling: Resampling = field(default_factory=IID)  # what is drawn of these scores
    by: Mapping[str, Any] | None = None  # columns of conditions, if there are any


@dataclass(frozen=True, eq=False)
class TableScores:
    """Reads tables."""

    scale: str
    options: TrainingOptions
    drawn: IntervalOptions | None = None
    conditions: Sequence[str] = ()

    def read(self, path: Path, *, in_parts: bool | None = False) -> LabeledScores:
        """Read a table; with None, part by part where it is large or of several files."""
        read = self._read(path, in_parts)
        table = read.table
        table.require_labels()
        groups = table.clusters if len(table.clusters) == 2 else None
        return LabeledScores(
            self._predictions(table), _write_table, groups=groups, resampling=read.units,
            by=table.others or None,
        )  # fmt: skip

    def read_others(self, path: Path, training: Predictions | None) -> LabeledScores:
        table = self._read(path).table
        return LabeledScores(self._predictions(table), _write_table, by=table.others or None)

    def _predictions(self, table: Table) -> Any:
        return table.predictions(None, **self.options.of_scores)

    def _read(self, path: Path, in_parts: bool | None = False) -> ReadTable:
        tables = self.options.tables
        where = (tables.labels, tables.weights, self.drawn, self.conditions)
        names = {"": parse_columns(self.options.columns)}
        read = read_scores(path, {"": self.scale}, names, *where, in_parts=in_parts)[""]
        console.print(f"{path}: {read.table.notes}; taken as {self.scale}")
        return read


@dataclass(frozen=True, eq=False)
class TrialScores:
    """Reads score files of trials."""

    reader: "TrialReader"
    scale: Scale
    drawn: IntervalOptions | None = None
    conditions: Sequence[str] = ()

    def read(self, path: Path, *, in_parts: bool | None = False) -> LabeledScores:
        """Read labeled trials, which are all in memory."""
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
        self, path: Path, made: "TrialSet", prior: float | None, groups: Any = None
    ) -> LabeledScores:
        from fastpsr import trials
        from fastpsr.trials.conditions import grouping
        from fastpsr.trials.evaluate import predictions_of, units_of

        console.print(f"scores taken as {self.scale}")
        by = {name: grouping(made, name) for name in self.conditions}
        predictions = predictions_of(made, path, self.scale, prior=prior)
        format = self.reader.options.of_scores.format or made.source.format

        def write(result: Predictions, target: Path) -> str:
            llrs = result.llrs
            trials.write_scores(target, made, llrs, format=format)
            alone = self.reader.keys.classes is not None and not self.reader.has_scores
            order = "; first those of targets" * alone
            return f"{len(result):,} trials with LLRs (natural logarithms){order}{_infinite(llrs)}"

        resampling = units_of(made, None if self.drawn is None else self.drawn.of_trials(made))
        return LabeledScores(predictions, write, format, groups, resampling, by or None)


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
    names = ", ".join(columns)
    return f"{len(result):,} rows of {names} (natural logarithms){_infinite(result.scores)}"


def _infinite(scores: NDArray[np.float64]) -> str:
    """Return a message about infinite scores, or "" if there are none."""
    counts = {word: np.count_nonzero(scores == float(word)) for word in ("-inf", "inf")}
    if not any(counts.values()):
        return ""
    return "; " + ", ".join(f"scores that are {word}: {n:,}" for word, n in counts.items())


def write_columns(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    """Write arrays of equal length to .npz, .csv or .parquet, atomically."""
    check_written_ending(path)
    with whole_file(path) as part:
        if path.suffix == ".npz":
            np.savez(part, **columns)  # type: ignore[arg-type]
            return
        import polars

        flat: dict[str, NDArray[Any]] = {}
        for name, values in columns.items():
            if values.ndim == 1:
                flat[name] = values
            else:
                flat.update({f"{name}_{k}": values[:, k] for k in range(values.shape[1])})
        frame = polars.DataFrame(flat)
        frame.write_csv(part) if path.suffix == ".csv" else frame.write_parquet(part)
