"""`fastpsr demo`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import fastpsr as fp
from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import check_outputs
from fastpsr.cli.show import Steps, console, off_the_bar, steps

if TYPE_CHECKING:
    from fastpsr.bootstrap import Resampling

# the SITW rows of Table 2 in Ferrer and Ramos (2024), as printed, ECE as a fraction
_PRINTED = {
    "uncalibrated": (0.324, 0.225, 0.191, 0.189, 16.7, 0.002, 0.002),
    "calibrated": (0.306, 0.190, 0.153, 0.158, -0.1, 0.0, 0.0),
    "PAV": (0.304, 0.188, 0.152, 0.155, -0.0, 0.0, 0.0),
}
_PERCENT = {"RCL": 1, "ECEmc": 100, "ECE": 100}  # factor that makes a value percent
_N_REPLICATES = 200


def demo(
    seed: Annotated[
        int, typer.Option(help="Seed of the simulation; the same seed gives the same table.")
    ] = 0,
    output: Annotated[Path | None, option("Also write an HTML report to this file.")] = None,
) -> None:
    """Simulate a speaker-verification test the size of SITW, evaluate it, and explain the table."""
    import numpy as np

    if output is not None and output.suffix != ".html":
        raise ValueError(f"--output must end in .html, as {output} does not")
    check_outputs([("--output", output)], [])
    with steps(6 + (output is not None)) as begin:
        begin("simulating 721,788 trials")
        trials = fp.simulate.trial_list(seed=seed)
        raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)
        begin("evaluating")
        rows = {"uncalibrated": fp.evaluate(raw, _metrics())}
        begin("calibrating, cross-fitted")
        cal = fp.cross_fit(fp.DirectionPreserving(), raw)
        rows["calibrated"] = fp.evaluate(cal, _metrics())
        begin("calibrating, best monotone map")
        best = fp.cross_fit(fp.PAV(), raw, fp.TrainOnTest())
        rows["PAV"] = fp.evaluate(best, _metrics())
        speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
        by_trial = _with_intervals(raw, fp.IID(), seed, "drawing trials", begin)
        by_speaker = _with_intervals(raw, speakers, seed, "drawing speakers", begin)
        n_speakers = np.unique([trials.enroll_speaker, trials.test_speaker]).size
        simulated = f"{len(raw):,} simulated trials, {int(trials.y_true.sum()):,} of them targets"
        detection = fp.evaluate(
            raw, {"EER": fp.EER(), "minDCF": fp.MinDCF(0.01), "Cllr": fp.Cllr()}
        )
        reading = _READING.format_map(
            {row.metric: row.value for row in (*rows["uncalibrated"].rows, *detection.rows)}
            | {"targets": trials.y_true.mean()}
        )
        said = _SPEAKERS.format(n_replicates=_N_REPLICATES, n_speakers=n_speakers)
        with off_the_bar():
            console.print(simulated, soft_wrap=False)
            _print_systems(rows)
            console.print(reading, soft_wrap=False)
            console.print()
            _print_intervals(by_trial, by_speaker)
            console.print(said, soft_wrap=False)
        if output is not None:
            _write_report(
                output,
                rows,
                by_speaker,
                {"uncalibrated": raw, "calibrated": cal},
                f"{simulated}, of {n_speakers} speakers; seed {seed}",
                reading,
                begin,
            )


def _with_intervals(
    raw: "fp.Predictions", resampling: "Resampling", seed: int, drawing: str, begin: Steps
) -> "fp.Evaluation":
    """Evaluate with intervals, as a step of the command."""
    begin(drawing)
    return fp.evaluate(
        raw,
        {name: metric for name, metric in _metrics().items() if "ECE" not in name},
        n_resamples=_N_REPLICATES,
        resampling=resampling,
        seed=seed,
        progress=lambda _, *amount: begin(drawing, *amount),
    )


def _write_report(
    path: Path,
    evaluations: "dict[str, fp.Evaluation]",
    by_speaker: "fp.Evaluation",
    predictions: "dict[str, fp.Predictions]",
    simulated: str,
    reading: str,
    begin: Steps,
) -> None:
    """Write what was printed as an HTML report, with intervals by speaker for the first system."""
    from fastpsr.cli.results import write_report

    assert by_speaker.intervals is not None
    name = next(iter(predictions))
    intervals = {(name, row.metric): row for row in by_speaker.renamed({"": name}).rows}
    joined = fp.Evaluation.joined([each.renamed({"": name}) for name, each in evaluations.items()])
    drawn = replace(by_speaker.intervals, drawn="speaker")  # in the commands' words
    evaluation = replace(joined, intervals=drawn).with_rows(
        lambda row: intervals.get((row.system or "", row.metric), row)
    )
    write_report(
        path, evaluation, begin, predictions=predictions,
        title="A simulated speaker-verification test", read=[simulated],
        text=reading.strip().split("\n"),
    )  # fmt: skip


def _print_systems(rows: "dict[str, fp.Evaluation]") -> None:
    """Print Table 2 of Ferrer and Ramos (2024) for the simulated trials, and the original."""
    table = Table(box=None, pad_edge=False)
    table.add_column("system")
    for name in _metrics():
        table.add_column(name, justify="right")
    for proc, evaluation in rows.items():
        table.add_row(f"simulated, {proc}", *(_cell(r.metric, r.value) for r in evaluation.rows))
    for proc, printed in _PRINTED.items():
        table.add_row(f"SITW, {proc}", *map(_cell, _metrics(), printed), style="dim")
    console.print(table, soft_wrap=False)


def _print_intervals(by_trial: "fp.Evaluation", by_speaker: "fp.Evaluation") -> None:
    """Print the intervals of both resampling schemes in adjacent columns."""
    table = Table(box=None, pad_edge=False)
    table.add_column("95 % intervals, uncalibrated")
    for name in ("value", "drawing trials", "drawing speakers"):
        table.add_column(name, justify="right")
    for one, other in zip(by_trial.rows, by_speaker.rows, strict=True):
        ends = [
            " to ".join(_cell(row.metric, end) for end in (row.low, row.high) if end is not None)
            for row in (one, other)
        ]
        table.add_row(one.metric, _cell(one.metric, one.value), *ends)
    console.print(table, soft_wrap=False)


def _metrics() -> "dict[str, fp.metrics.Metric]":  # type: ignore[type-arg]
    """Return the columns of Table 2 in Ferrer and Ramos (2024)."""
    return {
        "C01": fp.BayesRisk(fp.CostMatrix.zero_one(2)),
        "Cab": fp.BayesRisk(fp.CostMatrix.zero_one(2, reject=0.1)),
        "Cimb": fp.BayesRisk(fp.CostMatrix.detection(c_miss=10, c_fa=1)),
        "NCE": fp.CrossEntropy(),
        "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit()),
        "ECEmc": fp.ECE(on="confidence"),
        "ECE": fp.ECE(),
    }


def _cell(metric: str, value: float) -> str:
    return f"{_PERCENT[metric] * value:.1f} %" if metric in _PERCENT else f"{value:.3f}"


_READING = """
uncalibrated: the LLRs as the system gives them; calibrated: affine calibration, cross-fitted; \
PAV: the best monotone map, trained on these very trials. C01, Cab and Cimb are costs of Bayes \
decisions (errors alike; with a reject option; a miss ten times as bad), and NCE is cross-entropy, \
all divided by those of a system that returns the priors: 1 is useless.
In other terms, EER is {EER:.1%}, minDCF(0.01) {minDCF:.3f} and Cllr {Cllr:.3f}, uncalibrated.
NCE is {NCE:.3f}: cross-entropy is {NCE:.0%} of that of a system that returns the priors. RCL is \
{RCL:.1f}%: affine calibration would lower it by that share. A value near or below 0 means that \
calibration trained on other trials does not help. The calibration errors, ECE and ECEmc, hardly \
show it: with {targets:.1%} of targets, nearly all trials fall into one bin."""

_SPEAKERS = """
An interval should contain the true value in 95 % of repeated tests; for each metric it is by the \
method that came closest to that in a study, here with {n_replicates} replicates. The trials share \
{n_speakers} speakers. Drawing trials takes each for independent of all others. Drawing speakers \
keeps the trials of a speaker together, and has the uncertainty of a test with other speakers."""
