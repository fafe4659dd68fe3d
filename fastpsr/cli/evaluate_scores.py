"""Scores are read, evaluated and shown: a table of metrics, or differences on the same samples."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import CrossFit
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.intervals import drawn_name
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.sources import OF_POSTERIORS, TableOptions
from fastpsr.cli.results import shown_names, write_evaluation, write_report
from fastpsr.cli.score_files import LabeledScores, TableReader, scores_of
from fastpsr.cli.show import (
    Steps,
    console,
    off_the_bar,
    print_error,
    print_line,
    print_line_once,
    print_written,
    recorded_lines,
    size_of,
    steps,
    warnings_as_lines,
)
from fastpsr.cli.wording import in_words, worded
from fastpsr.costs import CostMatrix
from fastpsr.data import Predictions, SharedTargets
from fastpsr.data.budget import memory_budget
from fastpsr.errors import ArgumentError, counted
from fastpsr.evaluation import Evaluation, Row
from fastpsr.evaluation.conditions import kept_apart, sharing_targets
from fastpsr.evaluation.evaluate import evaluate_systems
from fastpsr.evaluation.specification import Specification
from fastpsr.metrics import EER
from fastpsr.metrics.defaults import common_kind, operating_points

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
    inputs : sequence of Path or None
        All files that are read.
    of_trials, has_scores : bool
        Whether the scores are of trials, and have files beside those of the key.
    """

    options: EvaluationOptions
    paths: Mapping[Path, str | None]
    scales: Mapping[str, str]
    intervals: Intervals | None
    inputs: Sequence[Path | None]
    of_trials: bool
    has_scores: bool

    @property
    def systems(self) -> dict[str, str | None]:
        """Names that systems were given, by path or column."""
        if isinstance(self.options.columns, Mapping):
            return {name: name for name in self.options.columns}
        return {str(path): name for path, name in self.paths.items()}


def evaluate_scores(plan: Plan) -> None:
    """Compute, print and write the table of systems, or also their differences.

    Trials that are too large for memory are joined in a file, and read as a table.
    """
    joining: Any = nullcontext()
    if plan.of_trials:
        from fastpsr.cli.larger_than_memory import joined_in_parts

        joining = joined_in_parts(plan.options, plan.paths, has_scores=plan.has_scores)
    with joining as joined, steps() as begin:
        evaluations: list[Evaluation] = []
        figures: dict[str, Any] = {"predictions": {}, "spoof": {}, "unweighted": {}}
        with recorded_lines() as lines, warnings_as_lines():
            in_memory = plan.of_trials and joined is None
            batches = _of_trials(plan, begin) if in_memory else [_of_tables(plan, joined, begin)]
            for systems in chain.from_iterable(_with_same_metrics(plan, each) for each in batches):
                specification = _specification(plan, systems)
                begin(f"metrics of {' and '.join(systems)}")
                evaluations.append(_evaluated(plan, systems, specification, begin))
                _add_figures(figures, plan, systems, specification)
        if in_memory:
            read, join, metrics = map(begin.seconds, ("reading", "joining", "metrics"))
            spent = f"read {read:.1f} s, join {join:.1f} s, metrics {metrics:.1f} s"
            print_line(f"{_taken(plan)}; {spent}")
        _show(plan, Evaluation.joined(evaluations), figures, lines, begin)
    print_written(plan.options.outputs.files)


def _of_trials(plan: Plan, begin: Steps) -> Iterator[Systems]:
    """Read trials, those of systems that are compared together; others are read one by one."""
    from fastpsr.cli.trial_files import TrialReader
    from fastpsr.trials.common import common_trials
    from fastpsr.trials.evaluate import weights_of

    options, pairs = plan.options, plan.options.differences.pairs
    reader = TrialReader(options.trials, plan.has_scores, begin)
    priors = parse_priors(options.measures.priors, "llr", of_trials=True)
    prior = None if priors is None else priors[1]
    drawn = None if plan.intervals is None else options.drawn
    for paths in [[path] for path in plan.paths] if pairs is None else [[*plan.paths]]:
        sets = {str(path): reader.read(path) for path in paths}
        if pairs is not None:
            sets, left_out = common_trials(sets)
            if left_out:
                print_line(left_out)
        weights = weights_of(next(iter(sets.values())), options.measures.equalize)
        columns = options.conditions.by.columns
        yield {
            name: scores_of(trials, name, plan.scales[name], drawn, columns, prior, weights)
            for name, trials in sets.items()
        }


