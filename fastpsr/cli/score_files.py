"""Scores of a system, whatever file they come from: predictions with columns; and their writing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import IID, Resampling
from fastpsr.bootstrap.schemes import names_of_ids
from fastpsr.cli.options.files import Base, to_stdout
from fastpsr.cli.options.intervals import IntervalOptions, drawn_of_table
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.sources import OF_POSTERIORS, TableOptions
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_line, print_suspicions
from fastpsr.cli.wording import in_options
from fastpsr.data import KINDS_OF_SCALES, Predictions
from fastpsr.errors import ArgumentError, counted
from fastpsr.files import check_written_ending, ending_of, whole_file
from fastpsr.frames import check_column_names
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.tables import Table, open_table
from fastpsr.tables.binary import write_npz
from fastpsr.tables.words import as_array

if TYPE_CHECKING:  # which loads trials
    from polars import Series

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
    resampling : Resampling
        What is drawn of these scores, with names of columns.
    groups : pair of str, or None
        Columns of speakers that cross-fitting keeps apart.
    by : list of str, or None
        Columns of conditions.
    table : Table, or None
    trials : TrialSet, or None
    unweighted : Predictions, or None
        Those of conditions, if weights make these count alike in all trials.
    """

    predictions: Any
    raw: Callable[[], Any]
    resampling: Resampling = field(default_factory=IID)
    groups: tuple[str, str] | None = None
    by: list[str] | None = None
    table: Table | None = None
    trials: "TrialSet | None" = None
    unweighted: Predictions | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The predictions, and their columns of conditions if there are any."""
        return (self.predictions,) if self.by is None else (self.predictions, self.by)


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reads the scores of systems from tables.

    `drawn` says what is resampled, if anything is, and `conditions` are columns that are read too.
    """

    tables: TableOptions
    normalize: bool
    drawn: IntervalOptions | None = None
    conditions: Sequence[str] = ()
    priors: str | None = None
    floor: float | None = None
    drops_nan: bool = False

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
        drawn = IID() if self.drawn is None else drawn_of_table(self.drawn.resample, opened)
        ids = tuple(names_of_ids(drawn).values())
        kinds: Any = {name: KINDS_OF_SCALES.get(scales[name], scales[name]) for name in columns}
        tables = opened.choose(
            kinds, columns, self.tables.labels, self.tables.weights,
            {"ids": ids, "by": self.conditions}, in_parts=in_parts,
            nan="drop" if self.drops_nan else "error", labeled=labeled,
        )  # fmt: skip
        of_scores: Any = {"classes": self.tables.classes, "normalize": self.normalize}
        systems = {}
        for name, table in tables.items():
            scale = scales[name]
            print_line(f"{prefix.format(name)}{table.notes}; taken as {scale}")
            if labeled:
                table.require_labels()
            floor = (self.floor or 0.0) if scale in OF_POSTERIORS else 0.0
            priors = parse_priors(self.priors, scale)
            raw = replace(table, kind="raw scores")
            systems[name] = LabeledScores(
                table.predictions(priors, floor=floor, **of_scores),
                raw=partial(raw.predictions, None, **of_scores),
                resampling=drawn,
                groups=(ids[0], ids[1]) if len(ids) == 2 else None,
                by=[*table.others["by"]] or None,
                table=table,
            )
        return systems


def scores_of(
    trials: "TrialSet",
    name: object,
    scale: str,
    drawn: IntervalOptions | None = None,
    conditions: Sequence[str] = (),
    prior: float | None = None,
    weights: NDArray[np.float64] | None = None,
) -> LabeledScores:
    """Return the scores of trials; errors name the system."""
    from fastpsr.trials.trial_set import predictions_of, units_of

    trials.check_columns("by", conditions)
    kind: Any = scale
    predictions = partial(predictions_of, trials, name, kind, prior=prior)
    return LabeledScores(
        predictions(weights=weights),
        raw=lambda: trials.predictions("raw", weights=weights),
        resampling=units_of(trials, None if drawn is None else drawn.resample),
        groups=SPEAKER_COLUMNS if trials.has_speakers else None,
        by=[*conditions] or None,
        trials=trials,
        unweighted=None if weights is None else predictions(),
    )


