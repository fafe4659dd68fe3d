"""Scores are read, evaluated and shown: a table of metrics, or differences on the same samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr.bootstrap.bootstrap import check_same_columns, check_same_samples
from fastpsr.bootstrap.schemes import names_of_ids
from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import CrossFit
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.intervals import IntervalOptions, drawn_name
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.sources import OF_POSTERIORS, TableOptions
from fastpsr.cli.results import Figures, show_evaluation, shown_names
from fastpsr.cli.score_files import LabeledScores, TableReader, TrialScores
from fastpsr.cli.show import (
    Steps,
    print_error,
    print_line,
    print_line_once,
    print_written,
    recorded_lines,
    size_of,
    steps,
    warnings_as_lines,
)
from fastpsr.cli.wording import worded
from fastpsr.costs import CostMatrix
from fastpsr.counts.groups import groups_of
from fastpsr.data import Predictions, SharedTargets
from fastpsr.data.budget import memory_budget
from fastpsr.data.columns import Columns
from fastpsr.errors import ArgumentError, counted
from fastpsr.evaluation import Evaluation, Row
from fastpsr.evaluation.conditions import evaluate_conditions, kept_apart, sharing_targets
from fastpsr.evaluation.specification import Specification
from fastpsr.metrics import EER

if TYPE_CHECKING:  # which loads trials
    from fastpsr.cli.trial_files import TrialReader

_MOST_COSTS = 36  # that are listed one by one
#: Scores of systems on the same samples, by name.
Systems = Mapping[str, LabeledScores]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a command evaluates, checked before a file is read.

    Attributes
    ----------
    options : EvaluationOptions
    paths : mapping of Path to str or None
        Files of systems, some with names; or the one file that has all in its columns.
    scales : mapping of str to str
        Kind of the scores of each system.
    intervals : Intervals or None
    folds : int or None
        Number of folds, if it was given.
    inputs : sequence of Path or None
        All files that are read.
    reader : TrialReader or None
        Of trials; tables have none.
    """

    options: EvaluationOptions
    paths: Mapping[Path, str | None]
    scales: Mapping[str, str]
    intervals: Intervals | None
    folds: int | None
    inputs: Sequence[Path | None]
    reader: "TrialReader | None"

    @property
    def systems(self) -> dict[str, str | None]:
        """Names that systems were given, by path or column."""
        if self.options.system_columns is not None:
            return {name: name for name in self.options.system_columns}
        return {str(path): name for path, name in self.paths.items()}

    @property
    def drawn(self) -> IntervalOptions | None:
        """What is drawn, if there are intervals."""
        return None if self.intervals is None else self.options.drawn


def evaluate_scores(plan: Plan, joined: Path | None) -> None:
    """Compute, print and write the table of systems, or also their differences.

    Trials that are too large for memory are `joined` in a file.
    """
    options, reader = plan.options, plan.reader if joined is None else None
    reports, n_read, n_tables = options.outputs.reports, len(plan.paths), 1
    if reader is not None:
        has_key = reader.keys.has_key([*plan.paths] if reader.has_scores else [])
        n_read += n_read + 1 if has_key else 0
        n_tables = len(plan.paths) if options.differences.pairs is None else 1
    evaluations: list[Evaluation] = []
    figures: Figures = {name: {} for name in ("predictions", "by_condition", "spoof")}
    with steps(n_read + n_tables + len(reports)) as begin:
        with recorded_lines() as lines, warnings_as_lines():
            if reader is not None:
                batches = _of_trials(plan, reader, begin)
            else:
                batches = iter([_of_tables(plan, joined, begin)])
            for batch in batches:
                for systems in _with_common_metrics(plan, batch):
                    specification = _specification(plan, systems)
                    begin(f"metrics of {' and '.join(systems)}")
                    evaluations.append(_evaluated(plan, systems, specification, begin))
                    if reports:
                        _add_figures(figures, plan, systems, specification)
        evaluation = Evaluation.joined(evaluations)
        seconds = None
        if reader is not None:
            kinds = {"read": "reading", "join": "joining", "metrics": "metrics"}
            seconds = {word: begin.seconds(kind) for word, kind in kinds.items()}
        show_evaluation(plan, evaluation, figures, lines, seconds, begin)
    print_written(options.written)


def _of_trials(plan: Plan, reader: "TrialReader", begin: Steps) -> Iterator[Systems]:
    """Read trials, those of systems that are compared together; others are read one by one."""
    from fastpsr.trials.common import common_trials
    from fastpsr.trials.evaluate import weights_of

    options, pairs = plan.options, plan.options.differences.pairs
    reader.progress = begin
    priors = parse_priors(options.measures.priors, "llr", of_trials=True)
    prior = None if priors is None else priors[1]
    for paths in [[path] for path in plan.paths] if pairs is None else [[*plan.paths]]:
        sets = {str(path): reader.read(path) for path in paths}
        if pairs is not None:
            sets, left_out = common_trials(sets)
            if left_out:
                print_line(left_out)
        weights = weights_of(next(iter(sets.values())), options.measures.equalized)
        systems = {}
        for name, trials in sets.items():
            scores = TrialScores(reader, plan.scales[name], plan.drawn, options.conditions.columns)
            systems[name] = scores.of(trials, name, prior, weights)
        yield systems


