"""The one file that sets Numba's compile options.

Kernels are serial functions that release the GIL; :mod:`fastpsr.kernels.blocks` runs them on
several threads. Numba's own threading layers are not used: the default one aborts the process on
concurrent calls, and GNU OpenMP does not survive a fork.

With NUMBA_DISABLE_JIT=1 kernels run as the Python that they are written in, slowly, for debuggers
and for the measurement of coverage.
"""

import functools
import hashlib
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from fastpsr.kernels.cache import keep
from fastpsr.kernels.notice import listen
from fastpsr.kernels.signals import held_back

# LLVM inlines what kernels call. Left to choose, it may call another copy than the caller's own, if
# one is loaded, and bits would differ between a process that compiles and the next. Nobody calls
# kernels from C.
_OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True,
}  # fmt: skip
_PLAIN = bool(getattr(numba.config, "DISABLE_JIT", 0))


def _sources_digest() -> str:
    """Hash every kernel source: Numba's cache looks only at the file of the kernel itself."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_DIGEST = _sources_digest()
if not _PLAIN:
    listen()


def _compile(function: Any, fastmath: set[str], **further: Any) -> Any:
    if _PLAIN:
        return _quiet(function)
    options = {"fastmath": fastmath, **_OPTIONS, **further}
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder is writable: work without a cache
        dispatcher = numba.njit(**options)(function)
    else:
        keep(dispatcher, _DIGEST)
    dispatcher.compile = held_back()(dispatcher.compile)
    return dispatcher


def _quiet(function: Any) -> Any:
    """Let scalars of NumPy overflow and wrap around without a warning, as compiled ones do."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return call


def is_plain() -> bool:
    """Whether kernels run as the Python that they are written in."""
    return _PLAIN


def kernel(function: Any) -> Any:
    """Compile a loop over arrays. Contraction to fused multiply-add is the only liberty taken."""
    return _compile(function, {"contract"})


def summing(function: Any) -> Any:
    """Compile a reduction: its additions may be reordered, so that they vectorize."""
    return _compile(function, {"contract", "reassoc", "nsz"})


def elementary(function: Any) -> Any:
    """Compile a function of scalars, for other kernels only, which LLVM inlines."""
    if _PLAIN:
        return function
    return _compile(function, {"contract"}, no_cpython_wrapper=True)


def inlined(function: Any) -> Any:
    """Copy a short function into the Python of its callers, each of which compiles it anew.

    Not for arrays in inner loops: they would be counted as new references in every iteration.
    """
    return numba.njit(inline="always", fastmath={"contract"}, **_OPTIONS)(function)


@intrinsic
def _compiled_bits_to_float(typing_context, bits):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba.float64(numba.int64), generate


@intrinsic
def _compiled_float_to_bits(typing_context, value):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.int64(numba.float64), generate


@intrinsic
def _compiled_larger(typing_context, one, other):
    def generate(context, builder, signature, arguments):
        flags = ("nnan", "nsz")  # on the choice, too: else a search for an extreme stays scalar
        is_larger = builder.fcmp_ordered(">", *arguments, flags=flags)
        return builder.select(is_larger, *arguments, flags=flags)

    return one(one, one), generate


def _plain_bits_to_float(bits):
    return np.int64(bits).view(np.float64)


def _plain_float_to_bits(value):
    return np.float64(value).view(np.int64)


#: Reinterpret an int64 as a float64.
bits_to_float = _plain_bits_to_float if _PLAIN else _compiled_bits_to_float
#: Reinterpret a float64 as an int64.
float_to_bits = _plain_float_to_bits if _PLAIN else _compiled_float_to_bits
#: Return the larger of two numbers of one type, neither of them nan.
larger = max if _PLAIN else _compiled_larger
