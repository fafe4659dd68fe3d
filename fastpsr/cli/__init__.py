"""The command `fastpsr`."""

import sys

STOPPED = 130  # exit code after Ctrl-C
_LIBRARIES = ("typer", "rich", "polars")


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends it without a traceback."""
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(STOPPED)


def _run() -> int:
    """Import the command line, whose libraries are an extra, and run it."""
    from importlib.util import find_spec

    try:
        for name in _LIBRARIES:
            if find_spec(name) is None:  # fail early, not only when it is used
                raise ModuleNotFoundError(name=name)
        from fastpsr.cli.app import run
    except ModuleNotFoundError as error:
        if error.name in _LIBRARIES:
            sys.exit(f'fastpsr: the command line needs {error.name}: pip install "fastpsr[cli]"')
        raise
    return run()
