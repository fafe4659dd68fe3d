"""Options of a fusion: its systems, its quality measures, and where it is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.modes import refuse
from fastpsr.cli.options.conditions import ConditionOptions
from fastpsr.cli.options.files import OutputOptions, Report, named_files
from fastpsr.cli.options.intervals import ComparisonOptions
from fastpsr.cli.options.measures import Costs, Names, parse_dcf
from fastpsr.cli.options.panels import METRICS, of
from fastpsr.cli.options.scores import KindsOfScores
from fastpsr.cli.options.sources import Columns, KeyOptions, SpeakerOptions, TrialOptions
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
        if isinstance(self.source, Path):
            option = f"--quality {self.source}:"
            with worded(values=option, cap=f"{option} cap"):
                return made.quality(self.source, **treatment)
        with worded(column="--quality-columns", cap="--quality-columns: cap"):
            return made.quality(column=self.source, **treatment)


@dataclass(frozen=True)
class QualityOptions:
    """Quality measures of recordings."""

    quality: Annotated[
        list[str] | None,
        typer.Option(
            metavar=f"[NAME=]FILE{_TREATED}",
            help="Quality measure of recordings, such as durations: a file with lines `id value`, "
            "for the ids of both sides, and of the lists of --apply. log takes logarithms, after "
            "values above N count as N. May be repeated.",
        ),
    ] = None
    quality_columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar=f"[NAME=]ENROLL,TEST{_TREATED}",
            help="The same of two columns of the files, for the two sides. May be repeated.",
        ),
    ] = None
    quality_terms: Annotated[
        str,
        typer.Option(
            metavar=f"[{'|'.join(QUALITY_TERMS)}]",
            help="Columns that each measure makes of both sides: the smaller and the larger value; "
            "product and sum; or the first, also times each score.",
        ),
    ] = QUALITY_TERMS[0]

    def parse(self, context: typer.Context) -> dict[str, Measure]:
        """Return the measures by name; raise where one cannot be meant."""
        if not (self.quality or self.quality_columns):
            refuse(context, ["--quality-terms"], "is for --quality and --quality-columns")
        found: dict[str, Measure] = {}
        for name, measure in [*self._of_files(), *self._of_columns()]:
            if name + measure.treatment in found:
                raise ValueError(f"--quality must give each measure a name of its own, not {name}")
            found[name + measure.treatment] = measure
        return found

    def _of_files(self) -> Iterator[tuple[str, Measure]]:
        from fastpsr.cli.tables import short_names

        treated = [_treated("--quality", text) for text in self.quality or []]
        named = named_files([Path(text) for text, _, _ in treated], "--quality")
        short = short_names([str(path) for path in named])
        for (path, name), (_, log, cap) in zip(named.items(), treated, strict=True):
            if not path.is_file():
                raise ValueError(f"--quality must be [NAME=]FILE{_TREATED}: {path} is no file")
            yield name or short[str(path)], Measure(path, log, cap)

    def _of_columns(self) -> Iterator[tuple[str, Measure]]:
        for given in self.quality_columns or []:
            text, log, cap = _treated("--quality-columns", given)
            name, _, columns = text.rpartition("=")
            sides = columns.split(",")
            if len(sides) != 2 or not all(sides):
                raise ValueError(
                    f"--quality-columns must be [NAME=]ENROLL,TEST{_TREATED}, not {given!r}"
                )
            yield name or columns, Measure((sides[0], sides[1]), log, cap)


@dataclass(frozen=True)
class FusionOptions:
    """What is fused, how it is evaluated, and where it is written; in the order of the help."""

    keys: KeyOptions = field(default_factory=KeyOptions)
    scores_are: KindsOfScores = None
    prior: Annotated[
        float,
        typer.Option(
            help="Probability of targets at which the fusion is fitted: it is best for decisions "
            "around this prior.",
            metavar="P",
        ),
    ] = 0.5
    measures: QualityOptions = field(default_factory=QualityOptions)
    conditions: ConditionOptions = field(default_factory=ConditionOptions)
    output: Annotated[
        Path | None,
        typer.Option(
            help="File for the fused scores, which are LLRs, in the format of the first score "
            "file: those of --apply; without, cross-fitted ones; - for standard output."
        ),
    ] = None
    apply: Annotated[
        list[Path] | None,
        typer.Option(
            help="Score file of other trials, without labels: of each system in turn, or NAME=FILE."
        ),
    ] = None
    save: Annotated[
        Path | None, typer.Option(help="Save the fusion as JSON; - for standard output.")
    ] = None
    load: Annotated[
        Path | None, typer.Option(help="Use a saved fusion, with --apply and --output.")
    ] = None
    dcf: Costs = None
    metrics: Names = None
    drawn: ComparisonOptions = field(default_factory=ComparisonOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)
    outputs: OutputOptions = field(default_factory=OutputOptions)
    to_report: Report = None
    refits: Annotated[
        bool,
        typer.Option(
            "--refits",
            help="Fit the fusions again in each replicate, so that intervals contain what other "
            "training data would change; slower; the default of --interval is percentile then.",
        ),
    ] = False
    folds: Annotated[int, of(METRICS, "Number of folds of the cross-fitting.", min=2)] = 5
    columns: Columns = None
    trials: TrialOptions = field(default_factory=TrialOptions)

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
    def written_by_option(self) -> dict[str, Path | None]:
        """The files that are written, by the option that names them."""
        return {
            "--output": self.output,
            "--save": self.save,
            "--report": self.to_report,
            **self.outputs.files,
        }

    @property
    def written(self) -> list[Path]:
        """The files that are written, other than the fused scores and standard output."""
        others = [path for path in (self.save, self.to_report) if path is not None]
        return [*self.outputs.written, *(path for path in others if str(path) != "-")]

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


def _treated(option: str, text: str) -> tuple[str, bool, float | None]:
    """Return what is treated, whether logarithms are taken, and the largest value."""
    log, cap, rest = False, None, text
    while ":" in rest and not _is_file(rest):
        rest, _, last = rest.rpartition(":")
        if last == "log" and not log:
            log = True
        elif last.startswith("cap=") and cap is None:
            cap = _number(option, last, text)
        else:
            raise ValueError(f"{option} must end in {_TREATED}, not {text!r}")
    return rest, log, cap


def _is_file(text: str) -> bool:
    """Whether FILE or NAME=FILE names a file as it is; a name has no colon."""
    name, _, path = text.partition("=")
    return Path(text).is_file() or (":" not in name and Path(path).is_file())


def _number(option: str, last: str, text: str) -> float:
    try:
        return float(last.removeprefix("cap="))
    except ValueError:
        raise ValueError(f"{option} must have a number as cap=N, not {text!r}") from None
