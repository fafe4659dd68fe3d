"""Evaluate systems on a trial list: a row per system, condition and metric."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from fastpsr import trials
from fastpsr.calibration import CrossFit, DirectionPreserving
from fastpsr.cli.dcf import DetectionCost, parse_dcf
from fastpsr.evaluate import evaluate
from fastpsr.metrics import AUC, EER, BrierScore, CalibrationLoss, Cllr, CrossEntropy, MinCllr
from fastpsr.rules import Log
from fastpsr.trials import Reading, TrialSet

__all__ = ["POOLED", "Clock", "SpeakerOptions", "TrialRow", "evaluate_system", "join_system"]

POOLED = "pooled"
ScoresAre = Literal["llr", "log10-llr", "posterior", "raw"]


@dataclass(frozen=True, eq=False)
class TrialRow:
    """One number: of a system, in a condition."""

    system: str
    condition: str
    metric: str
    value: float
    note: str


@dataclass(eq=False)
class Clock:
    """Seconds spent on reading, joining and metrics."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Add the time of a block."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - begun

    def __str__(self) -> str:
        return ", ".join(f"{what} {seconds:.1f} s" for what, seconds in self.spent.items())


@dataclass(frozen=True, eq=False)
class SpeakerOptions:
    """Where the speakers of models and segments are found; at most one of these."""

    mapping: Path | None = None
    columns: str | None = None
    pattern: str | None = None

    def apply(self, made: TrialSet) -> TrialSet:
        """Return trials that know their speakers, if it was said where these are."""
        given = [o for o in (self.mapping, self.columns, self.pattern) if o is not None]
        if len(given) > 1:
            raise ValueError(
                "give one of --speakers, --speaker-columns and --speaker-pattern, not several"
            )
        if self.mapping is not None:
            return made.with_speakers(self.mapping)
        if self.columns is not None:
            pair = tuple(self.columns.split(","))
            if len(pair) != 2:
                raise ValueError(
                    "--speaker-columns must be two columns of the key, enroll and test, with a "
                    f"comma between, not {self.columns!r}"
                )
            return made.with_speakers(column=(pair[0], pair[1]))
        return made if self.pattern is None else made.with_speakers(pattern=self.pattern)

    @property
    def are_known(self) -> bool:
        """Whether any were given."""
        return any(o is not None for o in (self.mapping, self.columns, self.pattern))


def join_system(
    key: Reading, scores: Reading, policies: dict[str, Any], speakers: SpeakerOptions
) -> TrialSet:
    """Join a system's scores with the key, and add speakers."""
    return speakers.apply(trials.read(key, scores, **policies))


def evaluate_system(
    system: str,
    made: TrialSet,
    *,
    scores_are: str,
    dcfs: list[str],
    prior: float | None,
    by: str | None,
    equalise: str | None,
    speakers_known: bool,
    progress: Callable[[str], object],
) -> list[TrialRow]:
    """Return the rows of a system: pooled, then by condition."""
    weights = made.equalised_weights(equalise.split(",")) if equalise else None
    parts = {POOLED: made}
    if by is not None:
        parts |= {f"{by}={value}": part for value, part in made.split(by).items()}
    rows = []
    for condition, part in parts.items():
        predictions = part.predictions(
            cast(ScoresAre, scores_are),
            prior=prior,
            weights=weights if condition == POOLED else None,
        )
        groups = part.speakers if speakers_known else None
        table = evaluate(predictions, _metrics(dcfs, groups, scores_are == "raw"),
                         progress=lambda name: progress(f"{system}: {name}"))  # fmt: skip
        rows += [TrialRow(system, condition, r.metric, r.value, r.note) for r in table.rows]
    return rows


def _metrics(dcfs: list[str], groups: Any, raw: bool) -> dict[str, Any]:
    """Return the metrics by name; of raw scores those that ranks allow."""
    parsed = [parse_dcf(text) for text in dcfs]
    table: dict[str, Any] = {"EER": EER()}
    for name, points in parsed:
        for actual in (False,) if raw else (False, True):
            metric = DetectionCost(name, points, actual)
            table[metric.label] = metric
    if raw:
        return {**table, "minCllr": MinCllr(), "AUC": AUC()}
    train = CrossFit(groups=groups)
    return {
        **table,
        "Cllr": Cllr(),
        "minCllr": MinCllr(),
        "AUC": AUC(),
        "NCE": CrossEntropy(),
        "NBS": BrierScore(),
        "RCL": CalibrationLoss(Log(), DirectionPreserving(), train),
    }
