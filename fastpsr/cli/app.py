"""The commands, and what they do with errors."""

from typing import Any

import typer

from fastpsr import __version__
from fastpsr.cli import calibrate, compare, demo, evaluate, join, simulate, threshold, warmup
from fastpsr.cli.command import Command
from fastpsr.cli.show import console, say, warnings_as_lines
from fastpsr.cli.wording import in_options

_STOPPED = 130
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Evaluate probabilistic classifiers by proper scoring rules, Bayes risks and calibration "
    "loss.",
)
app.command(cls=Command)(demo.demo)
app.command(cls=Command)(evaluate.evaluate)
app.command(cls=Command)(compare.compare)
app.command(cls=Command)(calibrate.calibrate)
app.command(cls=Command)(threshold.threshold)
app.command(cls=Command)(join.join)
app.add_typer(simulate.app, name="simulate")
app.command(cls=Command)(warmup.warmup)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        console.print(__version__)
        raise typer.Exit


def run() -> int:
    """Run the command; an error is one line and exit code 2."""
    console.stderr = False
    try:
        with warnings_as_lines():
            code = int(app(standalone_mode=False) or 0)
            if code == _STOPPED:  # how typer tells of Ctrl-C
                raise KeyboardInterrupt
            return code
    except (KeyboardInterrupt, typer.Abort):
        say("stopped")
        return _STOPPED
    except MemoryError as error:
        say(f"error: not enough memory: {error}")
    except OSError as error:
        named = error.strerror and error.filename
        say(f"error: {f'{error.strerror}: {error.filename}' if named else error}")
    except ValueError as error:
        say(f"error: {in_options(error)}")
    except Exception as error:
        if not hasattr(error, "format_message"):  # how the command line's own errors are known
            raise
        asked_for_nothing = type(error).__name__ == "NoArgsIsHelpError"
        if not asked_for_nothing:
            refused: Any = error
            refused.message = refused.message.removeprefix("Value error, ")  # pydantic's words
            say(f"error: {refused.format_message()}")
    return 2
