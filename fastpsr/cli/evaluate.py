"""`fastpsr evaluate`, and `compare`: options are checked before a file is read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.files import arrays_beside, check_inputs, check_outputs, named_files
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.modes import FOR_RCL, given, refuse, refuse_for_mode
from fastpsr.cli.options.sources import Scores, ScoresAre, kinds_of, table_scale, trial_scale

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="A table of scores with labels: .npz, .npy, .csv or .parquet, a folder of Parquet "
        "files, or a pattern of Parquet files in quotes; for differences of systems several, or "
        "NAME=FILE. After --scores: score files of further systems.",
    ),
]


@in_groups
def evaluate(
    context: typer.Context,
    files: Files = None,
    scores: Scores = None,
    options: EvaluationOptions = EvaluationOptions(),  # noqa: B008
) -> None:
    """Evaluate a table of scores with labels, or systems on a trial list (--key and --scores).

    With --differences, all systems are evaluated on the same bootstrap draws.
    """
    evaluate_systems(context, options, files, scores)


def evaluate_systems(
    context: typer.Context,
    options: EvaluationOptions,
    files: Sequence[Path] | None,
    scores: Sequence[Path] | None,
) -> None:
    """Check options, and evaluate or compare the systems that files and --scores name."""
    keys, named = options.keys, [*(scores or []), *(files or [])]
    paths, of_trials = _paths(options, named, scores)
    has_key = keys.has_key([*paths] if named else [])
    refuse_for_mode(
        context, of_trials=of_trials, has_key=has_key, allowed=options.allowed,
        trials=options.trials,
    )  # fmt: skip
    intervals = options.drawn.parse(
        context, of_trials=of_trials, speakers=options.speakers,
        always=options.differences.pairs is not None,
    )  # fmt: skip
    # without score files, those of the classes are the scores
    inputs = [*(paths if named else []), *keys.files, options.measures.costs, options.speakers.file]
    if not of_trials:
        clusters = options.drawn.column if intervals is not None else None
        inputs += arrays_beside(options.tables.labels, options.tables.weights, clusters)
    check_outputs(options.outputs.files, inputs)
    if not of_trials:
        _check_tables(options, paths)
    scales = _scales(context, options, paths, of_trials=of_trials)
    check_inputs(inputs)
    from fastpsr.cli.evaluate_scores import Plan, evaluate_scores

    folds = options.loss.folds if "--folds" in given(context) else None
    plan = Plan(options, paths, scales, intervals, folds, inputs, None)
    if not of_trials:
        evaluate_scores(plan, None)
        return
    from fastpsr.cli.larger_than_memory import joined_in_parts
    from fastpsr.cli.trial_files import TrialReader

    reader = TrialReader(
        keys, options.trials, options.allowed, options.speakers, has_scores=bool(named)
    )
    with joined_in_parts(context, options, paths, has_key=has_key) as joined:
        evaluate_scores(replace(plan, reader=reader), joined)


def _paths(
    options: EvaluationOptions, named: Sequence[Path], scores: Sequence[Path] | None
) -> tuple[Mapping[Path, str | None], bool]:
    """Return the files of systems with their names, and whether they are of trials."""
    from fastpsr.tables import is_table

    keys = options.keys
    of_trials = bool(keys.files) or scores is not None
    if options.differences.pairs is None:
        return (keys.systems(named) if of_trials else dict.fromkeys(named)), of_trials
    what = "FILE" if scores is None else "--scores"
    paths = named_files(named, what)
    if len(paths) < 2 and options.system_columns is None:
        remedy = "" if keys.files else ": give --columns for each system of one table"
        alone = f"{named[0]} alone{remedy}" if named else "none"
        raise ValueError(f"{what} must name two systems or more, not {alone}")
    are_tables = any(is_table(path) or path.is_dir() for path in paths)
    return paths, of_trials or (bool(paths) and not are_tables)


def _scales(
    context: typer.Context,
    options: EvaluationOptions,
    paths: Mapping[Path, str | None],
    *,
    of_trials: bool,
) -> dict[str, str]:
    """Return the kinds of the scores of systems; raise if other options are not for these."""
    names, pairs = options.system_columns or paths, options.differences.pairs
    kinds = kinds_of(options.scores_are, len(names))
    are_raw = [kind is ScoresAre.RAW for kind in kinds]
    if any(are_raw) if pairs else all(are_raw):
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    scale_of = trial_scale if of_trials else table_scale
    scales = {str(name): scale_of(kind) for name, kind in zip(names, kinds, strict=True)}
    _ = options.conditions  # which may be refused
    for scale in scales.values():
        parse_priors(options.measures.priors, scale, of_trials=of_trials)
    for together in [[*scales.values()]] if pairs else [[scale] for scale in scales.values()]:
        # raises before a file is read
        options.metrics(together, of_table=not of_trials, has_spoof=of_trials)
    return scales


def _check_tables(options: EvaluationOptions, systems: Mapping[Path, str | None]) -> None:
    """Raise unless there is one table, or pairs: of tables, or of columns of one."""
    from fastpsr.tables import is_table

    pairs = options.differences.pairs
    if (columns := options.system_columns) is not None:
        if [*systems.values()] != [None]:
            listed = ", ".join(
                f"{name}={path}" if name else f"{path}" for path, name in systems.items()
            )
            raise ValueError(
                "--columns of several systems need one FILE without a name, a table, not "
                f"{listed or 'none'}"
            )
        if len(columns) == 1 and pairs is not None:
            raise ValueError(
                f"--columns must name two systems or more, not {', '.join(columns)} alone"
            )
    elif pairs is not None:
        for path in systems:
            if not is_table(path):
                raise ValueError(
                    f"{path} must end in .npz, .npy, .csv or .parquet to be a table; score files "
                    "of trials need --key KEY, for which one that holds labels will do"
                )
    elif len(systems) != 1:
        listed = ", ".join(str(path) for path in systems)
        quote = any(path.suffix == ".parquet" for path in systems)
        raise ValueError(
            "give one table of scores with labels, or --key KEY --scores FILE ..."
            + f", not {listed}" * bool(systems)
            + "; quote a pattern of Parquet files that are one table" * quote
        )
