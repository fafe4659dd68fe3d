"""`fastpsr demo`."""

from typing import Annotated

import typer
from rich.table import Table

import fastpsr as fp
from fastpsr.cli.show import console, steps

__all__ = ["demo"]

# the SITW rows of the paper's Table 2, as printed
_PRINTED = {
    "raw": (0.324, 0.225, 0.191, 0.189, 16.7, 0.2, 0.2),
    "cal": (0.306, 0.190, 0.153, 0.158, -0.1, 0.0, 0.0),
    "calp": (0.304, 0.188, 0.152, 0.155, -0.0, 0.0, 0.0),
}
_PERCENT = ("RCL", "ECEmc", "ECE")


def demo(
    seed: Annotated[int, typer.Option(help="Of the simulation; same seed, same table.")] = 0,
) -> None:
    """Simulate a speaker-verification test the size of SITW, evaluate it, and explain the table."""
    with steps(4) as begin:
        begin("simulating 721,788 trials")
        trials = fp.simulate.trial_list(seed=seed)
        raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)
        begin("evaluating raw posteriors")
        rows = {"raw": fp.evaluate(raw, _metrics())}
        begin("calibrating, cross-fitted")
        rows["cal"] = fp.evaluate(fp.cross_fit(fp.DirectionPreserving(), raw), _metrics())
        begin("calibrating, best monotone map")
        best = fp.cross_fit(fp.PAV(), raw, fp.TrainOnTest())
        rows["calp"] = fp.evaluate(best, _metrics())
    console.print(f"{len(raw):,} simulated trials, {int(trials.y_true.sum()):,} of them targets")
    table = Table(box=None, pad_edge=False)
    table.add_column("system")
    for name in _metrics():
        table.add_column(name, justify="right")
    for proc, evaluation in rows.items():
        values = (100 * r.value if r.metric.startswith("ECE") else r.value for r in evaluation.rows)
        table.add_row(f"simulated, {proc}", *_cells(tuple(values)))
    for proc, printed in _PRINTED.items():
        table.add_row(f"SITW, {proc}", *_cells(printed), style="dim")
    console.print(table)
    console.print(_READING.format(nce=rows["raw"]["NCE"], rcl=rows["raw"]["RCL"]))


def _metrics() -> dict[str, fp.metrics.Metric]:  # type: ignore[type-arg]
    """Return the columns of the paper's Table 2."""
    return {
        "C01": fp.BayesRisk(fp.CostMatrix.zero_one(2)),
        "Cab": fp.BayesRisk(fp.CostMatrix.zero_one(2, reject=0.1)),
        "Cimb": fp.BayesRisk(fp.CostMatrix.detection(c_miss=10, c_fa=1)),
        "NCE": fp.CrossEntropy(),
        "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit()),
        "ECEmc": fp.ECE(on="confidence"),
        "ECE": fp.ECE(),
    }


def _cells(values: tuple[float, ...]) -> list[str]:
    return [
        f"{value:.1f} %" if name in _PERCENT else f"{value:.3f}"
        for name, value in zip(_metrics(), values, strict=True)
    ]


_READING = """
raw: as the system says; cal: affine calibration, cross-fitted; calp: the best monotone map, \
trained on these very trials. C01, Cab and Cimb are costs of Bayes decisions (errors alike; with a \
reject option; a miss ten times as bad), NCE is cross-entropy: all over those of the best system \
that never listens, so that below 1 is worth something.
The raw posteriors leave {nce:.0%} of the uncertainty that the priors leave. RCL says how much \
of that calibration would save: {rcl:.0f} %. Both calibration errors (ECE) see next to nothing of \
it."""
