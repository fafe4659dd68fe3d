"""`fastpsr threshold`."""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.declaration import declared
from fastpsr.cli.options.files import Base, Json, LogBase, check_files
from fastpsr.cli.options.intervals import IntervalOptions, drawn_name
from fastpsr.cli.options.measures import parse_dcf
from fastpsr.cli.options.sources import given, refuse
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_error, print_written
from fastpsr.cli.wording import in_words
from fastpsr.exports import PRESETS

if TYPE_CHECKING:
    from fastpsr.metrics.detection import DetectionCost

    Metric = fp.EER | fp.MinDCF | fp.MissRate | fp.FalseAlarmRate | fp.RecallAtPrecision


_WORDS = "eer, fa=P, miss=P, precision=P or dcf=P[:CMISS:CFA]"


def _parse_point(text: str | None) -> "Metric":
    """Return the metric with the operating point of --at."""
    if text is None:
        raise ValueError(f"give --at {_WORDS}")
    word, _, value = text.partition("=")
    if word == "dcf":
        return _cost_of(value)
    if text == "eer":
        return fp.EER()
    limited: dict[str, Any] = {
        "fa": fp.MissRate, "miss": fp.FalseAlarmRate, "precision": fp.RecallAtPrecision,
    }  # fmt: skip
    if word not in limited or not value:
        raise ValueError(f"--at must be {_WORDS}, not {text!r}")
    try:
        metric: Metric = limited[word](float(value))
    except ValueError as error:
        rule = getattr(error, "rule", f"must be a number, not {value!r}")
        raise ValueError(f"--at {word} {rule}") from None
    return metric


def _cost_of(text: str) -> "fp.MinDCF":
    """Return the detection cost of an operating point, of a preset or numbers."""
    with suppress(ValueError):
        cost = parse_dcf(text)
        if isinstance(cost, fp.MinDCF) and len(cost.costs) == 1:
            return cost
    presets = [name for name in PRESETS if len(fp.MinDCF(name).costs) == 1]
    raise ValueError(
        "--at dcf must have one operating point: a target prior, or P:CMISS:CFA with positive "
        f"costs, or {', '.join(presets)}, not {text!r}"
    )


@in_groups
def threshold(
    context: typer.Context,
    *,
    at: Annotated[
        str | None,
        declared(
            "Operating point: equal error rates (eer); the lowest threshold of this false-alarm "
            "rate (fa=P) or precision (precision=P); the highest of this miss rate (miss=P); or "
            "the best for a prior and costs, or a preset (dcf=P:CMISS:CFA).",
            metavar=f"[{_WORDS.replace(', ', '|').replace(' or ', '|')}]",
            arguments={"p_fa": "--at fa={}", "p_miss": "--at miss={}"},
        ),
    ] = None,
    options: TrainingOptions,
    drawn: IntervalOptions,
    to_json: Json = None,
    base: LogBase = Base.E,
) -> None:
    """Print the threshold for a prior and costs, or for another operating point.

    --at dcf=P prints the threshold of calibrated LLRs, and with --scores the best one for these
    trials. A threshold that is found on the trials it is evaluated on is optimistic.
    Scores at or above the threshold are accepted.
    """
    from fastpsr.cli.results import write_evaluation
    from fastpsr.evaluation import evaluate_systems
    from fastpsr.evaluation.specification import Specification

    metric = _parse_point(at)
    has_scores = options.file is not None or options.of_trials
    if has_scores:
        options = options.located(context)
    else:
        if not isinstance(metric, fp.MinDCF):
            raise ValueError(f"--at {metric.label} needs --scores FILE, or a table")
        refuse(context, {*given(context)} - {"--at", "--base"}, "needs --scores FILE, or a table")
    intervals = drawn.settings(context, options.trials, of_trials=options.of_trials)
    used, outputs = drawn if intervals else None, [("--json", to_json)]
    inputs = options.inputs(used) if has_scores else []
    check_files(inputs, outputs)
    if isinstance(metric, fp.MinDCF):
        at_costs = metric.costs[0].threshold / base.unit
        console.print(f"calibrated LLRs: {at_costs:.6g} ({base.logarithm})")
    if not has_scores:
        return
    source = options.source(of_trials=options.of_trials, drawn=used)
    scores, scale = source.read(options.path, says_kind=False), source.scale
    predictions = ranks = scores.predictions
    if scale in ("llr", "log10-llr"):
        ranks = scores.raw()  # in the unit of the file
    point = metric.operating_point(ranks)
    rows = "trials" if options.of_trials else "samples"
    console.print(f"{_described(metric, point, rows, base)}; scores taken as {scale}")
    if caution := _too_few(metric, predictions):
        print_error(caution)
    settings = None if intervals is None else intervals.drawing(scores.resampling)
    metrics = {"threshold": fp.Threshold(metric), metric.label: metric}
    table = evaluate_systems({None: ranks}, Specification(metrics, settings))
    group = replace(table.all_samples, kind=predictions.kind)  # not of ranks
    table = in_words(replace(table, groups=(group,)), drawn_name(scores.resampling))
    if intervals is not None:
        console.print(table.to_text(console.width), soft_wrap=True)
    if options.of_trials:
        drawn.print_caution(intervals, options.trials)
    if isinstance(metric, fp.MinDCF) and scale in ("llr", "log10-llr"):
        _print_actual(metric.costs[0], predictions)
    write_evaluation(table, scale, outputs, inputs, operating_point=point.to_dict())
    print_written(outputs)


