"""Systems on trial lists: a table of metrics, or differences on the trials that all score."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastpsr import trials
from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import CrossFit
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.intervals import arguments, drawn_name
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.results import show_evaluation, shown_names
from fastpsr.cli.show import (
    print_line,
    print_line_once,
    print_written,
    recorded_lines,
    steps,
    warnings_as_lines,
)
from fastpsr.cli.trial_files import TrialReader
from fastpsr.counts.groups import groups_of
from fastpsr.data import Scale, SharedTargets
from fastpsr.evaluation import Evaluation
from fastpsr.metrics import EER
from fastpsr.trials import TrialSet
from fastpsr.trials.common import common_trials
from fastpsr.trials.conditions import conditions, spoofed_trials
from fastpsr.trials.evaluate import predictions_of, weights_of

_OF_FIGURES = ("predictions", "by_condition", "resampling", "spoof")


def evaluate_trials(
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, Scale],
    reader: TrialReader,
    intervals: Intervals | None,
    inputs: Sequence[Path | None],
    *,
    folds: int | None,
) -> None:
    """Read, evaluate, print and write."""
    pairs = options.differences.pairs
    together = ([path] for path in systems) if pairs is None else [[*systems]]
    with steps(_n_steps(options, reader, [*systems])) as begin:
        found: list[Evaluation] = []
        names = shown_names(systems)
        figures: dict[str, dict[str, Any]] = {of: {} for of in _OF_FIGURES}
        with recorded_lines() as lines, warnings_as_lines():
            reader.progress = begin
            for paths in together:
                sets = {str(path): reader.read(path) for path in paths}
                if pairs is not None:
                    sets, left_out = common_trials(sets)
                    if left_out:
                        print_line(left_out)
                made = next(iter(sets.values()))
                _check_folds(options, made, folds)
                own = {str(path): scales[path] for path in paths}
                begin(f"metrics of {' and '.join(sets)}")
                has_spoof = spoofed_trials(made) is not None
                metrics = options.metrics([*own.values()], has_spoof=has_spoof)
                if has_spoof:
                    _print_shared_targets(options, made, metrics)
                with reader.clock.on("metrics"):
                    evaluation = trials.evaluate(
                        sets, metrics, scores_are=own, prior=_prior(options),
                        **options.conditions.arguments, equalize=options.measures.equalized,
                        differences=pairs, group_differences=options.differences.group_pairs,
                        progress=begin, **arguments(intervals, options.drawn.of_trials(made)),
                    )  # fmt: skip
                found.append(evaluation)
                if options.outputs.reports:
                    _add_figures(figures, options, names, sets, own, evaluation)
        drawn = drawn_name(options.drawn.scheme, has_speakers=options.speakers.are_known)
        show_evaluation(
            Evaluation.joined(found), systems, scales, options, inputs, figures, lines, begin,
            clock=reader.clock, drawn=drawn,
            caution=options.drawn.caution(intervals, options.speakers),
        )  # fmt: skip
    print_written(options.written)


def _n_steps(options: EvaluationOptions, reader: TrialReader, systems: Sequence[Path]) -> int:
    """Return how many files are read and joined, tables of metrics computed, reports written."""
    has_key = reader.keys.has_key(systems if reader.has_scores else [])
    n_read = 2 * len(systems) + 1 if has_key else len(systems)
    n_tables = len(systems) if options.differences.pairs is None else 1
    return n_read + n_tables + len(options.outputs.reports)


def _prior(options: EvaluationOptions) -> float | None:
    priors = parse_priors(options.measures.priors, "llr", of_trials=True)
    return None if priors is None else priors[1]


def _check_folds(options: EvaluationOptions, made: TrialSet, folds: int | None) -> None:
    """Raise if there are too few trials, or speakers, for a given number of folds."""
    if folds is not None:
        weights = weights_of(made, options.measures.equalized)
        groups = made.speakers if made.has_speakers else None
        CrossFit(folds=folds, groups=groups).folds_of(made.predictions("raw", weights=weights))


def _print_shared_targets(
    options: EvaluationOptions, made: TrialSet, metrics: Mapping[str, Any]
) -> None:
    """Print where conditions of spoofed trials share the targets."""
    has_eer = any(isinstance(each, EER) for each in metrics.values())
    for name, each in (conditions(made, **options.conditions.arguments) or {}).items():
        if isinstance(each, SharedTargets) and options.by is None:
            both = f"{name}=nontarget and {name}=spoof"
            if has_eer:
                both = (
                    f"the EER of all trials is SASV-EER; {name}=nontarget (SV-EER) and "
                    f"{name}=spoof (SPF-EER)"
                )
            print_line_once(f"spoofed trials: {both} share all targets")
        elif isinstance(each, SharedTargets):
            columns = name if isinstance(name, str) else ",".join(name)
            print_line_once(
                f"--by {columns}: conditions share all targets, as some have spoofed trials only"
            )


def _add_figures(
    figures: Mapping[str, dict[str, Any]],
    options: EvaluationOptions,
    names: Mapping[str, str],
    sets: Mapping[str, TrialSet],
    scales: Mapping[str, Scale],
    evaluation: Evaluation,
) -> None:
    """Add the predictions of all trials, and those of each condition, whose trials count alike."""
    weights = weights_of(next(iter(sets.values())), options.measures.equalized)
    prior = _prior(options)
    for name, made in sets.items():
        alike = predictions_of(made, name, scales[name], prior=prior)
        weighted = alike
        if weights is not None:
            weighted = predictions_of(made, name, scales[name], prior=prior, weights=weights)
        figures["predictions"][names[name]] = weighted
        groups = groups_of(
            alike, conditions(made, **options.conditions.arguments), options.conditions.bins
        )
        is_spoof = spoofed_trials(made)
        if is_spoof is not None:
            figures["spoof"][names[name]] = is_spoof
        figures["by_condition"][names[name]] = {each.name: each.data for each in groups}
        if evaluation.intervals is not None:
            figures["resampling"][names[name]] = evaluation.intervals.resampling
