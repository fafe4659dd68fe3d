"""Options of a fusion: its systems, its quality measures, and where it is written."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import fastpsr as fp
from fastpsr.cli.options.conditions import CalibratorByOptions
from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import Base, LogBase, Outputs, TableOutputOptions, named_files
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.measures import Folds, MetricOptions
from fastpsr.cli.options.sources import KindsOfScores, TrialOptions
from fastpsr.cli.wording import worded
from fastpsr.errors import counted
from fastpsr.exports import QUALITY_TERMS

if TYPE_CHECKING:
    from fastpsr.trials import TrialSet

_TREATED = re.compile(r"(.+?)(:log)?(?::cap=([^:]*))?", re.DOTALL)


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
        where, log, number = matched.groups() if matched else ("", None, None)
        name, _, place = ("", "", where) if Path(where).is_file() else where.rpartition("=")
        enroll, _, test = place.partition(",")
        try:
            cap = None if number is None else float(number)
            if not Path(place).is_file() and not (enroll and test):
                raise ValueError
        except ValueError:
            raise ValueError(
                "--quality must be [NAME=]FILE or [NAME=]ENROLL,TEST, then perhaps :log, and "
                f":cap=N with a number, not {text!r}"
            ) from None
        suffix = (log or "") + ("" if cap is None else f":cap={cap:g}")
        if Path(place).is_file():
            return cls((name or Path(place).name) + suffix, Path(place), bool(log), cap)
        return cls((name or place) + suffix, (enroll, test), bool(log), cap)

    def of(self, trials: "TrialSet") -> "fp.Quality":
        """Return the measure of trials."""
        name = f"--quality {self.source}:" if isinstance(self.source, Path) else "--quality"
        with worded(values=name, column=name, cap=f"{name} cap"):
            return trials.quality(self.source, cap=self.cap, log=self.log)


def _parse_measures(texts: Sequence[str] | None) -> dict[str, Measure]:
    """Return the measures of --quality by name."""
    measures: dict[str, Measure] = {}
    for measure in map(Measure.parse, texts or []):
        if measures.setdefault(measure.name, measure) is not measure:
            name = measure.name
            raise ValueError(f"--quality must give each measure a name of its own, not {name}")
    return measures


@dataclass(frozen=True)
class FusionOptions:
    """What is fused, how it is evaluated, and where it is written; in the order of the help."""

    trials: TrialOptions
    scores_are: KindsOfScores
    conditions: CalibratorByOptions
    metrics: MetricOptions
    drawn: IntervalOptions
    tables: TableOutputOptions
    folds: Folds
    prior: float = option(
        "Prior of targets at which the fusion is fitted: it is best for decisions around it.",
        metavar="P",
        default=0.5,
    )
    quality: dict[str, Measure] = option(
        "Quality measure of recordings, such as durations: a file with lines `id value`, or two "
        "columns. Values above N count as N, and log takes logarithms. May be repeated.",
        metavar="[NAME=]FILE|ENROLL,TEST[:log][:cap=N]",
        type=list[str] | None,
        parse=_parse_measures,
    )
    quality_terms: str = option(
        "Columns of each measure: the smaller and the larger value of both sides; product and sum; "
        "or the former, also times each score.",
        metavar=f"[{'|'.join(QUALITY_TERMS)}]",
        arguments={"quality": "--quality-terms {}"},
        default=QUALITY_TERMS[0],
    )
    output: Path | None = option(
        "File for fused LLRs of --apply, or cross-fitted ones, in the format of the first score "
        "file; - for standard output."
    )
    apply: dict[Path, str | None] = option(
        "Score file of other trials, without labels: of each system in turn, or NAME=FILE.",
        type=list[Path] | None,
        parse=lambda paths: named_files(paths or [], "--apply"),
    )
    save: Path | None = option("Save the fusion as JSON; - for standard output.")
    load: Path | None = option("Use a saved fusion, with --apply and --output.")
    base: LogBase = Base.E
    refits: bool = option(
        "Fit the fusions again in each replicate, so that intervals include other training data; "
        "--ci is then percentile by default.",
        "--refits",
        default=False,
    )

    @property
    def fusion(self) -> "fp.LinearFusion | fp.ByCondition":
        """The fusion, not fitted yet."""
        fusion: fp.LinearFusion | fp.ByCondition = self.conditions.of(
            fp.LinearFusion(self.prior, self.quality_terms)
        )
        return fusion

    @property
    def written(self) -> Outputs:
        """All files that are written, by the option that names them."""
        return [("--output", self.output), ("--save", self.save), *self.tables.files]

    def names_of_applied(self, systems: Sequence[str]) -> dict[Path, str]:
        """Return the files of --apply with the names of the systems that they are of."""
        named = [name for name in self.apply.values() if name is not None]
        if len(self.apply) != len(systems) or (named and {*named} != {*systems}):
            raise ValueError(
                f"--apply must name {counted(len(systems), 'file')}, one for each of "
                f"{', '.join(systems)}, in this order or by these names"
            )
        return dict(zip(self.apply, named or systems, strict=True))
