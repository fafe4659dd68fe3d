"""What is shown and written of the evaluation of several systems."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import Resampling
from fastpsr.cli.reports import write_report
from fastpsr.cli.show import console, heard, say
from fastpsr.cli.tables import Outputs, print_evaluation, short_names, write_evaluation
from fastpsr.cli.trial_files import Clock
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Evaluation
from fastpsr.metrics import MinDCF
from fastpsr.predictions import Predictions

__all__ = ["show_systems"]

Each = TypeVar("Each")


def show_systems(
    evaluation: Evaluation,
    systems: Mapping[Path, str | None],
    scales: Sequence[str],
    outputs: Outputs,
    report: Path | None,
    predictions: Mapping[str, Predictions],
    detection: Sequence[MinDCF],
    said: Sequence[str],
    *,
    conditions: Mapping[str, Mapping[str, Predictions]] | None = None,
    resampling: Mapping[str, Resampling] | None = None,
    spoof: Mapping[str, NDArray[np.bool_]] | None = None,
    clock: Clock | None = None,
    caution: str = "",
) -> None:
    """Print an evaluation of systems by path, and write it to files and a report.

    Systems have their own names or short ones, `scales` are the kinds of their scores, and `said`
    is what was printed when they were read. Figures show `predictions`, those of `conditions`, and
    the costs of `detection`; `resampling` is of systems that are not drawn alike, `spoof` says
    which trials are spoofed.
    """
    taken = f"scores taken as {' and '.join(dict.fromkeys(scales))}"
    if len(set(scales)) > 1:
        each = (f"{scale} in {path}" for scale, path in zip(scales, systems, strict=True))
        taken = f"scores taken as {', '.join(each)}"
    if clock is not None:
        console.print(f"{taken}; {clock}")
    evaluation = in_words(evaluation)
    given_names = {str(path): name for path, name in systems.items() if name is not None}
    names = short_names([str(path) for path in systems]) | given_names
    with heard() as warnings:
        _warn_of_unlike_trials(evaluation, names)
        if caution:
            say(caution)
    print_evaluation(evaluation.renamed(names))
    all_names = {str(path): str(path) for path in systems} | given_names
    kinds = ", ".join(dict.fromkeys(scales))
    write_evaluation(evaluation.renamed(all_names), kinds, outputs)
    if report is not None:
        write_report(
            report, evaluation.renamed(names), predictions=_renamed(predictions, names),
            by_condition=_renamed(conditions or {}, names), operating_points=detection,
            resampling=_renamed(resampling or {}, names), spoof=_renamed(spoof or {}, names),
            read=[*said, taken, *warnings],
        )  # fmt: skip


def _renamed(by_path: Mapping[str, Each], names: Mapping[str, str]) -> dict[str, Each]:
    return {names[path]: each for path, each in by_path.items()}


def _warn_of_unlike_trials(evaluation: Evaluation, names: Mapping[str, str]) -> None:
    counts = {e.system or "": e.class_sizes for e in evaluation.groups if e.group is None}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{names[system]} {sum(n):,}" for system, n in counts.items())
        say(f"warning: the systems are judged on different trials: {said}")
