"""The body of `evaluate` and `compare`: what the options say is checked before a file is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from fastpsr.cli.modes import FOR_RCL, given, refuse, refuse_for_mode
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.files import arrays_beside, check_inputs, check_outputs
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.scores import ScoresAre, kinds_of, table_scale, trial_scale
from fastpsr.cli.reports import require_report
from fastpsr.evaluation import Pairs
from fastpsr.tables import is_table


def evaluate_systems(
    context: typer.Context,
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    *,
    of_trials: bool,
    has_scores: bool = True,
    pairs: Pairs | None = None,
) -> None:
    """Evaluate systems by path, some with names; `pairs` of them are compared.

    Without `has_scores`, the files of the classes are the scores.
    """
    tables, keys = options.tables, options.keys
    has_key = keys.has_key([*systems] if has_scores else [])
    refuse_for_mode(context, of_trials=of_trials, has_key=has_key)
    intervals = options.drawn.parse(context, of_trials=of_trials, speakers=options.speakers)
    inputs = [*systems, *keys.files, options.measures.costs, options.speakers.speakers]
    if not of_trials:
        clusters = options.drawn.column if intervals is not None else None
        inputs += arrays_beside(tables.labels, tables.weights, clusters)
    inputs = [path for k, path in enumerate(inputs) if has_scores or path not in inputs[:k]]
    check_outputs({**options.outputs.files, "--report": options.to_report}, inputs)
    require_report(options.to_report)
    if not of_trials:
        _check_tables(options, systems, pairs)
    names = options.score_columns or systems
    kinds = kinds_of(options.scores_are, len(names))
    are_raw = [kind is ScoresAre.RAW for kind in kinds]
    if any(are_raw) if pairs else all(are_raw):
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    folds = options.loss.folds if "--folds" in given(context) else None
    scale_of = trial_scale if of_trials else table_scale
    scales: dict[Any, Any] = {name: scale_of(kind) for name, kind in zip(names, kinds, strict=True)}
    _ = options.conditions  # which may be refused
    for scale in scales.values():
        parse_priors(options.measures.priors, scale, of_trials=of_trials)
    for some in [[*scales.values()]] if pairs else [[scale] for scale in scales.values()]:
        # raises before a file is read
        options.metrics(some, of_table=not of_trials, has_spoof=of_trials)
    if not of_trials:
        from fastpsr.cli.evaluate_tables import evaluate_tables

        check_inputs(inputs)
        evaluate_tables(options, systems, scales, intervals, inputs, pairs=pairs, folds=folds)
        return
    from fastpsr.cli.evaluate_trials import evaluate_trials
    from fastpsr.cli.larger_than_memory import evaluated_in_parts
    from fastpsr.cli.trial_files import TrialReader

    reader = TrialReader(
        keys, options.trials, options.columns, options.speakers, has_scores=has_scores
    )
    check_inputs(inputs)
    if has_key and evaluated_in_parts(context, options, systems, scales):
        return
    evaluate_trials(options, systems, scales, reader, intervals, inputs, pairs=pairs, folds=folds)


def _check_tables(
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    pairs: Pairs | None,
) -> None:
    """Raise unless there is one table, or pairs: of tables, or of columns of one."""
    if (columns := options.score_columns) is not None:
        if options.columns is not None:
            raise ValueError("--score and --columns both name columns of scores: give one of them")
        if [*systems.values()] != [None]:
            listed = ", ".join(
                f"{name}={path}" if name else f"{path}" for path, name in systems.items()
            )
            raise ValueError(
                f"--score needs one FILE without a name, a table, not {listed or 'none'}"
            )
        if len(columns) == 1 and pairs is not None:
            raise ValueError(
                f"--score must name two systems or more, not {', '.join(columns)} alone"
            )
    elif pairs is not None:
        for path in systems:
            if not is_table(path):
                raise ValueError(
                    f"{path} must end in .npz, .npy, .csv or .parquet to be a table; score files "
                    "of trials need --key KEY, for which one that holds labels will do"
                )
    elif len(systems) != 1:
        listed = ", ".join(str(path) for path in systems) or "no file"
        quote = any(path.suffix == ".parquet" for path in systems)
        raise ValueError(
            f"give one table of scores with labels, or --key KEY --scores FILE ..., not {listed}"
            + "; quote a pattern of Parquet files that are one table" * quote
        )
