"""The command `fastpsr`."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line; its libraries are an extra."""
    try:
        for name in ("typer", "rich", "polars"):
            if find_spec(name) is None:  # fail early, not only when it is used
                raise ModuleNotFoundError(name=name)
        from fastpsr.cli.app import run
    except ModuleNotFoundError as error:
        if error.name in ("typer", "rich", "polars"):
            sys.exit(f'fastpsr: the command line needs {error.name}: pip install "fastpsr[cli]"')
        raise
    sys.exit(run())
