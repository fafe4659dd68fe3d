"""What scores are."""

from enum import StrEnum
from typing import Annotated, Literal

import typer

__all__ = [
    "KindsOfScores",
    "ScoresAre",
    "ScoresMean",
    "TrialScale",
    "kinds_of",
    "table_scale",
    "trial_scale",
]


class ScoresAre(StrEnum):
    """Kinds of scores."""

    POSTERIORS = "posteriors"
    POSTERIOR = "posterior"  # the same
    LOG_POSTERIORS = "log-posteriors"
    LOGITS = "logits"
    LOG_LIKELIHOODS = "log-likelihoods"
    LLR = "llr"
    LOG10_LLR = "log10-llr"
    RAW = "raw"
    COSINE = "cosine"  # raw scores


TrialScale = Literal["llr", "log10-llr", "posteriors", "raw"]
_TRIAL_SCALES: dict[ScoresAre, TrialScale] = {
    ScoresAre.LLR: "llr",
    ScoresAre.LOG10_LLR: "log10-llr",
    ScoresAre.POSTERIORS: "posteriors",
    ScoresAre.POSTERIOR: "posteriors",
    ScoresAre.RAW: "raw",
    ScoresAre.COSINE: "raw",
}
KindsOfScores = Annotated[
    list[ScoresAre] | None,
    typer.Option(
        "--scores-are",
        help="What scores are; by default posteriors, of trials llr (natural logarithms). "
        "Several times: of each system in turn.",
    ),
]
ScoresMean = Annotated[
    ScoresAre | None,
    typer.Option(
        "--scores-are",
        help="Kind of the scores; by default posteriors, for trials llr (natural logarithms).",
    ),
]


def table_scale(scores_are: ScoresAre | None) -> str:
    """Return the kind of the scores of a table."""
    if scores_are in (None, ScoresAre.POSTERIOR):
        return ScoresAre.POSTERIORS.value
    return str(ScoresAre.RAW if scores_are is ScoresAre.COSINE else scores_are)


def trial_scale(scores_are: ScoresAre | None) -> TrialScale:
    """Return the kind of the scores of trials."""
    if scores_are is None:
        return "llr"
    if scores_are not in _TRIAL_SCALES:
        allowed = "llr, log10-llr, posteriors or raw"
        raise ValueError(f"--scores-are must be {allowed} for trials, not {scores_are.value}")
    return _TRIAL_SCALES[scores_are]


def kinds_of(scores_are: list[ScoresAre] | None, n_systems: int) -> list[ScoresAre | None]:
    """Return the kind of the scores of each system, which is given once or for each."""
    given: list[ScoresAre | None] = [*scores_are] if scores_are else [None]
    found: list[ScoresAre | None] = [
        ScoresAre.RAW if each is ScoresAre.COSINE else each for each in given
    ]
    if len(found) not in (1, n_systems):
        raise ValueError(
            f"--scores-are must be given once, or for each of {n_systems} systems, not "
            f"{len(found)} times"
        )
    return found * n_systems if len(found) == 1 else found
