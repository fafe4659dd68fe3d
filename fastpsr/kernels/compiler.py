"""The one file that sets Numba's compile options.

Kernels are serial functions that release the GIL; :mod:`fastpsr.kernels.blocks` runs them on
several threads. Numba's own threading layers are not used: the default one aborts the process on
concurrent calls, and GNU OpenMP does not survive a fork.

With NUMBA_DISABLE_JIT=1 kernels run as the Python that they are written in, slowly, for debuggers
and for the measurement of coverage.
"""

import contextlib
import functools
import hashlib
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from fastpsr.kernels.notice import say_when_compiling

__all__ = [
    "bits_to_float",
    "elementary",
    "float_to_bits",
    "is_plain",
    "kernel",
    "larger",
    "summing",
]

# LLVM inlines what kernels call. Left to choose, it may call another copy than the caller's own, if
# one is loaded, and bits would differ between a process that compiles and the next.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
_PLAIN = bool(getattr(numba.config, "DISABLE_JIT", 0))


def _sources_digest() -> str:
    """Hash every kernel source: Numba's cache looks only at the file of the kernel itself."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_DIGEST = _sources_digest()
if not _PLAIN:
    say_when_compiling()


def _compile(function: Any, fastmath: set[str]) -> Any:
    if _PLAIN:
        return _quiet(function)
    try:
        dispatcher = numba.njit(cache=True, fastmath=fastmath, **_OPTIONS)(function)
    except RuntimeError:  # no folder is writable: work without a cache
        return numba.njit(fastmath=fastmath, **_OPTIONS)(function)
    cache: Any = getattr(dispatcher, "_cache", None)
    index: Any = getattr(cache, "_cache_file", None)
    if hasattr(index, "_source_stamp"):  # a changed callee in another file must invalidate too
        index._source_stamp = (index._source_stamp, _DIGEST)
    if function.__closure__ and hasattr(cache, "_index_key"):
        # Numba's key pickles the functions that a closure holds, anew in each process; the digest
        # has their sources, and the closure has a name of its own
        cache._index_key = lambda signature, codegen: (signature, codegen.magic_tuple())
    if hasattr(cache, "save_overload") and hasattr(cache, "load_overload"):
        # a full disk costs the cache, not the result; a damaged one is begun anew
        cache.save_overload = _or_nothing(cache.save_overload, lambda: None)
        cache.load_overload = _or_nothing(cache.load_overload, cache.flush)
    return dispatcher


def _quiet(function: Any) -> Any:
    """Let scalars of NumPy overflow and wrap around without a warning, as compiled ones do."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return call


def _or_nothing(action: Any, mend: Any) -> Any:
    def attempt(*arguments: Any) -> Any:
        try:
            return action(*arguments)
        except Exception:  # of any kind: the index and the code in it are pickled
            with contextlib.suppress(Exception):
                mend()
            return None

    return attempt


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
    """Compile a function of scalars that is inlined into its callers.

    Not for arrays: inlined, they would be counted as new references in every iteration.
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
