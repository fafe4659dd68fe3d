"""Scores of a system, whatever file they come from: predictions with columns; and their writing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import IID, Resampling
from fastpsr.bootstrap.schemes import names_of_ids
from fastpsr.cli.options.files import check_written_ending
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.sources import (
    OF_POSTERIORS,
    AllowOptions,
    TableOptions,
    kind_of,
    parse_columns,
)
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_line
from fastpsr.cli.wording import in_options
from fastpsr.data import Predictions, Scale
from fastpsr.errors import ArgumentError
from fastpsr.files import whole_file
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.tables import Table, open_table

if TYPE_CHECKING:  # which loads trials
    from fastpsr.cli.trial_files import TrialReader
    from fastpsr.trials import TrialSet


@dataclass(frozen=True, eq=False)
class LabeledScores:
    """Scores of a system as they were read; columns of the predictions have the names of options.

    Attributes
    ----------
    predictions : Predictions or PartitionedPredictions
        In parts where a table is read so.
    raw : callable
        Returns the same scores as raw scores in the unit of the file.
    write : callable
        Writes calibrated scores, and returns a message.
    resampling : Resampling
        What is drawn of these scores, with names of columns.
    groups : pair of str, or None
        Columns of speakers that cross-fitting keeps apart.
    by : list of str, or None
        Columns of conditions.
    table : Table, or None
    trials : TrialSet, or None
    format : str, or None
        For trials, which are written in the format that was read.
    unweighted : Predictions, or None
        Those of conditions, if weights make these count alike in all trials.
    """

    predictions: Any
    raw: Callable[[], Any]
    write: Callable[[Predictions, Path], str]
    resampling: Resampling = field(default_factory=IID)
    groups: tuple[str, str] | None = None
    by: list[str] | None = None
    table: Table | None = None
    trials: "TrialSet | None" = None
    format: str | None = None
    unweighted: Predictions | None = None

    @property
    def has_spoof(self) -> bool:
        """Whether some trials are spoofed."""
        return self.trials is not None and self.trials.is_spoof is not None


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reads the scores of systems from tables.

    `drawn` says what is resampled, if anything is, and `conditions` are columns that are read too.
    """

    tables: TableOptions
    allowed: AllowOptions
    drawn: IntervalOptions | None = None
    conditions: Sequence[str] = ()
    priors: str | None = None
    floor: float | None = None

    def read(
        self,
        path: Path,
        scales: Mapping[str, str],
        columns: Mapping[str, Sequence[str] | None],
        *,
        labeled: bool = True,
        in_parts: bool | None = False,
        prefix: str = "",
    ) -> dict[str, LabeledScores]:
        """Read the scores of systems by name, or open a table that is read part by part.

        How the columns were interpreted is printed after `prefix`, in which {} is the name.
        """
        try:
            opened = open_table(path)
        except ArgumentError as error:
            is_other = error.rule.startswith("must end in")
            more = "; score files of trials follow --scores" * is_other
            raise ValueError(f"{in_options(error)}{more}") from None
        drawn = IID() if self.drawn is None else self.drawn.of_table(opened)
        tables = opened.choose(
            {name: kind_of(scales[name]) for name in columns},
            columns,
            self.tables.labels,
            self.tables.weights,
            {"ids": tuple(names_of_ids(drawn).values()), "by": self.conditions},
            in_parts=in_parts,
            nan=self.allowed.policies["nan"],
        )
        systems = {}
        for name, table in tables.items():
            print_line(f"{prefix.format(name)}{table.notes}; taken as {scales[name]}")
            if labeled:
                table.require_labels()
            systems[name] = self._scores(table, scales[name], drawn)
        return systems

    def _scores(self, table: Table, scale: str, drawn: Resampling) -> LabeledScores:
        of_scores = self.tables.of_scores(self.allowed)
        floor = (self.floor or 0.0) if scale in OF_POSTERIORS else 0.0
        ids = table.others["ids"]
        return LabeledScores(
            table.predictions(parse_priors(self.priors, scale), floor=floor, **of_scores),
            raw=lambda: replace(table, kind="raw scores").predictions(None, **of_scores),
            write=_write_table,
            resampling=drawn,
            groups=(ids[0], ids[1]) if len(ids) == 2 else None,
            by=[*table.others["by"]] or None,
            table=table,
        )


@dataclass(frozen=True, eq=False)
class TableScores:
    """Reads the table of one system."""

    scale: str
    options: TrainingOptions
    drawn: IntervalOptions | None = None
    conditions: Sequence[str] = ()

    def read(
        self, path: Path, *, labeled: bool = True, in_parts: bool | None = False
    ) -> LabeledScores:
        """Read a table; with None, part by part where it is large or of several files."""
        reader = TableReader(self.options.tables, self.options.allowed, self.drawn, self.conditions)
        columns = {"": parse_columns(self.options.columns)}
        options: Any = {"labeled": labeled, "in_parts": in_parts, "prefix": f"{path}: "}
        return reader.read(path, {"": self.scale}, columns, **options)[""]

    def read_others(self, path: Path, training: Predictions | None) -> LabeledScores:
        """Read scores that need no labels."""
        return self.read(path, labeled=False)


@dataclass(frozen=True, eq=False)
class TrialScores:
    """Reads score files of trials."""

    reader: "TrialReader"
    scale: str
    drawn: IntervalOptions | None = None
    conditions: Sequence[str] = ()

    def read(self, path: Path, *, in_parts: bool | None = False) -> LabeledScores:
        """Read labeled trials, which are all in memory."""
        trials = self.reader.read(path)
        console.print(f"scores taken as {self.scale}")
        return self.of(trials, path)

    def read_others(self, path: Path, training: Predictions | None) -> LabeledScores:
        """Read scores that need no labels."""
        prior = None
        if self.scale == "posteriors":  # calibrated posteriors are at the training priors
            if training is None:
                raise ValueError(
                    "--scores-are posteriors needs --key and --scores rather than --load: LLRs of "
                    "trials are posteriors without the prior that the calibrator was trained at"
                )
            prior = float(training.priors[1])
        trials = self.reader.read_unlabeled(path)
        console.print(f"scores taken as {self.scale}")
        return self.of(trials, path, prior)

    def of(
        self,
        trials: "TrialSet",
        name: object,
        prior: float | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> LabeledScores:
        """Return the scores of trials; errors name the system."""
        from fastpsr.trials import write_scores
        from fastpsr.trials.evaluate import predictions_of, units_of

        trials.check_columns("by", self.conditions)
        scale = cast("Scale", self.scale)
        data = predictions_of(trials, name, scale, prior=prior, weights=weights)
        unweighted = None
        if weights is not None:
            unweighted = predictions_of(trials, name, scale, prior=prior)
        drawn = None if self.drawn is None else self.drawn.of_trials(trials)
        format = self.reader.options.of_scores.format or trials.source.format

        def write(result: Predictions, target: Path) -> str:
            llrs = result.llrs
            write_scores(target, trials, llrs, format=format)
            alone = self.reader.keys.classes is not None and not self.reader.has_scores
            order = "; first those of targets" * alone
            return f"{len(result):,} trials with LLRs (natural logarithms){order}{_infinite(llrs)}"

        return LabeledScores(
            data,
            raw=lambda: trials.predictions("raw", weights=weights),
            write=write,
            resampling=units_of(trials, drawn),
            groups=SPEAKER_COLUMNS if trials.has_speakers else None,
            by=[*self.conditions] or None,
            trials=trials,
            format=format,
            unweighted=unweighted,
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
