"""`fastpsr warmup`."""

import time

from fastpsr.cli.show import console, steps


def warmup() -> None:
    """Compile all kernels into the cache, so that later commands need not compile."""
    from fastpsr.kernels.compilation import compile_signature, listed  # which import NumPy

    begun = time.perf_counter()
    with steps() as begin:
        for place, signature in enumerate(signatures := listed()):
            begin(f"compiling {signature.kernel}", place, len(signatures))
            compile_signature(signature)
    console.print(f"compiled in {time.perf_counter() - begun:.1f} s")
