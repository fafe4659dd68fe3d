"""`fastpsr simulate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import fastpsr as fp
from fastpsr.cli.command import Command, in_groups
from fastpsr.cli.options.declaration import declared
from fastpsr.cli.show import console
from fastpsr.files import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

app = typer.Typer(no_args_is_help=True, help="Write simulated data to files.")

_SIZES = {"n_targets": "--targets {}", "n_nontargets": "--nontargets {}"}
Output = Annotated[Path, typer.Argument(help="File to write: .npz, .csv or .parquet.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same data.")]


#: The synthetic systems of Ferrer and Ramos (2024).
System = Literal["cal", "mcs", "mcp", "mcps"]


@app.command(cls=Command)
@in_groups
def trials(
    output: Output,
    targets: Annotated[int, declared("Number of target trials.", arguments=_SIZES)] = 3_658,
    nontargets: Annotated[int, declared("Number of non-target trials.")] = 718_130,
    seed: Seed = 0,
) -> None:
    """Write a speaker-verification trial list: labels, LLRs, models, segments and speakers."""
    data = fp.simulate.trial_list(targets, nontargets, seed=seed)
    names = ("y_true", "llr", "enroll", "test", "enroll_speaker", "test_speaker")
    _write(output, {name: getattr(data, name) for name in names})
    console.print(f"{output}: {targets + nontargets:,} trials, {targets:,} of them targets")


@app.command(cls=Command)
@in_groups
def challenge(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder to write; made if it is not there.")
    ],
    targets: Annotated[int, typer.Option(help="Number of target trials of each list.")] = 2_000,
    nontargets: Annotated[
        int, typer.Option(help="Number of non-target trials of each list.")
    ] = 40_000,
    seed: Seed = 0,
) -> None:
    """Write a development and an evaluation list of other speakers, two systems, and durations.

    Keys are dev_key.txt and eval_key.txt, scores dev_a.txt and so on, in the formats of Kaldi;
    durations.txt has the seconds of each recording. The speaker is what an id has before its slash.
    """
    lists = fp.simulate.challenge(targets, nontargets, seed=seed)
    rows_of = _rows_of_files(dict(zip(("dev", "eval"), lists, strict=True)))
    folder.mkdir(exist_ok=True)
    for name, rows in rows_of.items():
        write_text(folder / name, "".join(f"{' '.join(row)}\n" for row in rows))
    for name, rows in rows_of.items():
        what = "recordings" if name == "durations.txt" else "trials"
        console.print(f"{folder / name}: {len(rows):,} {what}")


def _rows_of_files(
    lists: "dict[str, fp.simulate.ChallengeList]",
) -> "dict[str, list[tuple[str, ...]]]":
    """Return the words of each line of the files of a challenge."""
    rows: dict[str, list[tuple[str, ...]]] = {}
    seconds: dict[str, str] = {}
    for list_name, data in lists.items():
        sides = []
        for side in ("enroll", "test"):
            names = (getattr(data, f"{side}{what}") for what in ("_speaker", "", "_seconds"))
            columns = [(f"id{s}/{id}.wav", f"{t:.5f}") for s, id, t in zip(*names, strict=True)]
            seconds |= columns
            sides.append([name for name, _ in columns])
        labels = ["target" if y else "nontarget" for y in data.y_true]
        rows[f"{list_name}_key.txt"] = [*zip(*sides, labels, strict=True)]
        for system in ("a", "b"):
            scores = map("{:.5f}".format, getattr(data, system))
            rows[f"{list_name}_{system}.txt"] = [*zip(*sides, scores, strict=True)]
    return rows | {"durations.txt": [*seconds.items()]}


@app.command(cls=Command)
@in_groups
def classes(
    output: Output,
    samples: Annotated[int, typer.Option(help="Number of samples.")] = 2_000,
    n_classes: Annotated[
        int, declared("Number of classes.", "--classes", arguments={"n_classes": "--classes {}"})
    ] = 2,
    system: Annotated[
        System,
        typer.Option(help="System: calibrated (cal), or miscalibrated in one of three ways."),
    ] = "cal",
    seed: Seed = 0,
) -> None:
    """Write labels and log-posteriors of a synthetic system (Ferrer and Ramos, 2024)."""
    data = fp.simulate.gaussian_classes(samples, n_classes=n_classes, seed=seed)
    _write(output, {"y_true": data.y_true, "log_posterior": getattr(data, system)})
    console.print(f"{output}: {samples:,} samples of {n_classes} classes, system {system}")


def _write(path: Path, columns: "dict[str, NDArray[Any]]") -> None:
    from fastpsr.cli.score_files import write_columns  # brings NumPy, which the help need not

    write_columns(path, columns)
