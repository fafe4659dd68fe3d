"""What is printed and written of an evaluation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.reports import write_report
from fastpsr.cli.show import Steps, off_the_bar, print_error, print_line, recorded_lines
from fastpsr.cli.tables import print_evaluation, short_names, write_evaluation
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Evaluation
from fastpsr.metrics import MinDCF
from fastpsr.metrics.defaults import common_kind, operating_points

if TYPE_CHECKING:
    from fastpsr.cli.trial_files import Clock

#: What figures show: arguments of a report, by name of the system.
Figures = Mapping[str, Mapping[str, Any]]


def shown_names(systems: Mapping[Path, str | None]) -> dict[str, str]:
    """Return the names of systems by path: their own, or short ones."""
    own = {str(path): name for path, name in systems.items() if name is not None}
    return short_names([str(path) for path in systems]) | own


def show_evaluation(
    evaluation: Evaluation,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, str],
    options: EvaluationOptions,
    inputs: Sequence[Path | None],
    figures: Figures,
    lines: Sequence[str],
    begin: Steps,
    *,
    clock: "Clock | None" = None,
    drawn: str | None = None,
    caution: str = "",
) -> None:
    """Print an evaluation of systems by path, and write it to files and a report.

    Systems have their own names or short ones, unless the one system of the evaluation has none;
    `scales` are the kinds of their scores, and `lines` is what was printed when they were read.
    Trials have a `clock`, and `drawn` is what the command calls what is drawn of them.
    """
    evaluation = in_words(evaluation, drawn)
    kinds = dict.fromkeys(scales.values())
    taken = f"scores taken as {' and '.join(kinds)}"
    if len(kinds) > 1:
        taken = "scores taken as " + ", ".join(
            f"{scale} in {path}" for path, scale in scales.items()
        )
    if clock is not None:
        print_line(f"{taken}; {clock}")
    shown = written = evaluation
    if evaluation.all_samples.system is None:
        taken = str(evaluation.all_samples)
    else:
        shown = evaluation.renamed(shown_names(systems))
        written = evaluation.renamed(
            {str(path): name or str(path) for path, name in systems.items()}
        )
    with recorded_lines() as warnings:
        _warn_of_unlike_trials(shown)
        if caution:
            print_error(caution)
    with off_the_bar():
        print_evaluation(shown)
        write_evaluation(written, ", ".join(kinds), options.outputs.files, inputs)
    if options.to_report is not None:
        write_report(
            options.to_report, shown, begin, **figures, read=[*lines, taken, *warnings],
            operating_points=_operating_points(options, evaluation),
        )  # fmt: skip


def _operating_points(options: EvaluationOptions, evaluation: Evaluation) -> list[MinDCF]:
    """Return the detection costs that were given, or those of such scores."""
    given, groups = options.measures.detection, evaluation.groups
    kind = common_kind(group.kind for group in groups)
    return operating_points(groups[0].n_classes, kind) if given is None else given


def _warn_of_unlike_trials(evaluation: Evaluation) -> None:
    counts = {e.system: e.class_sizes for e in evaluation.groups if e.group is None}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{system} {sum(n):,}" for system, n in counts.items())
        print_error(f"warning: the systems are judged on different trials: {said}")
