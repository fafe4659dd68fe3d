"""`fastpsr threshold`."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fastpsr import trials
from fastpsr.cli.dcf import parse_dcf
from fastpsr.cli.options import KeyFormat, ScoreFormat, ScoresAre
from fastpsr.cli.show import console
from fastpsr.metrics import MinDCF, roc

__all__ = ["threshold"]


def threshold(
    dcf: Annotated[
        str, typer.Option(help="Target prior, or P:CMISS:CFA, or a preset of one point.")
    ],
    key: Annotated[Path | None, typer.Option(help="Trial key, with --scores.")] = None,
    scores: Annotated[Path | None, typer.Option(help="Score file of its trials.")] = None,
    scores_are: Annotated[
        ScoresAre, typer.Option("--scores-are", help="What the scores are.")
    ] = ScoresAre.LLR,
    key_format: KeyFormat = None,
    format: ScoreFormat = None,
) -> None:
    """Print the threshold at a prior and costs: of calibrated LLRs, and the best for given trials.

    A score at or above a threshold is accepted.
    """
    name, points = parse_dcf(dcf)
    if len(points) != 1:
        raise ValueError(
            f"--dcf must have one operating point for a threshold, not those of {name}"
        )
    if (key is None) != (scores is None):
        raise ValueError("--key and --scores belong together")
    cost = MinDCF(*points[0])
    console.print(f"calibrated LLRs: {cost.threshold:.6g} (natural logarithm)")
    if key is None or scores is None:
        return
    made = trials.read(key, scores, key_format=key_format, score_format=format)
    for line in made.taken:
        console.print(line)
    kind = {"posteriors": "posterior"}.get(scores_are.value, scores_are.value)
    curve = roc(made.predictions("raw"))
    costs = cost.normalized_cost(curve.p_miss, curve.p_fa)
    best = int(np.argmin(costs))
    shown = "none: accept nothing" if best == costs.size - 1 else repr(float(curve.threshold[best]))
    console.print(
        f"best for these trials: {shown}: normalized cost {costs[best]:.4f}, "
        f"P_miss {curve.p_miss[best]:.4f}, P_fa {curve.p_fa[best]:.6f}; scores taken as {kind}"
    )
    if kind == "llr":
        score = made.score
        p_miss = float(np.mean(score[made.y_true == 1] < cost.threshold))
        p_fa = float(np.mean(score[made.y_true == 0] >= cost.threshold))
        console.print(
            f"at the threshold of calibrated LLRs: normalized cost "
            f"{cost.normalized_cost(p_miss, p_fa):.4f}, P_miss {p_miss:.4f}, P_fa {p_fa:.6f}"
        )
