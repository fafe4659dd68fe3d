"""The one file that sets Numba's compile options, and keeps compiled kernels on disk.

Kernels are serial functions that release the GIL; :mod:`fastpsr.kernels.blocks` runs them on
several threads. Numba's own threading layers are not used: the default one aborts the process on
concurrent calls, and GNU OpenMP does not survive a fork.

With NUMBA_DISABLE_JIT=1 kernels run as the Python that they are written in, slowly, for debuggers
and for the measurement of coverage.
"""

import contextlib
import functools
import hashlib
import pickle
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import llvmlite
import numba
import numpy as np
from numba.core import serialize
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

from fastpsr.kernels.compilation import listen, undisturbed

# LLVM inlines what kernels call. Left to choose, it may call another copy than the caller's own, if
# one is loaded, and bits would differ between a process that compiles and the next. Nobody calls
# kernels from C.
_OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True,
}  # fmt: skip
_PLAIN = bool(getattr(numba.config, "DISABLE_JIT", 0))


# of every source of kernels: Numba's cache looks only at the file of the kernel itself
_SOURCES = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
_DIGEST = hashlib.sha256(_SOURCES).hexdigest()
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
    dispatcher.compile = undisturbed()(dispatcher.compile)
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
    """Compile a reduction: its additions may be reordered to vectorize."""
    return _compile(function, {"contract", "reassoc", "nsz"})


def elementary(function: Any) -> Any:
    """Compile a function of scalars that LLVM inlines, for other kernels only."""
    if _PLAIN:
        return function
    return _compile(function, {"contract"}, no_cpython_wrapper=True)


def inlined(function: Any) -> Any:
    """Copy a short function into the Python of its callers; each caller compiles it anew.

    Not for arrays in inner loops: they would be counted as new references in every iteration.
    """
    return numba.njit(inline="always", fastmath={"contract"}, **_OPTIONS)(function)


@inlined
def bits_to_float(bits):
    """Reinterpret an int64 as a float64."""
    return np.int64(bits).view(np.float64)


@inlined
def float_to_bits(value):
    """Reinterpret a float64 as an int64."""
    return np.float64(value).view(np.int64)


@intrinsic
def _compiled_larger(typing_context, one, other):
    def generate(context, builder, signature, arguments):
        flags = ("nnan", "nsz")  # on the choice, too: else a search for an extreme stays scalar
        is_larger = builder.fcmp_ordered(">", *arguments, flags=flags)
        return builder.select(is_larger, *arguments, flags=flags)

    return one(one, one), generate


#: Return the larger of two numbers of one type, neither of them nan.
larger = max if _PLAIN else _compiled_larger


def keep(dispatcher: Any, digest: str) -> None:
    """Let a kernel keep its code in files of its own; another digest makes them stale."""
    cache: Any = getattr(dispatcher, "_cache", None)
    name = getattr(getattr(cache, "_impl", None), "filename_base", None)
    if name is None or not all(hasattr(cache, part) for part in _TAKEN_OVER):
        return  # another version of Numba: its own files do
    # Numba's key pickles the functions that a closure holds, anew in each process; the digest has
    # their sources, and the closure has a name of its own
    cache._index_key = lambda signature, codegen: (str(signature), codegen.magic_tuple())
    cache._cache_file = _Files(Path(cache.cache_path), name, digest)
    # a full disk costs the cache, not the result; a damaged file is written anew
    cache.save_overload = _or_nothing(cache.save_overload)
    cache.load_overload = _or_nothing(partial(_load, cache))


def is_kept(dispatcher: Any, types: tuple[Any, ...]) -> bool:
    """Whether a kernel's code for arguments of such types is on disk."""
    cache: Any = dispatcher._cache
    files = getattr(cache, "_cache_file", None)
    if not isinstance(files, _Files):
        return False
    return files.holds(cache._index_key(types, dispatcher.targetctx.codegen()))


def _load(cache: Any, signature: Any, context: Any) -> Any:
    """Load compiled code without the imports of the compiler, which take longer.

    Numba imports that before it looks whether there is code; the compiler does so itself.
    """
    rtsys.initialize(context)  # what compiled code counts references to arrays with
    return cache._load_overload(signature, context)


_TAKEN_OVER = ("_cache_file", "_index_key", "save_overload", "load_overload", "_load_overload")


class _Files:
    """Has the methods that Numba's cache calls: a file for each kernel and types.

    Numba keeps an index of these files for each kernel. Two processes that compile a kernel for
    different types would overwrite one another's index, and might give both their code one name.
    """

    def __init__(self, folder: Path, name: str, digest: str) -> None:
        self._folder, self._name = folder, name
        self._stamp = f"{digest} {numba.__version__} {llvmlite.__version__}".encode()

    def load(self, key: Any) -> Any:
        try:
            stamp, _, code = self._path(key).read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        return pickle.loads(code) if stamp == self._stamp else None

    def save(self, key: Any, code: Any) -> None:
        path = self._path(key)
        own = path.with_suffix(f".{uuid4().hex}")
        try:
            own.write_bytes(self._stamp + b"\n" + serialize.dumps(code))
            own.replace(path)
        finally:
            own.unlink(missing_ok=True)

    def holds(self, key: Any) -> bool:
        try:
            with self._path(key).open("rb") as file:
                return file.readline() == self._stamp + b"\n"
        except OSError:
            return False

    def flush(self) -> None:
        """Remove nothing: files of another stamp are not read, and are replaced."""

    def _path(self, key: Any) -> Path:
        place = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return self._folder / f"{self._name}.{place}.nbc"


def _or_nothing(action: Any) -> Any:
    def attempt(*arguments: Any) -> Any:
        with contextlib.suppress(Exception):  # of any kind: the code is pickled
            return action(*arguments)

    return attempt
