"""`fastpsr compare`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastpsr.bootstrap.bootstrap import check_same_samples
from fastpsr.cli.command import in_groups
from fastpsr.cli.measures import TableMeasure, TrialMeasure, drawn_of_table, drawn_of_trials
from fastpsr.cli.modes import FOR_RCL, given, refuse, refuse_for_mode
from fastpsr.cli.options import (
    CalibratorOptions,
    Columns,
    ComparisonOptions,
    MeasureOptions,
    OutputOptions,
    ScoresAre,
    ScoresMean,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
    arrays_beside,
    check_folds,
    check_outputs,
    column_of,
)
from fastpsr.cli.score_files import ScoreFile, is_table, read_scores
from fastpsr.cli.show import console, say, steps, warnings_as_lines
from fastpsr.cli.tables import Outputs, print_differences, short_names, write_differences
from fastpsr.cli.trial_files import TrialReader, predictions_of
from fastpsr.cli.wording import in_words
from fastpsr.errors import ArgumentError
from fastpsr.evaluation import Intervals, differences, evaluate_systems
from fastpsr.metrics import Metric
from fastpsr.plans import run
from fastpsr.predictions import Predictions

__all__ = ["compare"]


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two systems on the same samples, with their metrics and resampling."""

    paths: tuple[Path, Path]
    systems: tuple[Predictions, Predictions]
    metrics: Mapping[str, Metric[Any]]
    intervals: Intervals
    scores_are: str


@in_groups
def compare(
    context: typer.Context,
    measures: MeasureOptions,
    loss: CalibratorOptions,
    tables: TableOptions,
    speakers: SpeakerOptions,
    trials: TrialOptions,
    drawn: ComparisonOptions,
    outputs: OutputOptions,
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="A table of scores with labels (.npz, .npy, .csv or .parquet); with --key, the "
            "score file of a system.",
        ),
    ],
    b: Annotated[
        Path, typer.Argument(metavar="B", help="The same for another system, on the same samples.")
    ],
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="Trial list with labels; a score file with labels is accepted, too.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    scores_are: ScoresMean = None,
    columns: Columns = None,
) -> None:
    """Compare two systems on the same samples: difference of each metric, with an interval.

    Both systems are evaluated on the same bootstrap draws (paired comparison).
    """
    of_trials = key is not None
    refuse_for_mode(context, of_trials=of_trials, has_key=of_trials, by="--key")
    intervals = drawn.parse(context, of_trials=of_trials, speakers=speakers)
    assert intervals is not None
    clusters = None if of_trials else column_of(intervals)
    beside = [] if of_trials else arrays_beside(tables.labels, tables.weights, clusters)
    inputs = [a, b, *(key or []), measures.costs, speakers.speakers, *beside]
    check_outputs(outputs.files, inputs)
    if a.resolve() == b.resolve():
        raise ValueError(f"A and B must be two files, not {a} twice")
    folds_are_given = "--folds" in given(context)
    if scores_are is ScoresAre.RAW:
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    if of_trials:
        measure = TrialMeasure.of(
            scores_are, measures, loss, by=None, folds_are_given=folds_are_given
        )
        reader = TrialReader.of(key, trials, columns, speakers)
        pair = _pair_of_trials(a, b, reader, measure, intervals)
    else:
        for path in (a, b):
            if not is_table(path):
                raise ValueError(
                    f"{path} must end in .npz, .npy, .csv or .parquet to be a table; score files "
                    "of trials need --key KEY, for which one that holds labels will do"
                )
        table = TableMeasure.of(scores_are, measures, loss, folds_are_given=folds_are_given)
        where = (tables.labels, columns, tables.weights, clusters)
        one, other = (read_scores(path, *where) for path in (a, b))
        pair = _pair_of_tables(one, other, table, intervals)
    caution = drawn.caution(intervals, speakers) if of_trials else ""
    _compare_pair(pair, Outputs(outputs.files, inputs), caution)


def _compare_pair(pair: _Pair, outputs: Outputs, caution: str) -> None:
    """Compute, print and write the differences."""
    a, b = (str(path) for path in pair.paths)
    intervals = pair.intervals
    run(lambda: intervals.resampling.units(pair.systems[0]))  # raises where there are too few
    with steps(None) as begin:
        tables = []
        for path, system in zip((a, b), pair.systems, strict=True):
            with warnings_as_lines(f"{path}: "):
                table = evaluate_systems(
                    {path: system}, pair.metrics,
                    progress=lambda what, *amount, path=path: begin(f"{path}: {what}", *amount),
                )  # fmt: skip
            tables.append(in_words(table))
        rows = differences(
            pair.metrics, pair.systems, (tables[0], tables[1]), intervals,
            lambda done, total: begin("replicates", done, total),
        )  # fmt: skip
    for side, name in zip("AB", (a, b), strict=True):
        console.print(f"{side}: {name}")
    console.print(str(intervals))
    print_differences(rows)
    if caution:
        say(caution)
    content = {
        "scores_are": pair.scores_are, "a": a, "b": b, "n_samples": len(pair.systems[0]),
        "intervals": intervals.to_dict(),
    }  # fmt: skip
    write_differences(rows, content, list(short_names([a, b]).values()), outputs)


def _pair_of_tables(
    a: ScoreFile, b: ScoreFile, measure: TableMeasure, intervals: Intervals
) -> _Pair:
    """Make a pair of two tables, after checking that they have the same samples."""
    one, other = measure.predictions(a), measure.predictions(b)
    try:
        check_same_samples(one, other)
    except ArgumentError as error:
        raise error.renamed(f"{a.path} and {b.path}") from None
    clusters = a.clusters or b.clusters
    for what, ours, theirs in (
        ("weights", one.weights, other.weights),
        (f"--resample {a.names[3]}: values", clusters, b.clusters or clusters),
    ):
        if not np.array_equal(ours, theirs):  # both may be None
            raise ValueError(f"{what} must be the same in {a.path} and {b.path}")
    metrics = measure.metrics(one.n_classes)
    console.print(f"{len(one):,} samples, {one.n_classes} classes")
    return _Pair(
        (a.path, b.path), (one, other), metrics, drawn_of_table(intervals, clusters), measure.scale
    )


def _pair_of_trials(
    a: Path, b: Path, reader: TrialReader, measure: TrialMeasure, intervals: Intervals
) -> _Pair:
    """Make a pair of two score files, on the trials of the key that both contain."""
    with steps(None) as begin:
        reader.progress = begin
        one, other = reader.common(reader.read(a), reader.read(b))
    assert one.y_true is not None
    for k, name in enumerate(("non-targets", "targets")):
        if not (one.y_true == k).any():
            raise ValueError(f"the trials that have a score in both {a} and {b} have no {name}")
    weights = measure.weights(one)
    systems = [
        predictions_of(made, path, measure.scale, prior=measure.prior, weights=weights)
        for made, path in ((one, a), (other, b))
    ]
    groups = one.speakers if reader.speakers.are_known else None
    if measure.folds_are_given:
        check_folds(measure.folds, systems[0], groups)
    metrics = measure.metrics(groups)
    console.print(f"scores taken as {measure.scale}; {reader.clock}")
    console.print(f"{len(one):,} trials, {int(one.y_true.sum()):,} of them targets")
    return _Pair(
        (a, b), (systems[0], systems[1]), metrics, drawn_of_trials(intervals, one), measure.scale
    )