def _of_tables(plan: Plan, joined: Path | None, begin: Steps) -> Systems:
    """Read tables: one for each system, or all systems from columns of one."""
    options, pairs = plan.options, plan.options.differences.pairs
    tables, columns = options.tables, options.system_columns
    sources: dict[Path, Any]
    if joined is None:
        sources = {path: columns or {str(path): options.columns} for path in plan.paths}
    else:
        from fastpsr.cli.larger_than_memory import column_of

        tables = TableOptions(labels="target")
        sources = {joined: {str(path): [column_of(k)] for k, path in enumerate(plan.paths)}}
    reader = TableReader(
        tables, options.allowed, plan.drawn, options.conditions.columns,
        options.measures.priors, options.loss.floor if joined is None else None,
    )  # fmt: skip
    systems: dict[str, LabeledScores] = {}
    for path, columns_of_system in sources.items():
        begin(f"reading {path}")
        with worded(columns="--columns"):
            systems |= reader.read(
                path, plan.scales, columns_of_system,
                in_parts=False if pairs and len(sources) > 1 else None,
                prefix="{}: " if columns or joined else "",
            )  # fmt: skip
        scores = next(iter(systems.values()))
        if not isinstance(scores.predictions, Predictions):
            _check_parts(plan, scores)
    if pairs and len(sources) > 1:
        return _of_same_samples(systems)
    return systems


def _of_same_samples(systems: Systems) -> Systems:
    """Return systems of several tables; those without the ids that are drawn have another's."""
    (first, scores), *others = systems.items()
    drawn, columns = scores.resampling, {**scores.predictions.columns}
    for name, other in others:
        files = f"{first} and {name}"
        try:
            check_same_samples(scores.predictions, other.predictions)
            check_same_columns(scores.predictions, other.predictions, scores.predictions.columns)
        except ArgumentError as error:
            raise error.renamed(files) from None
        if not np.array_equal(scores.predictions.weights, other.predictions.weights):
            raise ValueError(f"weights must be the same in {files}")
        drawn = drawn if names_of_ids(drawn) else other.resampling
        columns = {**other.predictions.columns, **columns}

    def completed(scores: LabeledScores) -> LabeledScores:
        data = scores.predictions.with_columns(Columns(columns | {**scores.predictions.columns}))
        return replace(scores, predictions=data, resampling=drawn)

    return {name: completed(scores) for name, scores in systems.items()}


def _with_common_metrics(plan: Plan, systems: Systems) -> list[Systems]:
    """Return the systems that have the same metrics: all, if they are compared or of one kind."""
    if plan.options.differences.pairs or len({plan.scales[name] for name in systems}) == 1:
        return [systems]
    return [{name: scores} for name, scores in systems.items()]


def _specification(plan: Plan, systems: Systems) -> Specification:
    """Return what is computed, after checks of options that need the scores; print what it is."""
    options, intervals = plan.options, plan.intervals
    (name, first), *_ = systems.items()
    n_classes = {name: scores.predictions.n_classes for name, scores in systems.items()}
    if len({*n_classes.values()}) > 1:
        listed = ", ".join(f"{name} has {n}" for name, n in n_classes.items())
        raise ValueError(f"systems must have the same classes, but {listed}")
    costs, groups = options.measures.cost_matrix, first.groups if first.trials else None
    options.loss.untrained(has_floor=True).check_classes(n_classes[name])
    if costs is not None:
        costs.check_classes(n_classes[name])
    if options.measures.dcf and n_classes[name] > 2:
        raise ValueError(f"--dcf needs a binary task, not {n_classes[name]} classes")
    if plan.folds is not None and isinstance(first.predictions, Predictions):
        # raises where there are too few samples, or speakers
        CrossFit(folds=plan.folds, groups=groups).folds_of(first.predictions)
    metrics = options.metrics(
        [plan.scales[name] for name in systems], n_classes[name], of_table=plan.reader is None,
        has_spoof=first.has_spoof,
    )  # fmt: skip
    metrics = kept_apart(metrics, groups) if groups else metrics
    if costs is not None:
        print_line(f"--costs: {_listed(costs)}")
    if intervals is not None:
        intervals = intervals.drawing(first.resampling)
        intervals = replace(intervals, drawn=drawn_name(first.resampling))
    by: Any = options.conditions.by
    is_spoof = None if first.trials is None else first.trials.is_spoof
    if is_spoof is not None:
        from fastpsr.trials.labels import KIND

        by = sharing_targets(first.predictions, by or [KIND], options.conditions.bins, is_spoof)
        _print_shared_targets(options, by, metrics)
    pairs, group_pairs = options.differences.pairs, options.differences.group_pairs
    return Specification(metrics, intervals, by, options.conditions.bins, pairs, group_pairs)