def _of_tables(plan: Plan, joined: Path | None, begin: Steps) -> Systems:
    """Read tables: one for each system, or all systems from columns of one."""
    options, columns = plan.options, plan.options.columns
    tables, floor, prefix = options.tables, options.loss.floor, ""
    sources: dict[Path, Any] = {path: {str(path): columns} for path in plan.paths}
    if joined is not None:
        from fastpsr.cli.larger_than_memory import column_of

        tables, floor, prefix = TableOptions("target", None, None), None, "{}: "
        sources = {joined: {str(path): [column_of(k)] for k, path in enumerate(plan.paths)}}
    elif isinstance(columns, Mapping):
        sources, prefix = dict.fromkeys(plan.paths, columns), "{}: "
    reader = TableReader(
        tables, options.trials.normalize, None if plan.intervals is None else options.drawn,
        options.conditions.by.columns, options.measures.priors, floor,
        drops_nan="nan" in options.trials.allow,
    )  # fmt: skip
    in_parts = False if options.differences.pairs in ("first", "all") and len(sources) > 1 else None
    systems: dict[str, LabeledScores] = {}
    for path, columns_of_system in sources.items():
        begin(f"reading {path}")
        with worded(columns="--columns"):
            systems |= reader.read(
                path, plan.scales, columns_of_system, in_parts=in_parts, prefix=prefix
            )
        first, *others = systems.values()
        if not isinstance(first.predictions, Predictions):
            _check_parts(plan, first)
    for path, other in zip([*sources][1:], others, strict=False) if in_parts is False else ():
        if not np.array_equal(first.predictions.weights, other.predictions.weights):
            raise ValueError(f"weights must be the same in {next(iter(sources))} and {path}")
    return systems


def _with_same_metrics(plan: Plan, systems: Systems) -> list[Systems]:
    """Return the systems that have the same metrics: all, if they are compared or of one kind."""
    kinds = {(plan.scales[name], of.predictions.n_classes) for name, of in systems.items()}
    if plan.options.differences.pairs or len(kinds) == 1:
        return [systems]
    return [{name: scores} for name, scores in systems.items()]


def _specification(plan: Plan, systems: Systems) -> Specification:
    """Return the specification, after checks of options that need the scores; print it."""
    options, intervals, by = plan.options, plan.intervals, plan.options.conditions.by
    first = next(iter(systems.values()))
    costs, groups = options.measures.cost_matrix, first.groups if first.trials else None
    n_classes = first.predictions.n_classes
    options.loss.untrained(has_floor=True).check_classes(n_classes)
    if costs is not None:
        costs.check_classes(n_classes)
    if options.measures.dcf and n_classes > 2:
        raise ValueError(f"--dcf needs a binary task, not {n_classes} classes")
    if options.loss.folds is not None and isinstance(first.predictions, Predictions):
        # raises where there are too few samples, or speakers
        CrossFit(folds=options.loss.folds, groups=groups).folds_of(first.predictions)
    is_spoof = None if first.trials is None else first.trials.is_spoof
    if options.measures.tandem and is_spoof is not None:
        raise ValueError("--dcf tdcf is for bona fide and spoofed trials: this list has targets")
    if options.measures.tandem and first.trials is not None:
        print_line_once("--dcf tdcf: targets are taken as bona fide trials, others as spoofed ones")
    metrics = options.metrics(
        [plan.scales[name] for name in systems], n_classes, of_table=not plan.of_trials,
        has_spoof=is_spoof is not None,
    )  # fmt: skip
    metrics = kept_apart(metrics, groups) if groups else metrics
    if costs is not None:
        print_line(f"--costs: {_listed(costs)}")
    if intervals is not None:
        drawn = drawn_name(first.resampling)
        intervals = replace(intervals.drawing(first.resampling), drawn=drawn)
    conditions: Any = by.by
    if is_spoof is not None:
        from fastpsr.trials.labels import KIND

        conditions = sharing_targets(first.predictions, conditions or [KIND], by.bins, is_spoof)
        _print_shared_targets(conditions, metrics, are_kinds=by.by is None)
    pairs = options.differences.pairs, options.differences.group_pairs
    return Specification(metrics, intervals, conditions, by.bins, *pairs)


def _evaluated(
    plan: Plan, systems: Systems, specification: Specification, begin: Steps
) -> Evaluation:
    """Return the table of systems; only one table alone has no name in it."""
    (name, first), *_ = systems.items()
    data: dict[Any, Any] = {name: scores.predictions for name, scores in systems.items()}
    is_named = plan.of_trials or isinstance(plan.options.columns, Mapping) or len(systems) > 1
    unweighted: dict[str, Any] | None = None
    if first.unweighted is not None:
        unweighted = {name: scores.unweighted for name, scores in systems.items()}
    with begin.of_rows():
        evaluation = evaluate_systems(
            data if is_named else {None: first.predictions}, specification, begin,
            unweighted=unweighted, always_named=is_named,
        )  # fmt: skip
    if plan.of_trials:
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


