"""The commands, each imported when it is used, and their handling of errors."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from fastpsr.cli import STOPPED
from fastpsr.cli.show import console, print_error, warnings_as_lines
from fastpsr.cli.wording import in_options
from fastpsr.files import check_names
from fastpsr.version import __version__

_BY_SIGNAL = 128  # the exit code of a command that a signal ended is this and its number

#: The commands in the order of `fastpsr --help`.
COMMANDS = (
    "demo", "evaluate", "compare", "calibrate", "fuse", "select", "threshold", "join", "warmup",
    "simulate",
)  # fmt: skip


class _Commands(TyperGroup):
    """A group whose commands are imported when they are used, or listed with their help."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"commands": dict.fromkeys(COMMANDS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None for an unknown name."""
        return load(cmd_name) if cmd_name in COMMANDS else None


def load(name: str) -> Any:
    """Import a command, or a group of commands."""
    from fastpsr.cli.command import Command

    module = import_module(f"fastpsr.cli.{name}")
    alone = typer.Typer()
    if hasattr(module, "app"):
        alone.add_typer(module.app, name=name)
    else:
        alone.command(cls=Command)(getattr(module, name))
    return get_group(alone).commands[name]


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
    help="Evaluate probabilistic classifiers by proper scoring rules, Bayes risks and calibration "
    "loss.",
)


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
            if code == STOPPED:  # typer's exit code for Ctrl-C
                raise KeyboardInterrupt
            return code
    except (KeyboardInterrupt, typer.Abort):
        print_error("stopped")
        return STOPPED
    except MemoryError as error:
        print_error(f"error: not enough memory: {error}")
    except OSError as error:
        parts = [str(part) for part in (error.strerror or error, error.filename) if part]
        print_error(f"error: {': '.join(parts)}")
    except ValueError as error:
        print_error(f"error: {in_options(error)}")
    except ModuleNotFoundError as error:  # such as of pyarrow, with the extra that brings it
        if (error.name or "fastpsr").startswith("fastpsr"):
            raise
        print_error(f"error: {error}")
    except Exception as error:
        if not hasattr(error, "format_message"):  # not an error of the command line itself
            raise
        asked_for_nothing = type(error).__name__ == "NoArgsIsHelpError"
        if not asked_for_nothing:
            print_error(f"error: {_refused(error)}")
    return 2


def _refused(error: Any) -> str:
    """Return typer's message on an argument, with the value, which pydantic leaves out."""
    message = error.message.removeprefix("Value error, ")
    problems = error.__cause__.errors() if hasattr(error.__cause__, "errors") else []
    if message == error.message and problems:
        message = f"{message}, not {problems[0]['input']!r}"
    error.message = message
    return str(error.format_message())


@contextmanager
def _signals_as_exit() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that what was begun is removed.

    So does SIGPIPE, for which nothing is printed: the reader of the output has closed it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> None:
        if number == signal.SIGTERM:
            print_error("stopped")
        else:
            for stream in (sys.stdout, sys.stderr):  # what is not written yet goes nowhere
                with suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SystemExit(_BY_SIGNAL + number)

    numbers = [signal.SIGTERM, *([signal.SIGPIPE] if hasattr(signal, "SIGPIPE") else [])]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
