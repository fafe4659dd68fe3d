"""Compiled kernels on disk: a file for each kernel and types, which several processes may write.

Numba keeps an index of these files for each kernel. Two processes that compile a kernel for
different types would overwrite one another's index, and might give both their code one name.
"""

import contextlib
import hashlib
import pickle
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import llvmlite
import numba
from numba.core import serialize
from numba.core.runtime.nrt import rtsys


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
    """Load compiled code without all that compiling needs, which takes longer to import.

    Numba imports that before it looks whether there is code; the compiler does so itself.
    """
    rtsys.initialize(context)  # what compiled code counts references to arrays with
    return cache._load_overload(signature, context)


_TAKEN_OVER = ("_cache_file", "_index_key", "save_overload", "load_overload", "_load_overload")


class _Files:
    """Has the methods that Numba's cache calls."""

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
