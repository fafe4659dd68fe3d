"""`fastpsr threshold`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.files import Json, arrays_beside, check_inputs, check_outputs, written
from fastpsr.cli.options.intervals import IntervalOptions, drawn_name
from fastpsr.cli.options.measures import parse_dcf
from fastpsr.cli.options.modes import given, refuse, refuse_for_mode
from fastpsr.cli.options.sources import table_scale, trial_scale
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_error, print_suspicions, print_written
from fastpsr.cli.wording import in_words, worded

if TYPE_CHECKING:
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.metrics.detection import DetectionCost

_CHOICES = ("--dcf", "--fa", "--miss")


@in_groups
def threshold(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="Table of scores with labels, in place of trials.")
    ] = None,
    dcf: Annotated[
        str | None,
        typer.Option(help="Target prior, P:CMISS:CFA, or a preset with one operating point."),
    ] = None,
    fa: Annotated[
        float | None,
        typer.Option(metavar="P_FA", help="Limit of the false-alarm rate: the lowest threshold."),
    ] = None,
    miss: Annotated[
        float | None,
        typer.Option(metavar="P_MISS", help="Limit of the miss rate: the highest threshold."),
    ] = None,
    options: TrainingOptions = TrainingOptions(),  # noqa: B008
    drawn: IntervalOptions = IntervalOptions(),  # noqa: B008
    to_json: Json = None,
) -> None:
    """Print the threshold for a prior and costs, or for a limit of an error rate.

    --dcf prints the threshold of calibrated LLRs, and with --scores the best one for these trials.
    Scores at or above the threshold are accepted.
    """
    from fastpsr.cli.results import write_evaluation

    metric = _metric_of(dcf, fa, miss)
    keys, systems, speakers = options.keys, options.systems, options.speakers
    of_trials = file is None
    scale: Any = (trial_scale if of_trials else table_scale)(options.scores_are)
    if file is not None and options.of_trials:
        raise ValueError(f"give trials (--key, --scores) or a table, not both: {file}")
    if of_trials and not options.of_trials:
        refuse(context, set(given(context)) - {"--dcf"}, "needs --scores FILE, or a table")
    refuse_for_mode(
        context, of_trials=of_trials, has_key=keys.has_key(systems), allowed=options.allowed,
        trials=options.trials,
    )  # fmt: skip
    intervals = drawn.parse(context, of_trials=of_trials, speakers=speakers)
    source: Any = options.source(of_trials=of_trials, drawn=drawn if intervals else None)
    inputs = [*options.files, file, *([] if of_trials else arrays_beside(drawn.column))]
    outputs = [("--json", to_json)]
    check_outputs(outputs, inputs)
    cost = metric.costs[0] if isinstance(metric, fp.MinDCF) else None
    if cost is not None:
        console.print(f"calibrated LLRs: {cost.threshold:.6g} (natural logarithm)")
    check_inputs(inputs)
    paths = keys.systems(systems) if file is None else [file]
    for path in paths:
        scores = source.of(source.reader.read(path), path) if of_trials else source.read(path)
        predictions = ranks = scores.predictions
        if of_trials or scale in ("llr", "log10-llr"):
            ranks = scores.raw()
        print_suspicions(path, predictions)
        # thresholds in the units of the file, of posteriors with the log-odds
        ranked = predictions if predictions.kind == "posteriors" else ranks
        point = metric.operating_point(ranked)
        _print_point(metric, point, scale, "trials" if of_trials else "samples")
        if caution := _too_few(metric, predictions):
            print_error(caution)
        settings = None if intervals is None else intervals.drawing(scores.resampling)
        table = _table(metric, ranks, settings, drawn, has_speakers=speakers.are_known)
        if of_trials and (caution := drawn.caution(intervals, speakers)):
            print_error(caution)
        if cost is not None and scale in ("llr", "log10-llr"):
            _print_actual(cost, predictions)
        # of what the scores are, not of their ranks
        groups = (replace(group, kind=predictions.kind) for group in table.groups)
        table = replace(table, groups=tuple(groups))
        write_evaluation(table, scale, outputs, inputs, operating_point=point.to_dict())
        print_written(written(outputs))


def _table(
    metric: "fp.MinDCF | fp.MissRate | fp.FalseAlarmRate",
    ranks: Any,
    intervals: "Intervals | None",
    drawn: IntervalOptions,
    *,
    has_speakers: bool,
) -> "fp.Evaluation":
    """Return the threshold and the metric, with intervals, which are printed, if asked for."""
    from fastpsr.evaluation import evaluate_systems
    from fastpsr.evaluation.specification import Specification

    metrics = {"threshold": fp.Threshold(metric), metric.label: metric}
    table = evaluate_systems({None: ranks}, Specification(metrics, intervals))
    table = in_words(table, drawn_name(drawn.scheme, has_speakers=has_speakers))
    if intervals is not None:
        _print_intervals(table)
    return table


def _metric_of(
    dcf: str | None, fa: float | None, miss: float | None
) -> "fp.MinDCF | fp.MissRate | fp.FalseAlarmRate":
    """Return the metric with the operating point that is asked for."""
    if sum(choice is not None for choice in (dcf, fa, miss)) != 1:
        raise ValueError(f"give one of {', '.join(_CHOICES)}")
    with worded(p_fa="--fa", p_miss="--miss"):
        if fa is not None:
            return fp.MissRate(fa)
        if miss is not None:
            return fp.FalseAlarmRate(miss)
    assert dcf is not None
    at = parse_dcf(dcf)
    if len(at.costs) != 1:
        raise ValueError(f"--dcf must have one operating point for a threshold, not those of {dcf}")
    return at


def _print_point(
    metric: "fp.MinDCF | fp.MissRate | fp.FalseAlarmRate",
    point: "fp.OperatingPoint",
    scale: str,
    rows: str,
) -> None:
    """Print a threshold for these trials, in the units of the file."""
    what, cost = f"best for these {rows}", ""
    if isinstance(metric, fp.MissRate):
        what = f"lowest with P_fa of at most {metric.p_fa:g} on these {rows}"
    elif isinstance(metric, fp.FalseAlarmRate):
        what = f"highest with P_miss of at most {metric.p_miss:g} on these {rows}"
    else:
        cost = f"normalized cost {metric.costs[0].normalized(point.p_miss, point.p_fa):.4f}, "
    accepts_nothing = (point.p_miss, point.p_fa) == (1.0, 0.0)
    shown = "none: accept nothing" if accepts_nothing else repr(point.threshold)
    if not accepts_nothing and point.log_odds not in (None, point.threshold):
        shown += f" (log-odds {point.log_odds:.6g})"
    console.print(
        f"{what}: {shown}: {cost}P_miss {point.p_miss:.4f}, P_fa {point.p_fa:.6f}; "
        f"scores taken as {scale}"
    )


def _too_few(metric: "fp.MinDCF | fp.MissRate | fp.FalseAlarmRate", ranks: "fp.Predictions") -> str:
    """Return a caution where a limit permits no error on so few trials."""
    if isinstance(metric, fp.MinDCF):
        return ""
    by_fa = isinstance(metric, fp.MissRate)
    limit = metric.p_fa if isinstance(metric, fp.MissRate) else metric.p_miss
    option, kind = ("--fa", "non-targets") if by_fa else ("--miss", "targets")
    n = int((ranks.labels == (0 if by_fa else 1)).sum())
    if not 0.0 < limit * n < 1.0:
        return ""
    return (
        f"warning: {option} {limit:g} permits less than one error of {n:,} {kind}: these trials "
        f"cannot show such a rate, and other trials may well have a higher one; 30 errors take "
        f"{30.0 / limit:,.0f} {kind}"
    )


def _print_intervals(table: "fp.Evaluation") -> None:
    """Print the threshold and the metric on which it is based, with intervals."""
    from fastpsr.evaluation.grid import with_interval

    console.print(table.settings)
    for row in table.rows:
        shown = with_interval(row.value, row.low, row.high, row.unit)
        console.print(f"{row.metric}: {' '.join(shown)}")


def _print_actual(cost: "DetectionCost", predictions: "fp.Predictions") -> None:
    """Print the cost at the threshold of calibrated LLRs on these trials."""
    import numpy as np

    is_target = predictions.labels == 1
    accepted = predictions.llrs >= cost.threshold
    weights = (
        np.asarray(predictions.weights) if predictions.weights.size else np.ones(len(accepted))
    )
    p_miss = float(np.average(~accepted[is_target], weights=weights[is_target]))
    p_fa = float(np.average(accepted[~is_target], weights=weights[~is_target]))
    console.print(
        f"at the threshold of calibrated LLRs: normalized cost "
        f"{cost.normalized(p_miss, p_fa):.4f}, P_miss {p_miss:.4f}, P_fa {p_fa:.6f}"
    )
