"""Pages of examples: run them in order, and put what they print below them.

A page has Python sessions, consoles, and Python files that the text says are "Saved as `NAME`". To
renew pages in place: python -m tools.pages docs/how-to/*.md
"""

import contextlib
import difflib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from unittest import mock

import pytest

from fastpsr.cli import app, show

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$(?:\s+Saved as `(\S+)`)?", re.M | re.S)
COMMAND = re.compile(r"fastpsr (.*?)(\s+2>&1)?(\s+[|>].*)?", re.S)
SURROUNDINGS = {
    "COLUMNS": "100",
    "LC_ALL": "C.UTF-8",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "TERM": "dumb",
}


def changes(name, page):
    """Return as text where the examples of a page print something else now; "" if nowhere."""
    lines = difflib.unified_diff(
        page.splitlines(), renewed(page).splitlines(), name, "now", lineterm=""
    )
    difference = "\n".join(lines)
    return difference and f"{difference}\nIf this is right: python -m tools.pages {name}"


def renewed(page):
    """Return a page with what its examples print now; they run in the current folder."""
    names = {"__name__": "__main__"}

    def renew(block):
        kind, body, file = block.groups()
        if file:
            Path(file).write_text(body)
            return block[0]
        new = console(body) if kind == "console" else session(body, names)
        return block[0] if settled(new) == settled(body) else block[0].replace(body, new)

    width = int(SURROUNDINGS["COLUMNS"])  # a console reads it only when it is created
    with (
        mock.patch.dict(os.environ, SURROUNDINGS),
        mock.patch.object(show.console, "_width", width),
        mock.patch.object(show.errors, "_width", width),
    ):
        return BLOCK.sub(renew, page)


def settled(text):
    """Return a text without what differs from run to run: seconds, and last digits of numbers."""
    text = re.sub(r"\b\d+\.\d s\b", "0.0 s", text)
    return re.sub(r"\d+\.\d{10,}(e-?\d+)?", lambda number: f"{float(number[0]):.9g}", text)


def console(body):
    """Run the commands of a console: lines from "$ " on, and those from "> " on that follow."""
    shown = []
    for entry in re.findall(r"^\$ .*\n(?:> .*\n)*", body, re.M):
        printed = run("".join(line[2:] for line in entry.splitlines(keepends=True)).rstrip("\n"))
        shown += [entry, *(f"{line.rstrip()}\n" for line in printed.splitlines())]
    return "".join(shown)


def run(command):
    """Run a command; fastpsr's in this process, what follows it in a shell."""
    command = command.replace("\\\n", " ")
    match = COMMAND.fullmatch(command)
    if match is None:
        return in_shell(command)
    arguments, merged, rest = match.groups()
    out = io.StringIO()
    err = out if merged or not rest else io.StringIO()  # which the shell would show at once
    with (
        mock.patch.object(sys, "argv", ["fastpsr", *shlex.split(arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        app.run()
    if not rest:
        return out.getvalue()
    return ("" if merged else err.getvalue()) + in_shell(f"cat {rest}", out.getvalue())


def in_shell(command, stdin=None):
    if os.name != "posix":
        pytest.skip("needs a shell and its programs")
    process = subprocess.run(
        ["bash", "-c", command],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return process.stdout


def session(body, names):
    """Run a Python session."""
    shown = []
    for piece in doctest.DocTestParser().parse(body):
        if isinstance(piece, str):
            shown.append(piece)
            continue
        first, *following = piece.source.splitlines()
        shown += [f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in following)]
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(piece.source, "<page>", "single"), names)
        except Exception as error:
            if piece.exc_msg is None:
                raise  # a failure is the test's
            message = "".join(traceback.format_exception_only(error))
            out.write(f"Traceback (most recent call last):\n    ...\n{message}")
        shown.append(out.getvalue())
    return "".join(shown)


def main(paths):
    for path in map(Path, paths):
        place = path.resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("docs").symlink_to(Path(__file__).parents[1] / "docs")  # for its scripts
            place.write_text(renewed(place.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
