"""Options that several commands share."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fastpsr.calibration import PAV, DirectionPreserving, HistogramBinning, TemperatureScaling
from fastpsr.calibration.base import Calibrator
from fastpsr.costs import CostMatrix
from fastpsr.files import check_place

__all__ = [
    "CalibratorName",
    "Columns",
    "Duplicates",
    "Extra",
    "KeyFormat",
    "Labels",
    "Missing",
    "Nan",
    "ScoreFormat",
    "ScoresAre",
    "SpeakerColumns",
    "SpeakerMap",
    "SpeakerPattern",
    "Weights",
    "check_outputs",
    "make_calibrator",
    "parse_numbers",
    "read_costs",
]


class ScoresAre(StrEnum):
    """What scores mean."""

    POSTERIORS = "posteriors"
    LOG_POSTERIORS = "log-posteriors"
    LOGITS = "logits"
    LOG_LIKELIHOODS = "log-likelihoods"
    LLR = "llr"
    LOG10_LLR = "log10-llr"
    RAW = "raw"


class CalibratorName(StrEnum):
    """Calibrators by name."""

    DP = "dp"
    TEMPERATURE = "temperature"
    PAV = "pav"
    HISTOGRAM = "histogram"


Labels = Annotated[
    str | None,
    typer.Option(help="Column or array of class numbers 0 to K-1; a .npy file for .npy scores."),
]
Columns = Annotated[
    str | None,
    typer.Option(help="Columns of scores in the order of the classes, with commas between."),
]
Weights = Annotated[
    str | None, typer.Option(help="Column or array of sample weights; a .npy file for .npy scores.")
]

SpeakerMap = Annotated[
    Path | None, typer.Option("--speakers", help="File of lines `id speaker`, for both sides.")
]
SpeakerColumns = Annotated[
    str | None, typer.Option(help="Two columns of the key with the speakers: enroll,test.")
]
SpeakerPattern = Annotated[
    str | None, typer.Option(help="Regular expression whose first group is an id's speaker.")
]
KeyFormat = Annotated[str | None, typer.Option(help="Format of the key; else by its content.")]
ScoreFormat = Annotated[str | None, typer.Option(help="Format of scores; else by content.")]
Missing = Annotated[str, typer.Option(help="Trials without a score: error or drop.")]
Extra = Annotated[str, typer.Option(help="Scores of no trial: error or ignore.")]
Duplicates = Annotated[str, typer.Option(help="Trials or scores that repeat: error or first.")]
Nan = Annotated[str, typer.Option(help="Scores that are nan: error or drop.")]


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


def make_calibrator(name: CalibratorName) -> Calibrator:
    """Return a calibrator by name."""
    makers: dict[CalibratorName, Any] = {
        CalibratorName.DP: DirectionPreserving,
        CalibratorName.TEMPERATURE: TemperatureScaling,
        CalibratorName.PAV: PAV,
        CalibratorName.HISTOGRAM: HistogramBinning,
    }
    calibrator: Calibrator = makers[name]()
    return calibrator


def parse_numbers(option: str, text: str | None) -> list[float] | None:
    """Return numbers with commas between."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} must be numbers with commas between, not {text!r}") from None


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
        return CostMatrix(rows)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} must be a matrix of costs (JSON or CSV): {error}") from None
