"""`fastpsr evaluate`, and `compare`: options are checked before a file is read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.files import arrays_beside, check_files, named_files
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.sources import Scores, kinds_by_name, refuse
from fastpsr.files import LISTED, PARQUET, ending_of, is_table

#: Options that raw scores have no use for.
_OF_LOSSES = ("--calibrator", "--floor", "--folds", "--costs")
Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help=f"Table of scores with labels: {LISTED} (text also with .gz), or a folder or pattern "
        "of Parquet files; for differences several, or NAME=FILE. After --scores: more systems.",
    ),
]


@in_groups
def evaluate(
    context: typer.Context,
    *,
    files: Files = None,
    scores: Scores = None,
    options: EvaluationOptions,
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
    from fastpsr.cli.evaluate_scores import Plan, evaluate_scores

    trials, pairs = options.trials, options.differences.pairs
    named = [*(scores or []), *(files or [])]
    paths, of_trials = _paths(options, named, scores)
    trials.check(context, of_trials=of_trials, has_scores=bool(named))
    if not options.outputs.reports:
        refuse(
            context, ["--base"], "is for a report, --output FILE.html: tables have no logarithms"
        )
    if pairs == "unpaired" and (of_trials or len(paths) < 2):
        raise ValueError(
            "--differences unpaired is for tables of different samples, one per system"
        )
    intervals = options.drawn.settings(
        context, trials, of_trials=of_trials, always=pairs is not None
    )
    # without score files, those of the classes are the scores
    inputs = [*(paths if named else []), *trials.inputs_beside, options.measures.costs]
    if not of_trials:
        columns = options.drawn.columns if intervals is not None else []
        inputs += arrays_beside(options.tables.labels, options.tables.weights, *columns)
        _check_tables(options, paths)
    scales = _scales(context, options, paths, of_trials=of_trials)
    check_files(inputs, options.outputs.files)
    plan = Plan(options, paths, scales, intervals, inputs, of_trials, has_scores=bool(named))
    evaluate_scores(plan)


def _paths(
    options: EvaluationOptions, named: Sequence[Path], scores: Sequence[Path] | None
) -> tuple[Mapping[Path, str | None], bool]:
    """Return the files of systems with their names, and whether they are of trials."""
    of_trials = bool(options.trials.key) or scores is not None
    if options.differences.pairs is None:
        return (options.trials.systems(named) if of_trials else dict.fromkeys(named)), of_trials
    what = "FILE" if scores is None else "--scores"
    paths = named_files(named, what)
    of_one_table = isinstance(options.columns, Mapping)
    systems = [*options.columns] if isinstance(options.columns, Mapping) else [*map(str, paths)]
    if len(systems) < 2:
        remedy = ": give --columns for each system of one table" * (not options.trials.key)
        alone = f"{systems[0]} alone{remedy * (not of_one_table)}" if systems else "none"
        what = "--columns" if of_one_table else what
        raise ValueError(f"{what} must name two systems or more, not {alone}")
    are_tables = of_one_table or any(is_table(path) or path.is_dir() for path in paths)
    return paths, of_trials or not are_tables


def _scales(
    context: typer.Context,
    options: EvaluationOptions,
    paths: Mapping[Path, str | None],
    *,
    of_trials: bool,
) -> dict[str, str]:
    """Return the kinds of the scores of systems; raise if other options are not for these."""
    names = options.columns if isinstance(options.columns, Mapping) else paths
    scales = kinds_by_name(options.scores_are, names, of_trials=of_trials)
    pairs, are_raw = options.differences.pairs, [scale == "raw" for scale in scales.values()]
    if any(are_raw) if pairs else all(are_raw):
        refuse(context, _OF_LOSSES, "has no use for raw scores, which only rank")
    for scale in scales.values():
        parse_priors(options.measures.priors, scale, of_trials=of_trials)
    for kinds in [[*scales.values()]] if pairs else [[scale] for scale in scales.values()]:
        _check_metrics(options, kinds, of_trials=of_trials)
    return scales


def _check_metrics(options: EvaluationOptions, kinds: Sequence[str], *, of_trials: bool) -> None:
    """Raise unless there are such metrics of two classes, or of the several that a table may have.

    The error is that of two.
    """
    try:
        options.metrics(kinds, 2, of_table=not of_trials, has_spoof=of_trials)
    except ValueError as error:
        try:
            options.metrics(kinds, 2 if of_trials else 3, of_table=True, has_spoof=of_trials)
        except ValueError:
            raise error from None


def _check_tables(options: EvaluationOptions, paths: Mapping[Path, str | None]) -> None:
    """Raise unless there is one table, or pairs: of tables, or of columns of one."""
    listed = ", ".join(f"{name}={path}" if name else f"{path}" for path, name in paths.items())
    if isinstance(options.columns, Mapping):
        if [*paths.values()] != [None]:
            raise ValueError(
                "--columns of several systems need one FILE without a name, a table, not "
                f"{listed or 'none'}"
            )
    elif options.differences.pairs is not None:
        for path in (path for path in paths if not is_table(path)):
            raise ValueError(
                f"{path} must end in {LISTED} to be a table; score files of "
                "trials need --key KEY, for which one that holds labels will do"
            )
    elif len(paths) != 1:
        quote = any(ending_of(path) in PARQUET for path in paths)
        raise ValueError(
            "give one table of scores with labels, or --key KEY --scores FILE ..."
            + f", not {listed}" * bool(paths)
            + "; quote a pattern of Parquet files that are one table" * quote
        )
