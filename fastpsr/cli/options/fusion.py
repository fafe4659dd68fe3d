"""Options of a fusion: its systems, its quality measures, and where it is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import Json, OutputOptions, Outputs, named_files
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.measures import Costs, Folds, Names, parse_dcf
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

_TREATED = "[:log][:cap=N]"


@dataclass(frozen=True)
class Measure:
    """A quality measure: where its values are, and what is done to them."""

    source: Path | tuple[str, str]
    log: bool
    cap: float | None

    @property
    def treatment(self) -> str:
        """What is done, as in the option: a part of the name, so that it is never another."""
        return ":log" * self.log + (f":cap={self.cap:g}" if self.cap is not None else "")

    def of(self, made: "TrialSet") -> "fp.Quality":
        """Return the measure of trials."""
        treatment: dict[str, Any] = {"cap": self.cap, "log": self.log}
        is_file = isinstance(self.source, Path)
        where: dict[str, Any] = {"values" if is_file else "column": self.source}
        name = f"--quality {self.source}:" if is_file else "--quality"
        with worded(values=name, column=name, cap=f"{name} cap"):
            return made.quality(**where, **treatment)


@dataclass(frozen=True)
class QualityOptions:
    """Quality measures of recordings."""

    quality: Annotated[
        list[str] | None,
        option(
            "Quality measure of recordings, such as durations: a file with lines `id value`, for "
            "the ids of both sides, and of the lists of --apply; or two columns of the files, for "
            "the two sides. log takes logarithms, after values above N count as N. May be "
            "repeated.",
            metavar=f"[NAME=]FILE|ENROLL,TEST{_TREATED}",
        ),
    ] = None
    quality_terms: Annotated[
        str,
        option(
            "Columns that each measure makes of both sides: the smaller and the larger value; "
            "product and sum; or the first, also times each score.",
            metavar=f"[{'|'.join(QUALITY_TERMS)}]",
        ),
    ] = QUALITY_TERMS[0]

    def parse(self, context: typer.Context) -> dict[str, Measure]:
        """Return the measures by name; raise where one cannot be meant."""
        if not self.quality:
            refuse(context, ["--quality-terms"], "is for --quality")
        measures: dict[str, Measure] = {}
        for name, measure in self._named():
            if name + measure.treatment in measures:
                raise ValueError(f"--quality must give each measure a name of its own, not {name}")
            measures[name + measure.treatment] = measure
        return measures

    def _named(self) -> Iterator[tuple[str, Measure]]:
        from fastpsr.cli.results import short_names

        treated = [_treated(text) for text in self.quality or []]
        files = [(text, log, cap) for text, log, cap in treated if not _columns(text)]
        named = named_files([Path(text) for text, _, _ in files], "--quality")
        short = short_names([str(path) for path in named])
        for (path, name), (_, log, cap) in zip(named.items(), files, strict=True):
            if not path.is_file():
                form = f"[NAME=]FILE{_TREATED} or [NAME=]ENROLL,TEST{_TREATED}"
                raise ValueError(f"--quality must be {form}: {path} is no file")
            yield name or short[str(path)], Measure(path, log, cap)
        for text, log, cap in treated:
            if sides := _columns(text):
                yield text.rpartition("=")[0] or ",".join(sides), Measure(sides, log, cap)


@dataclass(frozen=True)
class FusionOptions:
    """What is fused, how it is evaluated, and where it is written; in the order of the help."""

    keys: KeyOptions = field(default_factory=KeyOptions)
    scores_are: KindsOfScores = None
    prior: Annotated[
        float,
        option(
            "Probability of targets at which the fusion is fitted: it is best for decisions "
            "around this prior.",
            metavar="P",
        ),
    ] = 0.5
    measures: QualityOptions = field(default_factory=QualityOptions)
    conditions: ConditionOptions = field(default_factory=ConditionOptions)
    output: Annotated[
        Path | None,
        option(
            "File for the fused scores, which are LLRs, in the format of the first score file: "
            "those of --apply; without, cross-fitted ones; - for standard output."
        ),
    ] = None
    table: Annotated[
        list[Path] | None,
        option(
            "Also write the table to this file, by its ending: .csv, .json, .md (Markdown), .tex "
            "(LaTeX), or .html: a report with tables and figures. May be repeated."
        ),
    ] = None
    apply: Annotated[
        list[Path] | None,
        option("Score file of other trials, without labels: of each system in turn, or NAME=FILE."),
    ] = None
    save: Annotated[Path | None, option("Save the fusion as JSON; - for standard output.")] = None
    load: Annotated[Path | None, option("Use a saved fusion, with --apply and --output.")] = None
    dcf: Costs = None
    metrics: Names = None
    drawn: IntervalOptions = field(default_factory=IntervalOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    to_json: Json = None
    refits: Annotated[
        bool,
        option(
            "Fit the fusions again in each replicate, so that intervals contain what other "
            "training data would change; slower; the default method of --ci is percentile then.",
            "--refits",
        ),
    ] = False
    folds: Folds = 5
    trials: TrialOptions = field(default_factory=TrialOptions)
    allowed: AllowOptions = field(default_factory=AllowOptions)

    @property
    def fusion(self) -> "fp.LinearFusion | fp.ByCondition":
        """The fusion, not fitted yet."""
        with worded(prior="--prior", quality="--quality-terms"):
            one = fp.LinearFusion(self.prior, self.measures.quality_terms)
        return self.conditions.of(one) if self.conditions.columns else one

    @property
    def detection(self) -> "list[fp.MinDCF] | None":
        """The detection costs of --dcf."""
        return [parse_dcf(text) for text in self.dcf] if self.dcf else None

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
        applied = self.applied
        if len(applied) != len(systems):
            raise ValueError(
                f"--apply must name a file for each of {', '.join(systems)}: "
                f"{counted(len(systems), 'file')}, not {len(applied)}"
            )
        own = [name for name in applied.values() if name is not None]
        if not own:
            return dict(zip(applied, systems, strict=True))
        if {*own} != {*systems}:
            raise ValueError(
                f"--apply must name files as the systems are named, {', '.join(systems)}, not "
                f"{', '.join(own)}; or none, in their order"
            )
        return {path: str(name) for path, name in applied.items()}


class _Tables(OutputOptions):
    """Files of tables beside that of the fused scores."""

    named_by = "--table"


def _columns(text: str) -> tuple[str, str] | None:
    """Return the two columns that a text names, unless it is a file."""
    sides = text.rpartition("=")[2].split(",")
    if _is_file(text) or len(sides) != 2 or not all(sides):
        return None
    return sides[0], sides[1]


def _treated(text: str) -> tuple[str, bool, float | None]:
    """Return what is treated, whether logarithms are taken, and the largest value."""
    log, cap, rest = False, None, text
    while ":" in rest and not _is_file(rest):
        rest, _, last = rest.rpartition(":")
        if last == "log" and not log:
            log = True
        elif last.startswith("cap=") and cap is None:
            try:
                cap = float(last.removeprefix("cap="))
            except ValueError:
                message = f"--quality must have a number as cap=N, not {text!r}"
                raise ValueError(message) from None
        else:
            raise ValueError(f"--quality must end in {_TREATED}, not {text!r}")
    return rest, log, cap


def _is_file(text: str) -> bool:
    """Whether FILE or NAME=FILE names a file as it is; a name has no colon."""
    name, _, path = text.partition("=")
    return Path(text).is_file() or (":" not in name and Path(path).is_file())
