"""Two systems on the same samples, read from tables or from score files of trials."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastpsr.bootstrap import Resampling
from fastpsr.bootstrap.bootstrap import check_same_samples
from fastpsr.cli.intervals import resampling_of_table, resampling_of_trials
from fastpsr.cli.options import check_folds
from fastpsr.cli.score_files import ScoreFile
from fastpsr.cli.show import console, steps
from fastpsr.cli.table_evaluation import TableMeasure
from fastpsr.cli.trial_files import TrialReader, predictions_of
from fastpsr.cli.trial_rows import TrialMeasure
from fastpsr.errors import ArgumentError
from fastpsr.evaluate import AnyMetric, Intervals
from fastpsr.predictions import Predictions

__all__ = ["Pair", "pair_of_tables", "pair_of_trials"]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems on the same samples, what is measured of them, and what is drawn."""

    paths: tuple[Path, Path]
    systems: tuple[Predictions, Predictions]
    metrics: Mapping[str, AnyMetric]
    resampling: Resampling | None


def pair_of_tables(a: ScoreFile, b: ScoreFile, measure: TableMeasure, intervals: Intervals) -> Pair:
    """Make a pair of two tables, after checking that they tell of the same samples."""
    one, other = measure.predictions(a), measure.predictions(b)
    try:
        check_same_samples(one, other)
    except ArgumentError as error:
        raise error.renamed(f"{a.path} and {b.path}") from None
    for what, ours, theirs in (
        ("weights", one.weights, other.weights),
        (f"--resample {a.names[3]}: values", a.clusters, b.clusters),
    ):
        if not np.array_equal(ours, theirs):  # type: ignore[arg-type]  # both may be None
            raise ValueError(f"{what} must be the same in {a.path} and {b.path}")
    metrics = measure.metrics(one.n_classes)
    console.print(f"{len(one):,} samples, {one.n_classes} classes")
    return Pair((a.path, b.path), (one, other), metrics, resampling_of_table(intervals, a))


def pair_of_trials(a: Path, b: Path, reader: TrialReader, measure: TrialMeasure) -> Pair:
    """Make a pair of two score files, on the trials of the key that both have."""
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
    resampling = resampling_of_trials(measure.intervals, one)
    return Pair((a, b), (systems[0], systems[1]), metrics, resampling)