def _evaluated(
    plan: Plan, systems: Systems, specification: Specification, begin: Steps
) -> Evaluation:
    """Return the table of systems; only one table alone has no name in it."""
    (name, first), *_ = systems.items()
    data: dict[Any, Any] = {name: scores.predictions for name, scores in systems.items()}
    is_named = plan.reader is not None or plan.options.system_columns or len(systems) > 1
    unweighted: dict[str, Any] | None = None
    if first.unweighted is not None:
        unweighted = {name: scores.unweighted for name, scores in systems.items()}
    with begin.of_rows(first.predictions) as progress:
        evaluation = evaluate_conditions(
            data if is_named else {None: first.predictions}, specification, progress,
            unweighted=unweighted, always_named=bool(is_named),
        )  # fmt: skip
    if plan.reader is not None:
        return evaluation
    return evaluation.with_rows(lambda row: _with_floor(row, plan.scales[row.system or name]))


def _with_floor(row: Row, scale: str) -> Row:
    """Return a row with the option that bounds what posteriors of 0 cost, if they have no value."""
    error = row.error
    if not (isinstance(error, ArgumentError) and error.argument == "predictions"):
        return row
    if error.pass_ or row.state == "not computed" or scale not in OF_POSTERIORS:
        return row
    named = ArgumentError("predictions", error.rule, pass_={"floor": 1e-3}, name=error.name)
    return replace(row, error=named)


def _add_figures(figures: Figures, plan: Plan, systems: Systems, groups: Specification) -> None:
    """Add what figures show: all samples, and those of each condition, which count alike."""
    names = shown_names(plan.systems)
    for system, scores in systems.items():
        name, data = names[system], scores.predictions
        alike = data if scores.unweighted is None else scores.unweighted
        figures["predictions"][name] = data
        figures["by_condition"][name] = {
            group.name: group.data for group in groups_of(alike, groups.by, groups.bins)
        }
        if scores.trials is not None and scores.trials.is_spoof is not None:
            figures["spoof"][name] = scores.trials.is_spoof


def _check_parts(plan: Plan, scores: LabeledScores) -> None:
    """Print how a table is read part by part, and why that takes long; raise for a report."""
    table, source, reports = scores.table, scores.predictions.source, plan.options.outputs.reports
    assert table is not None
    if reports:
        raise ValueError(
            f"--output {reports[0]}: a report draws all scores, and {table.path} is read part by "
            "part: take a sample"
        )
    n_files, n_parts = (
        counted(len(table.files), "file"),
        counted(scores.predictions.n_parts, "part"),
    )
    print_line(f"{table.path}: {n_files}, read in {n_parts}")
    if plan.intervals is not None and table.n_bytes:
        unit, name = (10**6, "MB") if table.n_bytes > 10**6 else (10**3, "KB")
        needed = f"{-(-table.n_bytes // unit)}{name}"
        print_error(
            f"{table.path}: {source.n_rows:,} rows are read in parts, again for each batch of "
            f"replicates, since {needed} in memory are more than the budget of "
            f"{size_of(memory_budget())}: set FASTPSR_MEMORY={needed} to load them, if they fit"
        )


def _print_shared_targets(
    options: EvaluationOptions, by: Mapping[Any, Any], metrics: Mapping[str, Any]
) -> None:
    """Print where conditions of spoofed trials share the targets."""
    has_eer = any(isinstance(metric, EER) for metric in metrics.values())
    for name in (name for name, ids in by.items() if isinstance(ids, SharedTargets)):
        if options.by is None:
            both = f"{name}=nontarget and {name}=spoof"
            if has_eer:
                both = (
                    f"the EER of all trials is SASV-EER; {name}=nontarget (SV-EER) and "
                    f"{name}=spoof (SPF-EER)"
                )
            print_line_once(f"spoofed trials: {both} share all targets")
        else:
            columns = name if isinstance(name, str) else ",".join(name)
            print_line_once(
                f"--by {columns}: conditions share all targets, as some have spoofed trials only"
            )


def _listed(costs: CostMatrix) -> str:
    """Return the costs as text, of a large matrix the shape and the range."""
    values = costs.values
    if values.size > _MOST_COSTS:
        shape = f"{costs.n_classes:,} classes, {costs.n_decisions:,} decisions"
        return f"{shape}, costs from {values.min():g} to {values.max():g}"
    rows = "; ".join(", ".join(f"{cost:g}" for cost in row) for row in values)
    return f"a row for each true class, a column for each decision: {rows}"
