"""Options that several commands share, and what their words mean."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fastpsr import checks
from fastpsr.calibration import CALIBRATORS, CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.dcf import PRESETS
from fastpsr.costs import CostMatrix
from fastpsr.files import check_place
from fastpsr.predictions import Predictions
from fastpsr.trials import FORMATS

__all__ = [
    "CalibratorOfLoss",
    "CalibratorOfScores",
    "Columns",
    "Costs",
    "Dcf",
    "Duplicates",
    "Equalize",
    "Extra",
    "Floor",
    "Folds",
    "KeyColumns",
    "KeyFormat",
    "KeyTranspose",
    "Labels",
    "Missing",
    "Nan",
    "Priors",
    "ScoreFormat",
    "ScoresAre",
    "ScoresMean",
    "SpeakerColumns",
    "SpeakerMap",
    "SpeakerPattern",
    "ToCsv",
    "ToJson",
    "ToLatex",
    "ToMarkdown",
    "ToReport",
    "Transpose",
    "TrialScale",
    "Weights",
    "arrays_beside",
    "check_folds",
    "check_outputs",
    "make_calibrator",
    "parse_priors",
    "read_costs",
    "table_scale",
    "trial_scale",
]


class ScoresAre(StrEnum):
    """What scores mean."""

    POSTERIORS = "posteriors"
    POSTERIOR = "posterior"  # the same
    LOG_POSTERIORS = "log-posteriors"
    LOGITS = "logits"
    LOG_LIKELIHOODS = "log-likelihoods"
    LLR = "llr"
    LOG10_LLR = "log10-llr"
    RAW = "raw"


class Drop(StrEnum):
    """What to do with trials that cannot be judged."""

    ERROR = "error"
    DROP = "drop"


class Ignore(StrEnum):
    """What to do with scores of no trial."""

    ERROR = "error"
    IGNORE = "ignore"


class First(StrEnum):
    """What to do with what repeats."""

    ERROR = "error"
    FIRST = "first"


def _known_format(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise typer.BadParameter(f"it must be one of {', '.join(FORMATS)}, not {name!r}")
    return name


def _known_calibrator(name: str) -> str:
    if name not in CALIBRATORS:
        raise typer.BadParameter(f"it must be one of {', '.join(CALIBRATORS)}, not {name!r}")
    return name


_CALIBRATORS = f"[{'|'.join(CALIBRATORS)}]"  # as help shows what may be chosen
_TABLES, _TRIALS = "Tables", "Trial lists"

Labels = Annotated[
    str | None,
    typer.Option(
        help="Column or array of class numbers 0 to K-1; a .npy file for .npy scores.",
        rich_help_panel=_TABLES,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns of scores in the order of the classes, with commas between; of trials "
        "ROLE=NAME,... with roles enroll, test, label, score, side."
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help="Column or array of sample weights; a .npy file for .npy scores.",
        rich_help_panel=_TABLES,
    ),
]
ScoresMean = Annotated[
    ScoresAre | None,
    typer.Option(
        "--scores-are",
        help="What scores are; by default posteriors, of trials llr (natural logarithms).",
    ),
]
Priors = Annotated[
    str | None,
    typer.Option(
        help="Class priors that sum to 1, one for each class in order: 0.99,0.01 for "
        "non-target and target. By default the class frequencies."
    ),
]
Dcf = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Detection cost: {', '.join(PRESETS)}, a target prior, or P:CMISS:CFA; several "
        "times for several. By default 0.01 for trials, none for tables."
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(help="Cost matrix, a row per class: .json or .csv.", rich_help_panel=_TABLES),
]
CalibratorOfLoss = Annotated[
    str,
    typer.Option(
        callback=_known_calibrator,
        metavar=_CALIBRATORS,
        help="Calibrator behind the calibration loss.",
    ),
]
CalibratorOfScores = Annotated[
    str, typer.Option(callback=_known_calibrator, metavar=_CALIBRATORS, help="Which one.")
]
Floor = Annotated[
    float | None,
    typer.Option(
        help="Keep posteriors within P and 1 - P: those that pav and histogram return, those that "
        "dp and temperature are given. By default they may be 0 and 1, which makes infinite LLRs.",
        metavar="P",
    ),
]
Equalize = Annotated[
    str | None,
    typer.Option(
        help="Columns of the key whose partitions count alike in the pooled result.",
        rich_help_panel=_TRIALS,
    ),
]
ToJson = Annotated[Path | None, typer.Option("--json", help="Also write the table to this file.")]
ToCsv = Annotated[Path | None, typer.Option("--csv", help="Also write the table to this file.")]
ToMarkdown = Annotated[
    Path | None, typer.Option("--markdown", help="Also write the table to this file.")
]
ToLatex = Annotated[Path | None, typer.Option("--latex", help="Also write the table to this file.")]
ToReport = Annotated[
    Path | None,
    typer.Option("--report", help="Also write a page with tables and figures: one HTML file."),
]
Folds = Annotated[int, typer.Option(min=2, help="Folds of the cross-fitting.")]

SpeakerMap = Annotated[
    Path | None,
    typer.Option(
        "--speakers", help="File of lines `id speaker`, for both sides.", rich_help_panel=_TRIALS
    ),
]
SpeakerColumns = Annotated[
    str | None,
    typer.Option(
        help="Two columns of the key with the speakers: enroll,test.", rich_help_panel=_TRIALS
    ),
]
SpeakerPattern = Annotated[
    str | None,
    typer.Option(
        help="Regular expression found in an id; its first group, or all of it, is the speaker.",
        rich_help_panel=_TRIALS,
    ),
]
KeyFormat = Annotated[
    str | None,
    typer.Option(
        callback=_known_format,
        help=f"Format of the key, by default seen from the content: {', '.join(FORMATS)}.",
        rich_help_panel=_TRIALS,
    ),
]
ScoreFormat = Annotated[
    str | None,
    typer.Option(
        callback=_known_format, help="Format of the scores, the same.", rich_help_panel=_TRIALS
    ),
]
KeyColumns = Annotated[
    str | None, typer.Option(help="Columns of the key, ROLE=NAME,...", rich_help_panel=_TRIALS)
]
KeyTranspose = Annotated[
    bool | None,
    typer.Option(
        "--key-transpose/--no-key-transpose",
        help="Whether models are the columns of an HDF5 key that is square.",
        rich_help_panel=_TRIALS,
    ),
]
Transpose = Annotated[
    bool | None,
    typer.Option(
        "--transpose/--no-transpose",
        help="Whether models are the columns of HDF5 scores that are square.",
        rich_help_panel=_TRIALS,
    ),
]
Missing = Annotated[Drop, typer.Option(help="Trials without a score.", rich_help_panel=_TRIALS)]
Extra = Annotated[Ignore, typer.Option(help="Scores of no trial.", rich_help_panel=_TRIALS)]
Duplicates = Annotated[
    First, typer.Option(help="Trials or scores that repeat.", rich_help_panel=_TRIALS)
]
Nan = Annotated[Drop, typer.Option(help="Scores that are nan.", rich_help_panel=_TRIALS)]

TrialScale = Literal["llr", "log10-llr", "posteriors", "raw"]
_TRIAL_SCALES: dict[ScoresAre, TrialScale] = {
    ScoresAre.LLR: "llr",
    ScoresAre.LOG10_LLR: "log10-llr",
    ScoresAre.POSTERIORS: "posteriors",
    ScoresAre.POSTERIOR: "posteriors",
    ScoresAre.RAW: "raw",
}


def table_scale(scores_are: ScoresAre | None) -> str:
    """Return what the scores of a table are."""
    if scores_are in (None, ScoresAre.POSTERIOR):
        return ScoresAre.POSTERIORS.value
    return str(scores_are)


def trial_scale(scores_are: ScoresAre | None) -> TrialScale:
    """Return what the scores of trials are, as trials call it."""
    if scores_are is None:
        return "llr"
    if scores_are not in _TRIAL_SCALES:
        allowed = "llr, log10-llr, posteriors or raw"
        raise ValueError(f"--scores-are must be {allowed} for trials, not {scores_are.value}")
    return _TRIAL_SCALES[scores_are]


def parse_priors(text: str | None, scale: str, *, of_trials: bool = False) -> list[float] | None:
    """Return class priors, checked as far as the scale of the scores allows."""
    if text is None:
        return None
    if scale == "raw":
        raise ValueError("--priors mean nothing to raw scores, which only rank")
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--priors must be numbers with commas between, one for each class, not {text!r}"
        ) from None
    is_binary = of_trials or scale in ("llr", "log10-llr")
    if is_binary and len(numbers) != 2:
        raise ValueError(f"--priors must be two numbers, non-target and target, not {text!r}")
    priors: list[float] = checks.as_priors("--priors", numbers, len(numbers)).tolist()
    if is_binary and not all(priors):
        raise ValueError(f"--priors must both be above 0, not {text!r}")
    return priors


def check_outputs(outputs: dict[str, Path | None], inputs: list[Path | None]) -> None:
    """Raise, before any work, where a file to write has no place or is another file as well."""
    taken = {path.resolve(): "an input" for path in inputs if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        check_place(path)
        other = taken.setdefault(path.resolve(), option)
        if other != option:
            raise ValueError(f"{option} must not be {other} too: {path}")


def arrays_beside(*names: str | None) -> list[Path | None]:
    """Return the files among the names of labels and weights."""
    return [Path(name) for name in names if name is not None and name.endswith(".npy")]


def make_calibrator(name: str, floor: float | None) -> Calibrator:
    """Return a calibrator by name, with a floor if it is to have one."""
    kind = CALIBRATORS[name]
    return kind() if floor is None else kind(floor=floor)  # type: ignore[call-arg]


def check_folds(folds: int, predictions: Predictions, groups: Any = None) -> None:
    """Raise where samples, or their groups, are too few for so many folds."""
    CrossFit(folds=folds, groups=groups).folds_of(predictions)


def read_costs(path: Path | None) -> CostMatrix | None:
    """Read a cost matrix, a row per class, from a JSON list of lists or a CSV without header."""
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            rows = json.loads(text)
        else:
            rows = [[float(c) for c in line.split(",")] for line in text.splitlines() if line]
        _check_rows(rows)
        return CostMatrix(rows)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} must be a matrix of costs (JSON or CSV): {error}") from None


def _check_rows(rows: Any) -> None:
    """Raise where rows are not lists of numbers, or not of one length; no rows are no matrix."""
    if not isinstance(rows, list) or not any(isinstance(row, list) for row in rows):
        return
    most = max(len(row) for row in rows if isinstance(row, list))
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != most:
            said = f"has {len(row)}" if isinstance(row, list) else f"is {row!r}"
            raise ValueError(f"every row must have {most} costs, but row {k} {said}")
        for j, cost in enumerate(row):
            if not isinstance(cost, (int, float)):
                raise ValueError(f"costs must be numbers, but costs[{k}, {j}] is {cost!r}")
