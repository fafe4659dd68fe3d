"""`fastpsr join`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.files import check_inputs, check_outputs, named_files
from fastpsr.cli.options.sources import (
    Columns,
    FormatOptions,
    KeyOptions,
    PolicyOptions,
    SpeakerOptions,
)
from fastpsr.cli.show import console, print_line, steps
from fastpsr.cli.wording import note_in_options, worded


@in_groups
def join(
    formats: FormatOptions,
    policies: PolicyOptions,
    speakers: SpeakerOptions,
    keys: KeyOptions,
    scores: Annotated[
        list[Path],
        typer.Option(
            help="Score file of a system, or COLUMN=FILE, - for standard input; files of further "
            "systems may follow at the end."
        ),
    ],
    output: Annotated[Path, typer.Option(help="Parquet file to write.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Score files of further systems."),
    ] = None,
    columns: Columns = None,
) -> None:
    """Join a key and score files (text files of any size) into one Parquet file.

    The memory is limited by FASTPSR_MEMORY, plus what the libraries use; text of a pipe is held.
    `fastpsr evaluate` and fp.scan_parquet read the file part by part.
    """
    from fastpsr.cli.trial_files import columns_by_role

    if not keys.files:
        raise ValueError("give --key, or --targets with --nontargets")
    key: list[Path] | dict[Any, Path] = keys.keys
    if keys.classes is not None:
        key = dict(zip(("target", "nontarget"), keys.classes, strict=True))
    systems = named_files([*scores, *(files or [])])
    if None in systems.values() and len({*systems.values()}) > 1:
        bare = next(path for path, name in systems.items() if name is None)
        raise ValueError(f"--scores must name all files or none: {bare} needs a name, NAME={bare}")
    if output.suffix not in (".parquet", ".pq"):
        raise ValueError(f"--output must end in .parquet, as {output} does not")
    inputs = [*keys.files, *systems, speakers.speakers]
    check_outputs({"--output": output}, inputs)
    key_columns = columns_by_role("--key-columns", formats.key_columns)
    score_columns = columns_by_role("--columns", columns)
    check_inputs(inputs)
    with steps(None) as begin, worded(scores="--scores"):
        joined = fp.trials.join(
            key,
            [*systems] if None in systems.values() else {f"{n}": p for p, n in systems.items()},
            output,
            key_format=formats.key_format,
            score_format=formats.format,
            key_columns=key_columns,
            score_columns=score_columns,
            in_order=formats.in_order,
            speakers=speakers.speakers,
            speaker_columns=speakers.pair,
            speaker_pattern=speakers.speaker_pattern,
            missing=policies.missing.value,
            extra=policies.extra.value,
            duplicates=policies.duplicates.value,
            nan=policies.nan.value,
            progress=begin,
        )
    _print_joined(joined)


def _print_joined(joined: "fp.trials.JoinedFile") -> None:
    """Print how files were interpreted, and what was written."""
    for line in joined.notes:
        print_line(note_in_options(line))
    for path, in_order in joined.in_order.items():
        order = "in the order of the key" if in_order else "in another order than the key"
        name = joined.scores[path]
        console.print(f"{path}: {order}; column {name}")
    console.print(
        f"{joined.path}: {joined.n_trials:,} trials, {joined.n_targets:,} of them targets; "
        f"columns {', '.join(joined.columns)}"
    )
