"""Settings of the metrics, and of calibrators."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.caching import cached_property
from fastpsr.cli.options.declaration import METRICS, TABLES, TRIALS, option
from fastpsr.cli.options.sources import OF_POSTERIORS
from fastpsr.cli.wording import in_options
from fastpsr.errors import ArgumentError
from fastpsr.exports import CALIBRATORS, PRESETS

if TYPE_CHECKING:
    from fastpsr.calibration.base import Calibrator
    from fastpsr.data import Kind

_OF_POINT = re.compile(r"not '(?:min|act)DCF\(([^()]+)\)'", re.IGNORECASE)
Metrics = Mapping[str, Any]
Costs = Annotated[
    list[str] | None,
    option(
        f"Detection cost: {', '.join(PRESETS)}, a target prior, or P:CMISS:CFA; of lists with "
        "spoofed trials asvspoof5 (there the default), or PNON:PSPOOF:CMISS:CFA:CFASPOOF. May be "
        "repeated. By default 0.01 for LLRs and raw scores, none for posteriors.",
        "--dcf",
    ),
]
Names = Annotated[
    str | None,
    option("Metrics of the table by name, with commas between, in this order.", "--metrics"),
]


Folds = Annotated[int, option("Number of folds of the cross-fitting.", panel=METRICS, min=2)]


class Equal(StrEnum):
    """Definitions of the EER."""

    HULL = "hull"
    CROSSING = "crossing"
    NEAREST = "nearest"


@dataclass(frozen=True)
class MeasureOptions:
    """Settings of the metrics."""

    priors: Annotated[
        str | None,
        option(
            "Class priors of the evaluation, which sum to 1, in the order of the classes: "
            "0.99,0.01 for non-target and target. By default the class frequencies.",
            panel=METRICS,
            arguments={"prior": "--priors {}"},
        ),
    ] = None
    dcf: Costs = None
    eer: Annotated[
        Equal | None,
        option(
            "Definition of the EER: on the convex hull of the ROC (the default), or on its "
            "steps, by interpolation or at the nearest threshold.",
            panel=METRICS,
        ),
    ] = None
    metrics: Names = None
    costs: Annotated[
        Path | None,
        option(
            "Cost matrix with a row per true class: .json or .csv.",
            panel=TABLES,
            arguments={"costs": "costs"},  # in messages they are numbers of the file
        ),
    ] = None
    equalize: Annotated[
        str | None,
        option(
            "Columns of the key whose partitions get equal weight in the pooled result.",
            panel=TRIALS,
        ),
    ] = None

    @property
    def detection(self) -> "list[fp.MinDCF] | None":
        """The requested detection costs, None for those of the kind of the scores."""
        return [parse_dcf(text) for text in self.dcf or [] if not _is_of_spoofing(text)] or None

    def spoofing(self, *, has_spoof: bool) -> "list[fp.MinADCF]":
        """Return the requested detection costs of a list with spoofed trials, or without."""
        texts = [text for text in self.dcf or [] if _is_of_spoofing(text)]
        if has_spoof:
            return [parse_adcf(text) for text in texts or [_ASVSPOOF]]
        if texts:
            raise ValueError(
                f"--dcf {texts[0]} is for lists with labels target, nontarget and spoof; this one "
                "has no spoofed trials"
            )
        return []

    @property
    def equalized(self) -> list[str] | None:
        """The columns of --equalize."""
        return None if self.equalize is None else self.equalize.split(",")

    @cached_property
    def cost_matrix(self) -> "fp.CostMatrix | None":
        """The costs of --costs."""
        return read_costs(self.costs)

    @property
    def equal_rates(self) -> "fp.EER":
        """The EER by its definition."""
        return fp.EER() if self.eer is None else fp.EER(self.eer.value)

    def of_kinds(self, kinds: "Iterable[Kind]", n_classes: int, **options: Any) -> Metrics:
        """Return the requested metrics by name, by default those of scores of these kinds."""
        from fastpsr.evaluation.specification import named_metrics

        names = None if self.metrics is None else self.metrics.split(",")
        try:
            found = named_metrics(
                names, n_classes, kinds, eer=self.equal_rates, detection=self.detection,
                costs=self.cost_matrix, **options,
            )  # fmt: skip
        except ArgumentError as error:
            point = _OF_POINT.search(error.rule)
            if point is None:
                raise
            remedy = f"give --dcf {point[1]} for that operating point"
            raise ValueError(f"{in_options(error)}: {remedy}") from None
        if self.eer is not None and self.equal_rates.label not in found:
            raise ValueError(
                f"--eer is for tables with the EER, not for one of {', '.join(found)}: LLRs and "
                "raw scores of two classes have it, others with --metrics EER"
            )
        return found


def _known_calibrator(name: str) -> str:
    if name not in CALIBRATORS:
        raise typer.BadParameter(f"it must be one of {', '.join(CALIBRATORS)}, not {name!r}")
    return name


@dataclass(frozen=True)
class CalibratorOptions:
    """The calibrator, and its training."""

    calibrator: Annotated[
        str,
        option(
            f"Calibrator of the scores, or of the calibration loss: {', '.join(CALIBRATORS)}.",
            panel=METRICS,
            callback=_known_calibrator,
            metavar="NAME",
        ),
    ] = "dp"
    floor: Annotated[
        float | None,
        option(
            "Keep posteriors within P and 1 - P. Of a table that is evaluated, these are its "
            "posteriors; of pav, venn-abers and histogram, those that they return; of other "
            "calibrators, those that they are given. By default posteriors may be 0 and 1, which "
            "makes infinite losses and LLRs.",
            panel=METRICS,
            metavar="P",
        ),
    ] = None
    folds: Folds = 5

    def floor_of(self, scale: str) -> float:
        """Return the floor of posteriors that are read of a table."""
        return (self.floor or 0.0) if scale in OF_POSTERIORS else 0.0

    def untrained(self, prior: float | None = None, *, has_floor: bool = False) -> "Calibrator":
        """Return the unfitted calibrator, with a floor and a prior if they were given.

        Where posteriors that are read have the floor (`has_floor`), it need not have one.
        """
        calibrator: Any = fp.calibration.NAMED[self.calibrator]
        for name, value in (("floor", self.floor), ("prior", prior)):
            if value is None:
                continue
            if hasattr(calibrator, name):
                calibrator = replace(calibrator, **{name: value})
            elif not (name == "floor" and has_floor):
                raise ValueError(f"--{name} has no effect on --calibrator {self.calibrator}")
        return calibrator  # type: ignore[no-any-return]


def parse_priors(text: str | None, scale: str, *, of_trials: bool = False) -> list[float] | None:
    """Return class priors, with the checks that are possible for the kind of the scores."""
    from fastpsr import checks

    if text is None:
        return None
    if scale == "raw":
        raise ValueError("--priors have no effect on raw scores, which only rank")
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


def parse_dcf(text: str) -> "fp.MinDCF":
    """Return the cost at the operating points of a preset, or of ``P`` or ``P:CMISS:CFA``."""
    if text in PRESETS:
        return fp.MinDCF(text)
    try:
        numbers = [float(part) for part in text.split(":")]
        if len(numbers) not in (1, 3):
            raise ValueError
        return fp.MinDCF(*numbers)
    except ValueError:
        several = "; give --dcf once for each operating point" * ("," in text)
        raise ValueError(
            f"--dcf must be {', '.join(PRESETS)}, a target prior, or P:CMISS:CFA, with a prior "
            f"between 0 and 1 and positive costs, not {text!r}{several}"
        ) from None


_ASVSPOOF = "asvspoof5"


def _is_of_spoofing(text: str) -> bool:
    """Whether a cost is for lists with spoofed trials."""
    return text == _ASVSPOOF or text.count(":") == 4


def parse_adcf(text: str) -> "fp.MinADCF":
    """Return the cost at ``asvspoof5``, or at ``PNON:PSPOOF:CMISS:CFA:CFASPOOF``."""
    try:
        numbers = [] if text == _ASVSPOOF else [float(part) for part in text.split(":")]
        return fp.MinADCF("spoof", *numbers)
    except ValueError:
        raise ValueError(
            "--dcf must be PNON:PSPOOF:CMISS:CFA:CFASPOOF for lists with spoofed trials, with "
            f"positive costs, and positive priors whose sum is below 1, not {text!r}"
        ) from None


def read_costs(path: Path | None) -> "fp.CostMatrix | None":
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
        return fp.CostMatrix(rows)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} must be a matrix of costs (JSON or CSV): {error}") from None


def _check_rows(rows: Any) -> None:
    """Raise unless rows are lists of numbers of equal length, with at least one row."""
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