@dataclass(frozen=True, eq=False)
class Source:
    """Reads the scores of one system, a table or trials, and writes calibrated ones."""

    options: TrainingOptions
    scale: str
    drawn: IntervalOptions | None
    conditions: Sequence[str]
    of_trials: bool

    def read(
        self, path: Path, *, in_parts: bool | None = False, says_kind: bool = True
    ) -> LabeledScores:
        """Read labeled scores; with None, a table part by part where it is large or several files.

        What the scores look like is printed where that is not what they are taken for.
        """
        scores = self._read(path, in_parts, says_kind=says_kind)
        print_suspicions(path, scores.predictions)
        return scores

    def read_unlabeled(self, path: Path, training: Predictions | None = None) -> LabeledScores:
        """Read scores that need no labels."""
        prior = None
        if self.of_trials and self.scale == "posteriors":
            if training is None:
                raise ValueError(
                    "--scores-are posteriors needs --key and --scores rather than --load: LLRs of "
                    "trials are posteriors without the prior that the calibrator was trained at"
                )
            prior = float(training.priors[1])  # which calibrated posteriors have
        return self._read(path, labeled=False, prior=prior)

    def _read(
        self,
        path: Path,
        in_parts: bool | None = False,
        *,
        labeled: bool = True,
        prior: float | None = None,
        says_kind: bool = True,
    ) -> LabeledScores:
        options = self.options
        if self.of_trials:
            from fastpsr.cli.trial_files import TrialReader

            reader = TrialReader(options.trials, has_scores=options.scores is not None)
            trials = reader.read(path) if labeled else reader.read_unlabeled(path)
            if says_kind:
                console.print(f"scores taken as {self.scale}")
            return scores_of(trials, path, self.scale, self.drawn, self.conditions, prior)
        tables = TableReader(
            options.tables, options.trials.normalize, self.drawn, self.conditions,
            drops_nan="nan" in options.trials.allow,
        )  # fmt: skip
        return tables.read(
            path, {"": self.scale}, {"": options.columns}, labeled=labeled, in_parts=in_parts,
            prefix=f"{path}: ",
        )[""]  # fmt: skip

    def check_output(self, scores: LabeledScores, path: Path | None, base: Base) -> None:
        """Raise if calibrated scores cannot be written: in another format, or beside a namesake."""
        if scores.trials is not None:
            from fastpsr.cli.trial_files import format_of

            format_of(self.options.trials, scores.trials, path)
        if scores.table is None or path is None:
            return
        name, n_classes = _name_of(scores.predictions, base), scores.predictions.n_classes
        names = {name, *(f"{name}_{k}" for k in range(n_classes) if n_classes > 2)}
        for column in names.intersection(scores.table.source.names or ()) - {*scores.table.scores}:
            raise ValueError(
                f"{scores.table.path}: a column beside the scores must not be named {column}, "
                "as calibrated scores are: rename it"
            )

    def write(
        self, scores: LabeledScores, calibrated: Predictions, path: Path | None, base: Base
    ) -> None:
        """Write calibrated scores, for trials in the format that was read, and print so."""
        assert path is not None
        with to_stdout(path) as target:
            if scores.table is not None:
                content = _write_table(scores.table, calibrated, target, base)
            elif scores.trials is not None:
                from fastpsr.cli.trial_files import format_of
                from fastpsr.trials import write_scores

                llrs = calibrated.llrs / base.unit
                format = format_of(self.options.trials, scores.trials, None)
                write_scores(target, scores.trials, llrs, format=format)
                alone = isinstance(self.options.trials.key, Mapping) and not self.options.scores
                order = "; first those of targets" * alone
                content = f"{len(llrs):,} trials with LLRs ({base.logarithm}s){order}"
        numbers = {word: int((calibrated.scores == float(word)).sum()) for word in ("-inf", "inf")}
        if any(numbers.values()):
            content += "; " + ", ".join(f"scores that are {w}: {n:,}" for w, n in numbers.items())
        console.print(f"{path}: {content}")


