"""Time Table 2 of Ferrer and Ramos (2024), from the score files in FASTPSR_DATA to printed rows."""

import importlib.util
import io
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

from benchmarks.timing import quartiles

PROMISED_SECONDS = 5.0
_SCRIPT = Path(__file__).parent.parent / "docs" / "paper" / "table2.py"


def data_folder() -> str | None:
    """Return the folder of the score files, if there is one."""
    return os.environ.get("FASTPSR_DATA") or None


def load_script() -> Any:
    """Import the script that prints the table."""
    spec = importlib.util.spec_from_file_location("table2", _SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.object(sys, "path", [str(_SCRIPT.parent), *sys.path]):  # for what scripts share
        spec.loader.exec_module(module)
    return module


def print_table(script: Any, folder: str) -> str:
    """Run the script in this process and return what it prints."""
    with (
        patch.object(sys, "argv", ["table2.py", "--data", folder]),
        redirect_stdout(io.StringIO()) as printed,
    ):
        script.main()
    return printed.getvalue()


def time_table(folder: str, rounds: int) -> list[float]:
    """Return the seconds that each round takes, after one that compiles."""
    script = load_script()
    print_table(script, folder)
    seconds = []
    for _ in range(rounds):
        start = perf_counter()
        print_table(script, folder)
        seconds.append(perf_counter() - start)
    return seconds


def describe_table(seconds: list[float]) -> str:
    """Return a sentence."""
    low, middle, high = quartiles(seconds)
    return (
        f"The table takes {middle:.2f} s ({low:.2f}-{high:.2f}, {len(seconds)} rounds) "
        f"once compiled; promised: under {PROMISED_SECONDS:g} s."
    )
