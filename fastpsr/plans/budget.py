"""Memory budget of computations over parts."""

import os
import re
from functools import cache
from pathlib import Path

__all__ = ["memory_budget", "memory_of_data", "steady_budget"]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}  # fmt: skip
_SHARE_OF_FREE = 4  # a computation may hold twice its budget, besides data that were loaded
_LEAST, _MOST = 256 * 10**6, 8 * 10**9  # about that of the package itself; more saves few reads
_STEADY = 10**9


def memory_budget() -> int:
    """Return the bytes that undecided scores, cells and replicates may take.

    ``FASTPSR_MEMORY`` (such as 500MB or 2GB), else a quarter of the memory that is free when this
    is first asked, from 256 MB to 8 GB.
    """
    asked = _asked()
    return _share_of_free() if asked is None else asked


def steady_budget() -> int:
    """Return the budget of what the last digits depend on: the same on a busy machine.

    ``FASTPSR_MEMORY``, else 1 GB, or a quarter of what the machine has.
    """
    asked = _asked()
    installed = _installed() or _STEADY * _SHARE_OF_FREE
    return min(installed // _SHARE_OF_FREE, _STEADY) if asked is None else asked


def memory_of_data() -> int | None:
    """Return the bytes that data which are held whole may take, None where that is not known.

    ``FASTPSR_MEMORY``, else what the machine has.
    """
    asked = _asked()
    return _installed() if asked is None else asked


def _asked() -> int | None:
    asked = os.environ.get("FASTPSR_MEMORY", "").strip()
    if not asked:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", asked)
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or float(match[1]) * unit < 1:
        raise ValueError(
            f"FASTPSR_MEMORY must be a positive number of bytes, such as 500MB, not {asked!r}"
        )
    return int(float(match[1]) * unit)


@cache
def _share_of_free() -> int:
    """Return the default budget, which stays the same for the process."""
    free = _free()
    return _STEADY if free is None else min(max(free // _SHARE_OF_FREE, _LEAST), _MOST)


def _free() -> int | None:
    """Return the bytes that are free on the machine, and in the container; else what it has."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        (free,) = (1024 * int(line.split()[1]) for line in lines if "MemAvailable" in line)
    except (OSError, ValueError):  # not Linux
        return _installed()
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):  # no limit
        return free
    return min(free, max(limit - used, 0))


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return None
