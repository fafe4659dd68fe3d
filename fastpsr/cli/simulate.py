"""`fastpsr simulate`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fastpsr import simulate
from fastpsr.cli.command import Command
from fastpsr.cli.score_files import check_written_ending, write_columns
from fastpsr.cli.show import console, steps
from fastpsr.files import check_place

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Write simulated data to a file.")

Output = Annotated[Path, typer.Argument(help="File to write: .npz, .csv or .parquet.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same file.")]


class System(StrEnum):
    """The synthetic systems of Ferrer and Ramos (2024)."""

    CAL = "cal"
    MCS = "mcs"
    MCP = "mcp"
    MCPS = "mcps"


@app.command(cls=Command)
def trials(
    output: Output,
    targets: Annotated[int, typer.Option(help="Number of target trials.")] = 3_658,
    nontargets: Annotated[int, typer.Option(help="Number of non-target trials.")] = 718_130,
    seed: Seed = 0,
) -> None:
    """Write a speaker-verification trial list: labels, LLRs, models, segments and speakers."""
    _check_output(output)
    with steps(2) as begin:
        begin("simulating")
        made = simulate.trial_list(targets, nontargets, seed=seed)
        begin("writing")
        columns = {
            "y_true": made.y_true,
            "llr": made.llr,
            "enroll": made.enroll,
            "test": made.test,
            "enroll_speaker": made.enroll_speaker,
            "test_speaker": made.test_speaker,
        }
        write_columns(output, columns)
    console.print(f"{output}: {targets + nontargets:,} trials, {targets:,} of them targets")


@app.command(cls=Command)
def classes(
    output: Output,
    samples: Annotated[int, typer.Option(help="Number of samples.")] = 2_000,
    n_classes: Annotated[int, typer.Option("--classes", help="Number of classes.")] = 2,
    system: Annotated[
        System,
        typer.Option(help="System: calibrated (cal), or miscalibrated in one of three ways."),
    ] = (System.CAL),
    variance: Annotated[float, typer.Option(help="Variance of the features.")] = 0.15,
    seed: Seed = 0,
) -> None:
    """Write labels and log-posteriors of a synthetic system (Ferrer and Ramos, 2024)."""
    _check_output(output)
    made = simulate.gaussian_classes(samples, n_classes=n_classes, variance=variance, seed=seed)
    write_columns(output, {"y_true": made.y_true, "log_posterior": getattr(made, system.value)})
    n_samples = made.y_true.size
    console.print(f"{output}: {n_samples:,} samples of {n_classes} classes, system {system.value}")


def _check_output(path: Path) -> None:
    """Raise, before any computation, if the file cannot be written."""
    check_written_ending(path)
    check_place(path)
