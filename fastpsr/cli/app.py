"""The commands, and their handling of errors."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any

import typer

from fastpsr import __version__
from fastpsr.cli import (
    calibrate,
    compare,
    demo,
    evaluate,
    join,
    select,
    simulate,
    threshold,
    warmup,
)
from fastpsr.cli.command import Command
from fastpsr.cli.show import console, print_error, warnings_as_lines
from fastpsr.cli.wording import in_options
from fastpsr.tables import check_names

_STOPPED = 130
_BY_SIGNAL = 128  # the exit code of a command that a signal ended is this and its number
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
    help="Evaluate probabilistic classifiers by proper scoring rules, Bayes risks and calibration "
    "loss.",
)
app.command(cls=Command)(demo.demo)
app.command(cls=Command)(evaluate.evaluate)
app.command(cls=Command)(compare.compare)
app.command(cls=Command)(calibrate.calibrate)
app.command(cls=Command)(select.select)
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
    for stream in (sys.stdout, sys.stderr):  # what a locale cannot write is no error
        if isinstance(stream, TextIOWrapper) and stream.encoding != "utf-8":
            stream.reconfigure(errors="backslashreplace")
    console.stderr = False
    try:
        check_names(sys.argv[1:])
        with _signals_as_exit(), warnings_as_lines():
            code = int(app(standalone_mode=False) or 0)
            sys.stdout.flush()
            if code == _STOPPED:  # typer's exit code for Ctrl-C
                raise KeyboardInterrupt
            return code
    except (KeyboardInterrupt, typer.Abort):
        print_error("stopped")
        return _STOPPED
    except MemoryError as error:
        print_error(f"error: not enough memory: {error}")
    except OSError as error:
        named = error.strerror and error.filename
        print_error(f"error: {f'{error.strerror}: {error.filename}' if named else error}")
    except ValueError as error:
        print_error(f"error: {in_options(error)}")
    except Exception as error:
        if not hasattr(error, "format_message"):  # not an error of the command line itself
            raise
        asked_for_nothing = type(error).__name__ == "NoArgsIsHelpError"
        if not asked_for_nothing:
            refused: Any = error
            refused.message = refused.message.removeprefix("Value error, ")  # pydantic's words
            print_error(f"error: {refused.format_message()}")
    return 2


@contextmanager
def _signals_as_exit() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that what was begun is removed.

    So does SIGPIPE, without a word: who reads the output has enough of it, as `head` has.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, _: object) -> None:
        print_error("stopped")
        raise SystemExit(_BY_SIGNAL + number)

    def close(number: int, _: object) -> None:
        for stream in (sys.stdout, sys.stderr):  # what is not written yet goes nowhere
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SystemExit(_BY_SIGNAL + number)

    handlers = {signal.SIGTERM: terminate}
    if hasattr(signal, "SIGPIPE"):
        handlers[signal.SIGPIPE] = close
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
