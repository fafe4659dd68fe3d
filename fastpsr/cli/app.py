"""The commands, and what they do with errors."""

import sys

import typer

from fastpsr import __version__
from fastpsr.cli import calibrate, demo, evaluate, simulate, warmup
from fastpsr.cli.show import errors

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Evaluate probabilistic classifiers by proper scoring rules, Bayes risks and calibration "
    "loss.",
)
app.command()(demo.demo)
app.command()(evaluate.evaluate)
app.command()(calibrate.calibrate)
app.add_typer(simulate.app, name="simulate")
app.command()(warmup.warmup)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def run() -> int:
    """Run the command; an error is one line and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        named = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else ""
        message = named if named and "None" not in named else str(error)
        errors.print(f"error: {' '.join(message.split())}", markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        errors.print("stopped")
        return 130
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    return 0


if __name__ == "__main__":
    sys.exit(run())
