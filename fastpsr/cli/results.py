"""What is printed and written of an evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import Resampling
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.reports import write_report
from fastpsr.cli.score_files import ReadTable
from fastpsr.cli.show import Steps, off_the_bar, print_error, print_line, recorded_lines
from fastpsr.cli.tables import print_evaluation, short_names, write_evaluation
from fastpsr.cli.trial_files import Clock
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Evaluation
from fastpsr.predictions import Predictions

__all__ = ["Figures", "show_systems", "show_table"]

Each = TypeVar("Each")


@dataclass
class Figures:
    """What figures show, by system; `resampling` is how samples are drawn for their bands.

    `spoof` says which trials are spoofed, where lists say so of some.
    """

    predictions: dict[str, Predictions] = field(default_factory=dict)
    conditions: dict[str, dict[str, Predictions]] = field(default_factory=dict)
    resampling: dict[str, Resampling] = field(default_factory=dict)
    spoof: dict[str, NDArray[np.bool_]] = field(default_factory=dict)

    def renamed(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return what a report takes, of systems with other names."""
        return {
            "predictions": _renamed(self.predictions, names),
            "by_condition": _renamed(self.conditions, names),
            "resampling": _renamed(self.resampling, names),
            "spoof": _renamed(self.spoof, names),
        }


def show_table(
    evaluation: Evaluation,
    read: ReadTable,
    options: EvaluationOptions,
    inputs: Sequence[Path | None],
    figures: Figures,
    lines: Sequence[str],
    begin: Steps,
) -> None:
    """Print the evaluation of a table, and write it to files and a report."""
    path, evaluation = read.table.path, in_words(evaluation)
    with off_the_bar():
        print_evaluation(evaluation)
        write_evaluation(evaluation, read.scale, options.outputs.files, inputs)
    if options.to_report is not None:
        write_report(
            options.to_report, evaluation, begin, **figures.renamed({str(path): path.name}),
            read=[*lines, str(evaluation.all_samples)],
            operating_points=options.measures.detection(of_trials=False),
        )  # fmt: skip


def show_systems(
    evaluation: Evaluation,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, str],
    options: EvaluationOptions,
    inputs: Sequence[Path | None],
    figures: Figures,
    lines: Sequence[str],
    begin: Steps,
    *,
    clock: Clock | None = None,
    caution: str = "",
) -> None:
    """Print an evaluation of systems by path, and write it to files and a report.

    Systems have their own names or short ones, `scales` are the kinds of their scores, and `lines`
    is what was printed when they were read. Trials have a `clock`.
    """
    kinds = dict.fromkeys(scales.values())
    taken = f"scores taken as {' and '.join(kinds)}"
    if len(kinds) > 1:
        taken = "scores taken as " + ", ".join(
            f"{scale} in {path}" for path, scale in scales.items()
        )
    if clock is not None:
        print_line(f"{taken}; {clock}")
    evaluation = in_words(evaluation)
    given_names = {str(path): name for path, name in systems.items() if name is not None}
    names = short_names([str(path) for path in systems]) | given_names
    with recorded_lines() as warnings:
        _warn_of_unlike_trials(evaluation, names)
        if caution:
            print_error(caution)
    all_names = {str(path): str(path) for path in systems} | given_names
    kind = ", ".join(kinds)
    with off_the_bar():
        print_evaluation(evaluation.renamed(names))
        write_evaluation(evaluation.renamed(all_names), kind, options.outputs.files, inputs)
    if options.to_report is not None:
        write_report(
            options.to_report, evaluation.renamed(names), begin, **figures.renamed(names),
            operating_points=options.measures.detection(of_trials=clock is not None),
            read=[*lines, taken, *warnings],
        )  # fmt: skip


def _renamed(by_path: Mapping[str, Each], names: Mapping[str, str]) -> dict[str, Each]:
    return {names[path]: each for path, each in by_path.items()}


def _warn_of_unlike_trials(evaluation: Evaluation, names: Mapping[str, str]) -> None:
    counts = {e.system or "": e.class_sizes for e in evaluation.groups if e.group is None}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{names[system]} {sum(n):,}" for system, n in counts.items())
        print_error(f"warning: the systems are judged on different trials: {said}")
