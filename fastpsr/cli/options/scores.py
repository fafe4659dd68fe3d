"""What scores are."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from fastpsr.data import Scale, ScoreKind


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


#: Kinds that --floor applies to.
OF_POSTERIORS = ("posteriors", "log-posteriors")
_KINDS = ", ".join(ScoresAre)
#: Other words for a kind.
_SAME = {ScoresAre.POSTERIOR: ScoresAre.POSTERIORS, ScoresAre.COSINE: ScoresAre.RAW}
Scores = Annotated[
    list[Path] | None,
    typer.Option(
        help="Score file of a system, or NAME=FILE; without --key it must contain labels. Text "
        "may come from a pipe, - for standard input."
    ),
]
KindsOfScores = Annotated[
    list[ScoresAre] | None,
    typer.Option(
        "--scores-are",
        metavar="KIND",
        help=f"What scores are: {_KINDS}. By default posteriors, of trials llr (natural "
        "logarithms). Several times: of each system in turn.",
    ),
]
ScoresMean = Annotated[
    ScoresAre | None,
    typer.Option(
        "--scores-are",
        metavar="KIND",
        help=f"What scores are: {_KINDS}. By default posteriors, for trials llr (natural "
        "logarithms).",
    ),
]


def table_scale(scores_are: ScoresAre | None) -> str:
    """Return the kind of the scores of a table."""
    given = scores_are or ScoresAre.POSTERIORS
    return _SAME.get(given, given).value


def trial_scale(scores_are: ScoresAre | None) -> "Scale":
    """Return the kind of the scores of trials."""
    from fastpsr.data import KINDS_OF_SCALES

    given = scores_are or ScoresAre.LLR
    scale = _SAME.get(given, given).value
    if scale not in KINDS_OF_SCALES:
        allowed = "llr, log10-llr, posteriors or raw"
        raise ValueError(f"--scores-are must be {allowed} for trials, not {scale}")
    return cast("Scale", scale)


def kind_of(scale: str) -> "ScoreKind":
    """Return what the library calls a kind of scores."""
    from fastpsr.data import KINDS_OF_SCALES

    return KINDS_OF_SCALES.get(scale) or cast("ScoreKind", scale)


def kinds_of(scores_are: list[ScoresAre] | None, n_systems: int) -> list[ScoresAre | None]:
    """Return the kind of the scores of each system, which is given once or for each."""
    found: list[ScoresAre | None] = [_SAME.get(each, each) for each in scores_are or []] or [None]
    if len(found) not in (1, n_systems):
        raise ValueError(
            f"--scores-are must be given once, or for each of {n_systems} systems, not "
            f"{len(found)} times"
        )
    return found * n_systems if len(found) == 1 else found
