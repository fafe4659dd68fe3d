"""Settings of the metrics, and of calibrators."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import fastpsr as fp
from fastpsr.caching import cached_property
from fastpsr.cli.options.declaration import METRICS, TABLES, TRIALS, declared, option, words_of
from fastpsr.cli.options.files import OutputOptions
from fastpsr.exports import CALIBRATORS, PRESETS

if TYPE_CHECKING:
    from fastpsr.calibration.base import Calibrator

Metrics = Mapping[str, Any]
#: Number of folds, where another is not given.
FOLDS = 5
Folds = Annotated[
    int | None,
    declared(f"Folds of the cross-fitting; by default {FOLDS}.", panel=METRICS, min=2),
]


def parse_dcf(text: str) -> "fp.MinDCF | fp.MinADCF | fp.MinTDCF":
    """Return the cost of --dcf: of a preset, or of numbers; with five, of spoofed trials."""
    try:
        if text.startswith("tdcf="):
            p_miss, p_fa, p_fa_spoof = map(float, text.removeprefix("tdcf=").split(":"))
            return fp.MinTDCF(p_miss, p_fa, p_fa_spoof)
        if text in PRESETS:
            return fp.MinDCF(text)
        numbers = [] if text == "asvspoof5" else [float(part) for part in text.split(":")]
        if len(numbers) in (0, 5):
            return fp.MinADCF("spoof", *numbers)
        if len(numbers) in (1, 3):
            return fp.MinDCF(*numbers)
        raise ValueError
    except ValueError:
        several = "; give --dcf once for each operating point" * ("," in text)
        raise ValueError(
            f"--dcf must be {', '.join(PRESETS)}, a target prior or P:CMISS:CFA, or for lists "
            "with spoofed trials asvspoof5 or PNON:PSPOOF:CMISS:CFA:CFASPOOF, with positive costs, "
            "and positive priors whose sum is below 1, or for bona fide and spoofed trials "
            f"tdcf=PMISS:PFA:PFASPOOF, the error rates of verification, not {text!r}{several}"
        ) from None


@dataclass(frozen=True)
class MetricOptions:
    """Which metrics there are in the table."""

    dcf: list[Any] = option(
        f"Detection cost: {', '.join(PRESETS)}, a target prior (by default 0.01), or P:CMISS:CFA; "
        "with spoofed trials asvspoof5 (the default), or PNON:PSPOOF:CMISS:CFA:CFASPOOF; of bona "
        "fide and spoofed trials tdcf=PMISS:PFA:PFASPOOF, the errors of verification. May be "
        "repeated.",
        metavar="COST",
        type=list[str] | None,
        parse=lambda texts: [parse_dcf(text) for text in texts or []],
    )
    metrics: list[str] | None = option(
        "Metrics, such as EER,minDCF,NCE, by default those that are usual for the scores.",
        metavar="NAME,...",
        parse=words_of,
    )

    @property
    def detection(self) -> "list[fp.MinDCF] | None":
        """The requested detection costs, None for those of the kind of the scores."""
        return [cost for cost in self.dcf if isinstance(cost, fp.MinDCF)] or None

    @property
    def tandem(self) -> "list[fp.MinTDCF]":
        """The requested detection costs of bona fide and spoofed trials."""
        return [cost for cost in self.dcf if isinstance(cost, fp.MinTDCF)]

    def spoofing(self, *, has_spoof: bool) -> "list[fp.MinADCF | fp.MinTDCF]":
        """Return the requested detection costs of a list with spoofed trials, or without."""
        costs = [cost for cost in self.dcf if isinstance(cost, fp.MinADCF)]
        if costs and not has_spoof:
            raise ValueError(
                "--dcf PNON:PSPOOF:CMISS:CFA:CFASPOOF is for lists with labels target, nontarget "
                "and spoof; this one has no spoofed trials"
            )
        return self.tandem + (costs or [fp.MinADCF("spoof")] * has_spoof)

    def check_effects(
        self, metrics: Metrics, outputs: OutputOptions, of_options: Mapping[str, list[str]]
    ) -> None:
        """Raise if --metrics leaves out all metrics that an option is for."""
        from fastpsr.metrics.defaults import costs_by_name

        # reports mark the operating points
        of_dcf = [] if outputs.reports else [*costs_by_name(self.dcf, "likelihoods")]
        for name, names in {"--dcf": of_dcf, **of_options}.items():
            if self.metrics is not None and names and not metrics.keys() & names:
                others = " and ".join(names)
                rule = f"has no effect on {', '.join(metrics)}: --metrics leaves out {others}"
                raise ValueError(f"{name} {rule}")


@dataclass(frozen=True)
class MeasureOptions(MetricOptions):
    """Settings of the metrics."""

    priors: str | None = option(
        "Class priors of the evaluation, non-target first, such as 0.99,0.01; by default the "
        "class frequencies.",
        panel=METRICS,
        metavar="P,P,...",
        arguments={"prior": "--priors {}"},
    )
    eer: str | None = option(
        "EER on the convex hull of the ROC (hull, the default), or on its steps: interpolated "
        "(crossing), or at the nearest threshold (nearest).",
        panel=METRICS,
        metavar="[hull|crossing|nearest]",
        arguments={"definition": "--eer {}"},
    )
    costs: Path | None = option(
        "Cost matrix with a row for each true class: .json or text.",
        panel=TABLES,
        arguments={"costs": "costs"},  # in messages they are numbers of the file
    )
    equalize: list[str] | None = option(
        "Columns of the key whose partitions get equal weight in the pooled result.",
        panel=TRIALS,
        metavar="COLUMN,...",
        parse=words_of,
    )

    @cached_property
    def cost_matrix(self) -> "fp.CostMatrix | None":
        """The costs of --costs."""
        return None if self.costs is None else read_costs(self.costs)


@dataclass(frozen=True)
class CalibratorOptions:
    """The calibrator, and its training."""

    calibrator: str = option(
        f"Calibrator of the scores, or of the calibration loss: {', '.join(CALIBRATORS)}; "
        "dp is also platt or logistic, pav isotonic.",
        panel=METRICS,
        metavar="NAME",
        default="dp",
        type=str,
        parse=str.lower,
    )
    floor: float | None = option(
        "Keep posteriors, of a table and of calibrators, within P and 1 - P. By default they may "
        "be 0 and 1, which makes infinite losses and LLRs.",
        panel=METRICS,
        metavar="P",
    )
    folds: Folds = None

    def untrained(self, prior: float | None = None, *, has_floor: bool = False) -> "Calibrator":
        """Return the unfitted calibrator, with a floor and a prior if they were given.

        Where posteriors that are read have the floor (`has_floor`), it need not have one.
        """
        from fastpsr import checks

        other_names = fp.calibration.OTHER_NAMES
        checks.check_choice("calibrator", self.calibrator, (*CALIBRATORS, *other_names))
        name_in_table = other_names.get(self.calibrator, self.calibrator)
        calibrator: Any = fp.calibration.NAMED[name_in_table]
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
    is_binary = of_trials or scale in ("llr", "log10-llr")
    which = (
        "two numbers above 0, non-target and target" if is_binary else "numbers, one for each class"
    )
    try:
        numbers = [float(part) for part in text.split(",")]
        if is_binary and (len(numbers) != 2 or not all(numbers)):
            raise ValueError
    except ValueError:
        raise ValueError(f"--priors must be {which}, with commas between, not {text!r}") from None
    priors: list[float] = checks.as_priors("--priors", numbers, len(numbers)).tolist()
    return priors


def read_costs(path: Path) -> "fp.CostMatrix":
    """Read a cost matrix, a row per class, from a JSON list of lists or a text without header.

    In text commas, semicolons or tabs are between the costs; where commas are not, they are decimal
    marks.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            rows = json.loads(text)
        else:
            separator = next((mark for mark in ";\t" if mark in text), ",")
            lines = [line.split(separator) for line in text.splitlines() if line.strip()]
            rows = [[float(cell.replace(",", ".")) for cell in line] for line in lines]
        if len({len(row) for row in rows}) > 1:
            raise ValueError("every row must have the same number of costs")
        return fp.CostMatrix(rows)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} must be a matrix of costs (JSON or CSV): {error}") from None
