"""Scores of a system, whatever file they come from: predictions with columns; and their writing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import IID, Resampling
from fastpsr.bootstrap.schemes import names_of_ids
from fastpsr.cli.options.files import to_stdout
from fastpsr.cli.options.intervals import IntervalOptions, drawn_of_table
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.sources import OF_POSTERIORS, TableOptions
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_line, print_suspicions
from fastpsr.cli.wording import in_options
from fastpsr.data import KINDS_OF_SCALES, Predictions
from fastpsr.errors import ArgumentError, counted
from fastpsr.files import check_written_ending, ending_of, whole_file
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.tables import Table, open_table

if TYPE_CHECKING:  # which loads trials
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
    keeps_all: bool = False  # columns
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
        kinds: Any = {name: KINDS_OF_SCALES.get(scales[name], scales[name]) for name in columns}
        tables = opened.choose(
            kinds,
            columns,
            self.tables.labels,
            self.tables.weights,
            {"ids": tuple(names_of_ids(drawn).values()), "by": self.conditions},
            in_parts=in_parts,
            keeps_all=self.keeps_all,
            nan="drop" if self.drops_nan else "error",
        )
        systems = {}
        for name, table in tables.items():
            print_line(f"{prefix.format(name)}{table.notes}; taken as {scales[name]}")
            if labeled:
                table.require_labels()
            systems[name] = self._scores(table, scales[name], drawn)
        return systems

    def _scores(self, table: Table, scale: str, drawn: Resampling) -> LabeledScores:
        of_scores: dict[str, Any] = {"classes": self.tables.classes, "normalize": self.normalize}
        floor = (self.floor or 0.0) if scale in OF_POSTERIORS else 0.0
        ids = table.others["ids"]
        return LabeledScores(
            table.predictions(parse_priors(self.priors, scale), floor=floor, **of_scores),
            raw=lambda: replace(table, kind="raw scores").predictions(None, **of_scores),
            resampling=drawn,
            groups=(ids[0], ids[1]) if len(ids) == 2 else None,
            by=[*table.others["by"]] or None,
            table=table,
        )


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
    from fastpsr.trials.evaluate import predictions_of, units_of

    trials.check_columns("by", conditions)
    kind: Any = scale
    unweighted = None
    if weights is not None:
        unweighted = predictions_of(trials, name, kind, prior=prior)
    return LabeledScores(
        predictions_of(trials, name, kind, prior=prior, weights=weights),
        raw=lambda: trials.predictions("raw", weights=weights),
        resampling=units_of(trials, None if drawn is None else drawn.resample),
        groups=SPEAKER_COLUMNS if trials.has_speakers else None,
        by=[*conditions] or None,
        trials=trials,
        unweighted=unweighted,
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
        scores = self._read(path, labeled=True, in_parts=in_parts, says_kind=says_kind)
        print_suspicions(path, scores.predictions)
        return scores

    def read_others(self, path: Path, training: Predictions | None) -> LabeledScores:
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
        *,
        labeled: bool,
        prior: float | None = None,
        in_parts: bool | None = False,
        says_kind: bool = True,
    ) -> LabeledScores:
        options = self.options
        if self.of_trials:
            from fastpsr.cli.trial_files import TrialReader

            of_trials = TrialReader(options.trials, has_scores=options.scores is not None)
            trials = of_trials.read(path) if labeled else of_trials.read_unlabeled(path)
            if says_kind:
                console.print(f"scores taken as {self.scale}")
            return scores_of(trials, path, self.scale, self.drawn, self.conditions, prior)
        reader = TableReader(
            options.tables,
            options.trials.normalize,
            self.drawn,
            self.conditions,
            keeps_all=True,
            drops_nan="nan" in options.trials.allow,
        )
        systems = reader.read(
            path, {"": self.scale}, {"": options.columns}, labeled=labeled, in_parts=in_parts,
            prefix=f"{path}: ",
        )  # fmt: skip
        return systems[""]

    def check_ending(self, scores: LabeledScores, path: Path | None) -> None:
        """Raise if the ending of --output implies another format than that of trials."""
        if scores.trials is not None:
            from fastpsr.cli.trial_files import format_of

            format_of(self.options.trials, scores.trials, path)

    def write(self, scores: LabeledScores, calibrated: Predictions, path: Path) -> None:
        """Write calibrated scores, for trials in the format that was read, and print so."""
        with to_stdout(path) as target:
            if scores.trials is None:
                content = _write_table(calibrated, target)
            else:
                from fastpsr.cli.trial_files import format_of
                from fastpsr.trials import write_scores

                llrs, format = calibrated.llrs, format_of(self.options.trials, scores.trials, None)
                write_scores(target, scores.trials, llrs, format=format)
                alone = isinstance(self.options.trials.key, Mapping) and not self.options.scores
                order = "; first those of targets" * alone
                content = f"{len(llrs):,} trials with LLRs (natural logarithms){order}"
        console.print(f"{path}: {content}{_infinite(calibrated)}")


def _write_table(result: Predictions, path: Path) -> str:
    """Write labels, log-odds, LLRs or a logarithm per class, and the other columns of the table."""
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
    names = ", ".join(columns)
    for name in result.columns:
        if name in columns:
            raise ValueError(f"a column of the table must not be named {name}, which is written")
        values = np.asarray(result.columns[name])
        columns[name] = values.astype(str) if values.dtype == object else values
    write_columns(path, columns)
    others = f", and of {counted(len(result.columns), 'other column')}" if result.columns else ""
    return f"{len(result):,} rows of {names} (natural logarithms){others}"


def _infinite(calibrated: Predictions) -> str:
    """Return a message about infinite scores, or "" if there are none."""
    scores = calibrated.scores
    counts = {word: np.count_nonzero(scores == float(word)) for word in ("-inf", "inf")}
    if not any(counts.values()):
        return ""
    return "; " + ", ".join(f"scores that are {word}: {n:,}" for word, n in counts.items())


def write_columns(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    """Write arrays of equal length to .npz, .csv or .parquet, atomically."""
    check_written_ending(path)
    with whole_file(path) as part:
        if ending_of(path) == ".npz":
            with part.open("wb") as file:
                np.savez(file, **columns)  # type: ignore[arg-type]
            return
        import polars

        flat: dict[str, NDArray[Any]] = {}
        for name, values in columns.items():
            if values.ndim == 1:
                flat[name] = values
            else:
                flat.update({f"{name}_{k}": values[:, k] for k in range(values.shape[1])})
        frame = polars.DataFrame(flat)
        frame.write_csv(part) if ending_of(path) == ".csv" else frame.write_parquet(part)
