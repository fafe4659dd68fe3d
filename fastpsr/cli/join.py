"""`fastpsr join`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.options.declaration import declared
from fastpsr.cli.options.files import check_files, named_files
from fastpsr.cli.options.sources import MoreScores, TrialOptions
from fastpsr.cli.show import print_line, steps
from fastpsr.cli.wording import note_in_options, worded
from fastpsr.files import PARQUET, ending_of


@in_groups
def join(
    context: typer.Context,
    trials: TrialOptions,
    scores: Annotated[
        list[Path],
        declared(
            "Score file of a system, or COLUMN=FILE, - for standard input; files of further "
            "systems may follow at the end."
        ),
    ],
    output: Annotated[Path, declared("Parquet file to write.")],
    files: MoreScores = None,
) -> None:
    """Join a key and score files (text files of any size) into one Parquet file.

    The memory is limited by FASTPSR_MEMORY, plus what the libraries use; text of a pipe is held.
    `fastpsr evaluate` and fp.scan_parquet read the file part by part.
    """
    if not trials.key:
        raise ValueError("give --key KEY, or --key target=FILE with --key nontarget=FILE")
    trials.check(context, of_trials=True, has_scores=True)
    systems = named_files([*scores, *(files or [])])
    if None in systems.values() and len({*systems.values()}) > 1:
        bare = next(path for path, name in systems.items() if name is None)
        raise ValueError(f"--scores must name all files or none: {bare} needs a name, NAME={bare}")
    if ending_of(output) not in PARQUET:
        raise ValueError(f"--output must end in .parquet, as {output} does not")
    check_files(trials.inputs([*scores, *(files or [])]), [("--output", output)])
    paths: Any = [*systems] if None in systems.values() else {f"{n}": p for p, n in systems.items()}
    join_files(trials, paths, output)


def join_files(
    options: TrialOptions, scores: Sequence[Path] | Mapping[str, Path], output: Path
) -> None:
    """Join score files with a key; print how they were interpreted, and what was written."""
    from fastpsr import trials

    layouts = {"key_format": options.key_format, "format": options.format}
    key: Any = options.key
    with steps() as begin, worded(scores="--scores"):
        joined = trials.join(key, scores, output, **layouts, **options.joined, progress=begin)
    for line in joined.notes:
        print_line(note_in_options(line))
    for path, in_order in joined.in_order.items():
        order = "in the order of the key" if in_order else "in another order than the key"
        print_line(f"{path}: {order}; column {joined.scores[path]}")
    print_line(
        f"{joined.path}: {joined.n_trials:,} trials, {joined.n_targets:,} of them targets; "
        f"columns {', '.join(joined.columns)}"
    )
