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
    from fastpsr.kernels.compilation import compile_signature, listed  # which import NumPy

    begun = time.perf_counter()
    rows: list[dict[str, Any]] = []
    with steps() as begin:
        for place, signature in enumerate(signatures := listed()):
            begin(f"compiling {signature.kernel}", place, len(signatures))
            row = {"kernel": signature.kernel, "types": signature.types}
            rows.append(row | {"seconds": compile_signature(signature)})
    if as_json:
        rows.sort(key=lambda row: row["seconds"] or 0.0, reverse=True)
        console.print(json.dumps(rows, indent=1))
    else:
        console.print(f"compiled in {time.perf_counter() - begun:.1f} s")