def _described(metric: "Metric", point: "fp.OperatingPoint", rows: str, base: Base) -> str:
    """Return a threshold for these trials, in the units of the file, with its error rates."""
    what, cost = "at the equal error rate of", ""
    if isinstance(metric, fp.MinDCF):
        what = "best for"
        cost = f"normalized cost {metric.costs[0].normalized(point.p_miss, point.p_fa):.4f}, "
    elif isinstance(metric, fp.MissRate):
        what = f"lowest with P_fa of at most {metric.p_fa:g} on"
    elif isinstance(metric, fp.FalseAlarmRate):
        what = f"highest with P_miss of at most {metric.p_miss:g} on"
    elif isinstance(metric, fp.RecallAtPrecision):
        what = f"lowest with a precision of at least {metric.precision:g} on"
    text = repr(point.threshold)
    if (point.p_miss, point.p_fa) == (1.0, 0.0):
        text = "none: accept nothing"
    elif point.log_odds not in (None, point.threshold):
        said = f", {base.logarithm}" * (base is not Base.E)
        text += f" (log-odds {point.log_odds / base.unit:.6g}{said})"
    rates = f"P_miss {point.p_miss:.4f}, P_fa {point.p_fa:.6f}"
    return f"{what} these {rows}: {text}: {cost}{rates}"


def _too_few(metric: "Metric", predictions: "fp.Predictions") -> str:
    """Return a caution where a limit permits no error on so few trials."""
    if not isinstance(metric, fp.MissRate | fp.FalseAlarmRate):
        return ""
    of_fa = isinstance(metric, fp.MissRate)
    word, kind, label = ("fa", "non-targets", 0) if of_fa else ("miss", "targets", 1)
    n, limit = int((predictions.labels == label).sum()), metric.limit
    if not 0.0 < limit * n < 1.0:
        return ""
    return (
        f"warning: --at {word}={limit:g} permits less than one error of {n:,} {kind}: these trials "
        f"cannot show such a rate, and other trials may well have a higher one; 30 errors take "
        f"{30.0 / limit:,.0f} {kind}"
    )


def _print_actual(cost: "DetectionCost", predictions: "fp.Predictions") -> None:
    """Print the cost at the threshold of calibrated LLRs on these trials."""
    import numpy as np

    accepted, is_target = predictions.llrs >= cost.threshold, predictions.labels == 1
    weights = predictions.weights if predictions.weights.size else np.ones(len(predictions))
    p_miss = float(np.average(~accepted[is_target], weights=weights[is_target]))
    p_fa = float(np.average(accepted[~is_target], weights=weights[~is_target]))
    console.print(
        f"at the threshold of calibrated LLRs: normalized cost "
        f"{cost.normalized(p_miss, p_fa):.4f}, P_miss {p_miss:.4f}, P_fa {p_fa:.6f}"
    )
