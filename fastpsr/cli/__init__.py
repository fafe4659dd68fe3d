"""The command `fastpsr`."""

import sys


def main() -> None:
    """Run the command line; its libraries are an extra."""
    try:
        import polars  # noqa: F401  # not first where a file is read

        from fastpsr.cli.app import run
    except ModuleNotFoundError as error:
        if error.name in ("typer", "rich", "polars"):
            sys.exit(f'fastpsr: the command line needs {error.name}: pip install "fastpsr[cli]"')
        raise
    sys.exit(run())
