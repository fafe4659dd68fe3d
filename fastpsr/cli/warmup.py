"""`fastpsr warmup`."""

import json
import time
from typing import Annotated

import typer

from fastpsr.cli.compiling import compile_all
from fastpsr.cli.show import console, steps
from fastpsr.kernels.compilation import Signature, listed


def warmup(
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print each kernel with the types of its arguments and the seconds of CPU that "
            "compiling it took, as JSON; null for those that were compiled before, or with others.",
        ),
    ] = False,
) -> None:
    """Compile all kernels into the cache, so that later commands need not compile."""
    begun = time.perf_counter()
    todo = listed()
    took: list[tuple[Signature, float | None]] = []
    with steps() as begin:
        for signature, seconds in compile_all(todo):
            begin(f"compiled {signature.kernel}", len(took) + 1, len(todo))
            took.append((signature, seconds))
    if as_json:
        took.sort(key=lambda entry: -(entry[1] or 0.0))
        rows = [{"kernel": s.kernel, "types": s.types, "seconds": seconds} for s, seconds in took]
        console.print(json.dumps(rows, indent=1))
    else:
        console.print(f"compiled in {time.perf_counter() - begun:.1f} s")