def _name_of(scores: Predictions, base: Base) -> str:
    """Return the name of calibrated scores, made of scores or calibrated themselves."""
    is_posterior = scores.kind == "posteriors"
    if scores.n_classes == 2:
        name = "log_odds" if is_posterior else "llr"
    else:
        name = "log_posterior" if is_posterior else "log_likelihood"
    return name if base is Base.E else f"log10_{name.removeprefix('log_')}"


def _write_table(table: Table, calibrated: Predictions, path: Path, base: Base) -> str:
    """Write a table with calibrated scores in place of the scores; return the message."""
    scores = calibrated.scores / base.unit
    name, source, columns = _name_of(calibrated, base), table.source, dict[str, Any]()
    labels, weights = table.labels, table.weights
    if source.names is None:  # arrays in files of their own
        labels, weights = labels and "y_true", weights and "sample_weight"
        own = {labels: calibrated.y_true, name: scores, weights: calibrated.weights}
        columns = {column: values for column, values in own.items() if column is not None}
    left_out = []
    for column in source.of_length(source.names or (), len(calibrated)):
        if column in table.scores:
            columns[name] = scores
            continue
        try:
            values = source.written(column, as_text=ending_of(path) == ".csv")
        except ArgumentError:  # such as an array that holds a pickle
            values = None
        if values is None or not _is_writable(values, ending_of(path)):
            left_out.append(column)
        else:
            columns[column] = values
    write_columns(path, columns)
    listed = [column for column in (labels, name, weights) if column is not None]
    n_others = len(columns) - len(listed)
    others = f", and of {counted(n_others, 'other column')}" if n_others else ""
    lacking = f"; not written: {', '.join(left_out)}" if left_out else ""
    return f"{len(calibrated):,} rows of {', '.join(listed)} ({base.logarithm}s){others}{lacking}"


def _is_writable(column: Any, ending: str) -> bool:
    """Whether a file with this ending can hold a column beside the scores."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "biufU" and (ending == ".npz" or column.ndim < 3)
    return ending == ".parquet" or not column.dtype.is_nested()


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write arrays and series of equal length to .npz, .csv or .parquet, atomically.

    A column per class of arrays (N, K) is written to the latter two.
    """
    import polars as pl

    check_written_ending(path)
    ending = ending_of(path)
    with whole_file(path) as part:
        try:
            if ending == ".npz":
                write_npz(part, {name: _for_archive(column) for name, column in columns.items()})
                return
            series = [s for name, c in columns.items() for s in _series(name, c)]
            check_column_names(path, [s.name for s in series])
            frame = pl.DataFrame({s.name: s for s in series})
            frame.write_csv(part) if ending == ".csv" else frame.write_parquet(part)
        except pl.exceptions.PolarsError as error:  # such as of columns of lists
            raise ValueError(f"{path} cannot be written: {error}") from None


def _for_archive(column: Any) -> NDArray[Any]:
    """Return a column as an array, text as NumPy's strings."""
    if not isinstance(column, np.ndarray) and column.dtype.is_integer() and column.null_count():
        column = column.cast(str)  # integers as floats, with nan, may lose digits
    array = as_array(column)
    return array if array.dtype != object else column.cast(str).fill_null("").to_numpy().astype(str)


def _series(name: str, column: Any) -> "list[Series]":
    """Return a column as a series, an array (N, K) as K of them."""
    import polars as pl

    if isinstance(column, np.ndarray) and column.ndim > 1:
        return [pl.Series(f"{name}_{k}", column[:, k]) for k in range(column.shape[1])]
    return [pl.Series(name, column)]
