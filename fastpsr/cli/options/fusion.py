"""Options of a fusion: its systems, its quality measures, and where it is written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import fastpsr as fp
from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import Json, OutputOptions, Outputs, named_files
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.measures import Folds, MetricOptions
from fastpsr.cli.options.modes import refuse
from fastpsr.cli.options.sources import (
    AllowOptions,
    ConditionOptions,
    KeyOptions,
    KindsOfScores,
    SpeakerOptions,
    TrialOptions,
)
from fastpsr.cli.wording import worded
from fastpsr.errors import counted
from fastpsr.exports import QUALITY_TERMS

if TYPE_CHECKING:
    from fastpsr.trials import TrialSet

_TREATED = re.compile(r"(.+?)((?::log|:cap=[^:]*)*)", re.DOTALL)


@dataclass(frozen=True)
class Measure:
    """A quality measure: where its values are, and what is done to them."""

    name: str
    source: Path | tuple[str, str]
    log: bool
    cap: float | None

    @classmethod
    def parse(cls, text: str) -> "Measure":
        """Return the measure of --quality; its name ends in the treatment."""
        matched = _TREATED.fullmatch(text)
        where, treatment = matched.groups() if matched else (text, "")
        name, _, place = ("", "", where) if Path(where).is_file() else where.rpartition("=")
        enroll, _, test = place.partition(",")
        try:
            caps = [float(part[4:]) for part in treatment.split(":") if part.startswith("cap")]
            if not Path(place).is_file() and not (enroll and test):
                raise ValueError
        except ValueError:
            raise ValueError(
                "--quality must be [NAME=]FILE or [NAME=]ENROLL,TEST, then perhaps :log, and "
                f":cap=N with a number, not {text!r}"
            ) from None
        log, cap = ":log" in treatment, caps[-1] if caps else None
        suffix = ":log" * log + (f":cap={cap:g}" if caps else "")
        if Path(place).is_file():
            return cls((name or Path(place).name) + suffix, Path(place), log, cap)
        return cls((name or place) + suffix, (enroll, test), log, cap)

    def of(self, trials: "TrialSet") -> "fp.Quality":
        """Return the measure of trials."""
        is_file = isinstance(self.source, Path)
        where: dict[str, Any] = {"values" if is_file else "column": self.source}
        name = f"--quality {self.source}:" if is_file else "--quality"
        with worded(values=name, column=name, cap=f"{name} cap"):
            return trials.quality(**where, cap=self.cap, log=self.log)


@dataclass(frozen=True)
class QualityOptions:
    """Quality measures of recordings."""

    quality: list[str] | None = option(
        "Quality measure of recordings, such as durations: a file with lines `id value`, for "
        "the ids of both sides, and of the lists of --apply; or two columns of the files, for "
        "the two sides. log takes logarithms, after values above N count as N. May be "
        "repeated.",
        metavar="[NAME=]FILE|ENROLL,TEST[:log][:cap=N]",
    )
    quality_terms: str = option(
        "Columns that each measure makes of both sides: the smaller and the larger value; "
        "product and sum; or the first, also times each score.",
        metavar=f"[{'|'.join(QUALITY_TERMS)}]",
        arguments={"quality": "--quality-terms {}"},
        default=QUALITY_TERMS[0],
    )

    def parse(self, context: typer.Context) -> dict[str, Measure]:
        """Return the measures by name; raise where one cannot be meant."""
        if not self.quality:
            refuse(context, ["--quality-terms"], "is for --quality")
        measures: dict[str, Measure] = {}
        for measure in map(Measure.parse, self.quality or []):
            if measures.setdefault(measure.name, measure) is not measure:
                name = measure.name
                raise ValueError(f"--quality must give each measure a name of its own, not {name}")
        return measures


@dataclass(frozen=True)
class FusionOptions:
    """What is fused, how it is evaluated, and where it is written; in the order of the help."""

    keys: KeyOptions = field(default_factory=KeyOptions)
    scores_are: KindsOfScores = None
    prior: float = option(
        "Probability of targets at which the fusion is fitted: it is best for decisions "
        "around this prior.",
        metavar="P",
        default=0.5,
    )
    measures: QualityOptions = field(default_factory=QualityOptions)
    conditions: ConditionOptions = field(default_factory=ConditionOptions)
    output: Path | None = option(
        "File for the fused scores, which are LLRs, in the format of the first score file: "
        "those of --apply; without, cross-fitted ones; - for standard output."
    )
    table: list[Path] | None = option(
        "Also write the table to this file, by its ending: .csv, .json, .md (Markdown), .tex "
        "(LaTeX), or .html: a report with tables and figures. May be repeated."
    )
    apply: list[Path] | None = option(
        "Score file of other trials, without labels: of each system in turn, or NAME=FILE."
    )
    save: Path | None = option("Save the fusion as JSON; - for standard output.")
    load: Path | None = option("Use a saved fusion, with --apply and --output.")
    metrics: MetricOptions = field(default_factory=MetricOptions)
    drawn: IntervalOptions = field(default_factory=IntervalOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    to_json: Json = None
    refits: bool = option(
        "Fit the fusions again in each replicate, so that intervals contain what other "
        "training data would change; slower; the default method of --ci is percentile then.",
        "--refits",
        default=False,
    )
    folds: Folds = 5
    trials: TrialOptions = field(default_factory=TrialOptions)
    allowed: AllowOptions = field(default_factory=AllowOptions)

    @property
    def fusion(self) -> "fp.LinearFusion | fp.ByCondition":
        """The fusion, not fitted yet."""
        fusion = fp.LinearFusion(self.prior, self.measures.quality_terms)
        return self.conditions.of(fusion) if self.conditions.columns else fusion

    @property
    def applied(self) -> dict[Path, str | None]:
        """The files of --apply, with their own names."""
        return named_files(self.apply or [], "--apply")

    @property
    def tables(self) -> OutputOptions:
        """The files of tables and reports."""
        return _Tables(self.to_json, self.table)

    @property
    def written(self) -> Outputs:
        """All files that are written, by the option that names them."""
        return [("--output", self.output), ("--save", self.save), *self.tables.files]

    def names_of_applied(self, systems: Sequence[str]) -> Mapping[Path, str]:
        """Return the files of --apply with the names of the systems that they are of."""
        named = [name for name in self.applied.values() if name is not None]
        if len(self.applied) != len(systems) or (named and {*named} != {*systems}):
            raise ValueError(
                f"--apply must name {counted(len(systems), 'file')}, one for each of "
                f"{', '.join(systems)}, in this order or by these names"
            )
        names = self.applied.values() if named else systems
        return {path: str(name) for path, name in zip(self.applied, names, strict=True)}


class _Tables(OutputOptions):
    """Files of tables beside that of the fused scores."""

    named_by = "--table"
