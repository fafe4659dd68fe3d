"""What is printed and written of an evaluation: tables on the terminal, files, and reports."""

import hashlib
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.files import Outputs
from fastpsr.cli.show import Steps, console, off_the_bar, print_error, print_line, recorded_lines
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Evaluation
from fastpsr.evaluation.layout import grid_of_one, remarks
from fastpsr.files import can_be_read_again, write_text
from fastpsr.metrics import MinDCF
from fastpsr.metrics.defaults import common_kind, operating_points
from fastpsr.results import as_json
from fastpsr.tables import parquet_files
from fastpsr.version import __version__

if TYPE_CHECKING:
    from fastpsr.cli.evaluate_scores import Plan

#: What figures show: arguments of a report, by name of the system.
Figures = dict[str, dict[str, Any]]


def shown_names(systems: Mapping[Any, str | None]) -> dict[str, str]:
    """Return the names of systems by path: those they were given, or short ones."""
    short = short_names([str(path) for path in systems])
    return short | {str(path): name for path, name in systems.items() if name}


def show_evaluation(
    plan: "Plan",
    evaluation: Evaluation,
    figures: Figures,
    lines: Sequence[str],
    seconds: Mapping[str, float] | None,
    begin: Steps,
) -> None:
    """Print an evaluation, and write it to files and a report.

    Systems have the names that they were given or short ones, unless the one system of the
    evaluation has none; `lines` is what was printed when they were read, and `seconds` what that
    and the metrics took, for trials.
    """
    options = plan.options
    evaluation = in_words(evaluation)
    kinds = dict.fromkeys(plan.scales.values())
    taken = f"scores taken as {' and '.join(kinds)}"
    if len(kinds) > 1:
        taken = "scores taken as " + ", ".join(
            f"{scale} in {path}" for path, scale in plan.scales.items()
        )
    if seconds is not None:
        spent = ", ".join(f"{what} {time:.1f} s" for what, time in seconds.items())
        print_line(f"{taken}; {spent}")
    shown = written = evaluation
    if evaluation.all_samples.system is None:
        taken = str(evaluation.all_samples)
    else:
        shown = evaluation.renamed(shown_names(plan.systems))
        names = {path: name or path for path, name in plan.systems.items()}
        written = evaluation.renamed(names)
    caution = ""
    if plan.reader is not None:
        caution = options.drawn.caution(plan.intervals, options.speakers)
    with recorded_lines() as warnings:
        _warn_of_unlike_trials(shown)
        if caution:
            print_error(caution)
    with off_the_bar():
        print_evaluation(shown)
        write_evaluation(written, ", ".join(kinds), options.outputs.tables, plan.inputs)
    for path in options.outputs.reports:
        write_report(
            path, shown, begin, **figures, read=[*lines, taken, *warnings],
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


def print_evaluation(evaluation: Evaluation) -> None:
    """Print a line per metric with its meaning, or a column per system and condition."""
    if evaluation.groups[0].system is not None or len(evaluation.groups) > 1:
        console.print(evaluation.to_text(console.width), soft_wrap=True)
        return
    console.print(str(evaluation.all_samples))
    header, *lines = grid_of_one(evaluation, "meaning").texts
    if evaluation.intervals is not None:
        console.print(evaluation.settings)
    table = Table(box=None, pad_edge=False)
    for name in header:
        justify = "right" if name == "value" else "left"
        table.add_column(name, justify=justify, no_wrap=name != "meaning")  # type: ignore[arg-type]
    for line in lines:
        table.add_row(*line)
    console.print(table, soft_wrap=False)
    for remark in remarks(evaluation):
        console.print(remark)


def write_evaluation(
    evaluation: Evaluation,
    scores_are: str,
    files: Outputs,
    inputs: Sequence[Path | None],
    **more: Any,
) -> None:
    """Write tables by their ending; JSON also has what was read, and `more` by name."""
    for option, path in files:
        if path is None:
            continue
        if option != "--json" and path.suffix != ".json":
            evaluation.write(path)
            continue
        content = {"version": __version__, "scores_are": scores_are, **more}
        text = as_json(content | evaluation.to_dict() | {"inputs": described(inputs)})
        if str(path) == "-":
            sys.stdout.write(text)
        else:
            write_text(path, text)


def write_report(path: Path, evaluation: Evaluation, begin: Steps, **content: Any) -> None:
    """Write a report that includes the command and the current time, as a step of the command."""
    from fastpsr import report

    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content |= {"command": shlex.join(["fastpsr", *sys.argv[1:]]), "made": made}
    begin(f"writing {path}")
    report.write_report(
        path,
        report.Report(evaluation, **content),
        lambda title, *amount: begin(f"{path}: {title}", *amount),
    )


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return for each path its shortest suffix, in whole path components, that is unique.

    Examples
    --------
    >>> short_names(["a/dev/s.txt", "a/eval/s.txt", "a/t.txt"])
    {'a/dev/s.txt': 'dev/s.txt', 'a/eval/s.txt': 'eval/s.txt', 'a/t.txt': 't.txt'}
    """
    parts = {path: Path(path).parts for path in paths}

    def shortest(path: str) -> str:
        for n in range(1, len(parts[path]) + 1):
            end = parts[path][-n:]
            if sum(other[-n:] == end for other in parts.values()) == 1:
                return str(Path(*end))
        return path

    return {path: shortest(path) for path in parts}


def described(paths: Iterable[Path | None]) -> list[dict[str, Any]]:
    """Return path, bytes and SHA-256 of each file; of the files of folders and patterns no hash.

    What can be read only once, such as a pipe, has neither.
    """
    entries = []
    for path in filter(None, paths):
        is_file = can_be_read_again(path)
        files = [path] if is_file else [Path(name) for name in parquet_files(path)]
        for file in files or [path]:
            entry: dict[str, Any] = {"path": str(file), "n_bytes": None, "sha256": None}
            if files:
                entry["n_bytes"] = file.stat().st_size
            if is_file:
                with file.open("rb") as opened:
                    entry["sha256"] = hashlib.file_digest(opened, "sha256").hexdigest()
            entries.append(entry)
    return entries
