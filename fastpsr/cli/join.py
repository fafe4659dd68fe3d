"""`fastpsr join`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.declaration import declared
from fastpsr.cli.options.files import check_inputs, check_outputs, named_files
from fastpsr.cli.options.sources import AllowOptions, KeyOptions, SpeakerOptions, TrialOptions
from fastpsr.cli.show import print_line, steps
from fastpsr.cli.wording import note_in_options, worded


@in_groups
def join(
    trials: TrialOptions,
    allowed: AllowOptions,
    speakers: SpeakerOptions,
    keys: KeyOptions,
    scores: Annotated[
        list[Path],
        declared(
            "Score file of a system, or COLUMN=FILE, - for standard input; files of further "
            "systems may follow at the end."
        ),
    ],
    output: Annotated[Path, declared("Parquet file to write.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Score files of further systems."),
    ] = None,
) -> None:
    """Join a key and score files (text files of any size) into one Parquet file.

    The memory is limited by FASTPSR_MEMORY, plus what the libraries use; text of a pipe is held.
    `fastpsr evaluate` and fp.scan_parquet read the file part by part.
    """
    if not keys.files:
        raise ValueError("give --key KEY, or --key target=FILE with --key nontarget=FILE")
    allowed.check(of_trials=True, has_key=True)
    systems = named_files([*scores, *(files or [])])
    if None in systems.values() and len({*systems.values()}) > 1:
        bare = next(path for path, name in systems.items() if name is None)
        raise ValueError(f"--scores must name all files or none: {bare} needs a name, NAME={bare}")
    if output.suffix not in (".parquet", ".pq"):
        raise ValueError(f"--output must end in .parquet, as {output} does not")
    inputs = [*keys.files, *systems, speakers.file]
    check_outputs([("--output", output)], inputs)
    check_inputs(inputs)
    paths: Any = [*systems] if None in systems.values() else {f"{n}": p for p, n in systems.items()}
    join_files(keys, paths, output, trials, allowed, speakers)


def join_files(
    keys: KeyOptions,
    scores: Sequence[Path] | Mapping[str, Path],
    output: Path,
    trials: TrialOptions,
    allowed: AllowOptions,
    speakers: SpeakerOptions,
) -> None:
    """Join score files with a key; print how they were interpreted, and what was written."""
    key: list[Path] | dict[Any, Path] = keys.keys
    if keys.classes is not None:
        key = dict(zip(("target", "nontarget"), keys.classes, strict=True))
    of_key, of_scores = trials.of_key, trials.of_scores
    with steps(None) as begin, worded(scores="--scores"):
        joined = fp.trials.join(
            key,
            scores,
            output,
            key_format=of_key.format,
            score_format=of_scores.format,
            key_columns=of_key.columns or None,
            score_columns=of_scores.columns or None,
            labels=of_key.labels or of_scores.labels,
            transpose=of_scores.transpose,
            in_order=of_scores.in_order,
            speakers=speakers.file,
            speaker_columns=speakers.pair,
            speaker_pattern=speakers.pattern,
            progress=begin,
            **allowed.policies,
        )
    for line in joined.notes:
        print_line(note_in_options(line))
    for path, in_order in joined.in_order.items():
        order = "in the order of the key" if in_order else "in another order than the key"
        print_line(f"{path}: {order}; column {joined.scores[path]}")
    print_line(
        f"{joined.path}: {joined.n_trials:,} trials, {joined.n_targets:,} of them targets; "
        f"columns {', '.join(joined.columns)}"
    )
