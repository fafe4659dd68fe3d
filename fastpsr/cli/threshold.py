"""`fastpsr threshold`."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.modes import given, refuse, refuse_for_mode
from fastpsr.cli.options import (
    Columns,
    KeyOptions,
    ScoresAre,
    TrialOptions,
    check_outputs,
    parse_dcf,
    trial_scale,
)
from fastpsr.cli.show import console
from fastpsr.cli.trial_files import TrialReader, predictions_of
from fastpsr.curves import roc
from fastpsr.metrics.detection_costs import DetectionCost
from fastpsr.predictions import Predictions
from fastpsr.trials import TrialSet

__all__ = ["threshold"]


@in_groups
def threshold(
    context: typer.Context,
    keys: KeyOptions,
    trials: TrialOptions,
    dcf: Annotated[
        str, typer.Option(help="Target prior, P:CMISS:CFA, or a preset with one operating point.")
    ],
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Score file, - for standard input; without --key it must contain labels."
        ),
    ] = None,
    scores_are: Annotated[
        ScoresAre | None,
        typer.Option("--scores-are", help="Kind of the scores; by default llr."),
    ] = None,
    columns: Columns = None,
) -> None:
    """Print the threshold of calibrated LLRs for a prior and costs, and the best one for trials.

    Scores at or above the threshold are accepted.
    """
    at = parse_dcf(dcf)
    if len(at.costs) != 1:
        raise ValueError(f"--dcf must have one operating point for a threshold, not those of {dcf}")
    (cost,) = at.costs
    scale = trial_scale(scores_are)
    systems = [] if scores is None else [scores]
    if not (keys.files or systems):
        refuse(context, set(given(context)) - {"--dcf"}, "needs --scores FILE")
    refuse_for_mode(context, of_trials=True, has_key=keys.has_key(systems))
    check_outputs({}, keys.inputs(systems))
    reader = TrialReader.of(
        keys.keys, trials, columns, classes=keys.classes, has_scores=bool(systems)
    )
    console.print(f"calibrated LLRs: {cost.threshold:.6g} (natural logarithm)")
    for path in keys.systems(systems):
        made = reader.read(path)
        predictions = predictions_of(made, path, scale)
        _print_best(cost, made, scale)
        if scale in ("llr", "log10-llr"):
            _print_actual(cost, predictions)


def _print_best(cost: DetectionCost, made: TrialSet, scale: str) -> None:
    """Print the best threshold, in the units of the file."""
    curve = roc(made.predictions("raw"))
    costs = cost.normalized(curve.p_miss, curve.p_fa)
    best = int(np.argmin(costs))
    shown = "none: accept nothing" if best == costs.size - 1 else repr(float(curve.threshold[best]))
    console.print(
        f"best for these trials: {shown}: normalized cost {costs[best]:.4f}, "
        f"P_miss {curve.p_miss[best]:.4f}, P_fa {curve.p_fa[best]:.6f}; scores taken as {scale}"
    )


def _print_actual(cost: DetectionCost, predictions: Predictions) -> None:
    """Print the cost at the threshold of calibrated LLRs on these trials."""
    is_target = predictions.labels == 1
    accepted = predictions.llrs >= cost.threshold
    p_miss = float(np.mean(~accepted[is_target]))
    p_fa = float(np.mean(accepted[~is_target]))
    console.print(
        f"at the threshold of calibrated LLRs: normalized cost "
        f"{cost.normalized(p_miss, p_fa):.4f}, P_miss {p_miss:.4f}, P_fa {p_fa:.6f}"
    )