def _add_figures(
    figures: dict[str, Any], plan: Plan, systems: Systems, specification: Specification
) -> None:
    """Add what the figures of a report show, if there is one."""
    names = shown_names(plan.systems)
    for name, scores in systems.items() if plan.options.outputs.reports else ():
        figures["predictions"][names[name]] = scores.predictions
        if scores.trials is not None and scores.trials.is_spoof is not None:
            figures["spoof"][names[name]] = scores.trials.is_spoof
        if scores.unweighted is not None:
            figures["unweighted"][names[name]] = scores.unweighted
        figures |= {"by": specification.by, "bins": specification.bins}


def _check_parts(plan: Plan, scores: LabeledScores) -> None:
    """Print how a table is read part by part, and why that takes long; raise for a report."""
    table, source, reports = scores.table, scores.predictions.source, plan.options.outputs.reports
    assert table is not None
    if reports:
        raise ValueError(
            f"--output {reports[0]}: a report draws all scores, and {table.path} is read part by "
            "part: take a sample"
        )
    n_files, n_parts = counted(len(table.files), "file"), scores.predictions.n_parts
    print_line(f"{table.path}: {n_files}, read in {counted(n_parts, 'part')}")
    if plan.intervals is not None and table.n_bytes:
        needed = f"{-(-table.n_bytes // 1_000_000)}MB"
        print_error(
            f"{table.path}: {source.n_rows:,} rows are read in parts, again for each batch of "
            f"replicates, since {needed} in memory are more than the budget of "
            f"{size_of(memory_budget())}: set FASTPSR_MEMORY={needed} to load them, if they fit"
        )


def _print_shared_targets(
    by: Mapping[Any, Any], metrics: Mapping[str, Any], *, are_kinds: bool
) -> None:
    """Print where conditions of spoofed trials share the targets."""
    has_eer = any(isinstance(metric, EER) for metric in metrics.values())
    for name in (name for name, ids in by.items() if isinstance(ids, SharedTargets)):
        columns = name if isinstance(name, str) else ",".join(name)
        line = f"--by {columns}: conditions share all targets, as some have spoofed trials only"
        if are_kinds:
            sasv, sv, spf = "the EER of all trials is SASV-EER; ", " (SV-EER)", " (SPF-EER)"
            sasv, sv, spf = (words * has_eer for words in (sasv, sv, spf))
            line = f"spoofed trials: {sasv}{name}=nontarget{sv} and {name}=spoof{spf} share all "
            line += "targets"
        print_line_once(line)


def _listed(costs: CostMatrix) -> str:
    """Return the costs as text, of a large matrix the shape and the range."""
    values = costs.values
    if values.size > _MOST_COSTS:
        shape = f"{costs.n_classes:,} classes, {costs.n_decisions:,} decisions"
        return f"{shape}, costs from {values.min():g} to {values.max():g}"
    rows = "; ".join(", ".join(f"{cost:g}" for cost in row) for row in values)
    return f"a row for each true class, a column for each decision: {rows}"


# What is printed and written


def _taken(plan: Plan) -> str:
    """Return the assumed kinds of the scores."""
    kinds = {*plan.scales.values()}
    each = ", ".join(f"{scale} in {path}" for path, scale in plan.scales.items())
    return f"scores taken as {each if len(kinds) > 1 else kinds.pop()}"


def _show(
    plan: Plan,
    evaluation: Evaluation,
    figures: dict[str, Any],
    lines: Sequence[str],
    begin: Steps,
) -> None:
    """Print an evaluation, and write it to files and reports.

    Systems have the names that they were given or short ones, unless the one system of the
    evaluation has none; `lines` is what was printed when they were read.
    """
    options, taken = plan.options, _taken(plan)
    shown = table = in_words(evaluation)
    if evaluation.all_samples.system is None:
        taken = str(evaluation.all_samples)
    else:
        shown = table.renamed(shown_names(plan.systems))
        table = table.renamed({path: name or path for path, name in plan.systems.items()})
    with recorded_lines() as warnings:
        sizes = {each.system: each.class_sizes for each in shown.groups if each.group is None}
        if len({*sizes.values()}) > 1 and options.differences.pairs != "unpaired":
            said = ", ".join(f"{system} {sum(n):,}" for system, n in sizes.items())
            print_error(f"warning: the systems are judged on different trials: {said}")
        if plan.of_trials:
            options.drawn.print_caution(plan.intervals, options.trials)
    with off_the_bar():
        console.print(shown.to_text(console.width), soft_wrap=True)
        kinds = ", ".join(dict.fromkeys(plan.scales.values()))
        write_evaluation(table, kinds, options.outputs.files, plan.inputs)
    kind = common_kind(group.kind for group in evaluation.groups)
    usual = operating_points(evaluation.all_samples.n_classes, kind)
    for path in options.outputs.reports:
        write_report(
            path, shown, begin, **figures, read=[*lines, taken, *warnings],
            operating_points=options.measures.detection or usual, base=options.base.number,
        )  # fmt: skip
