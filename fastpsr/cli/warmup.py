"""`fastpsr warmup`."""

import json
import time
from typing import Annotated, Any

import typer

from fastpsr.cli.show import console, steps


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
    from fastpsr.cli.compiling import compile_all  # brings NumPy, which the help need not
    from fastpsr.kernels.compilation import listed

    begun = time.perf_counter()
    todo = listed()
    rows: list[dict[str, Any]] = []
    with steps() as begin:
        for signature, seconds in compile_all(todo):
            begin(f"compiled {signature.kernel}", len(rows) + 1, len(todo))
            rows.append({"kernel": signature.kernel, "types": signature.types, "seconds": seconds})
    if as_json:
        rows.sort(key=lambda row: row["seconds"] or 0.0, reverse=True)
        console.print(json.dumps(rows, indent=1))
    else:
        console.print(f"compiled in {time.perf_counter() - begun:.1f} s")
