"""Memory budget of computations."""

import os
import re

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}  # fmt: skip
_DEFAULT = 10**9
_SHARE = 4  # a computation may hold twice its budget, besides data that were loaded


def memory_budget() -> int:
    """Return the bytes that undecided scores, cells and replicates may take.

    ``FASTPSR_MEMORY`` (such as 500MB or 2GB), else 1 GB, or a quarter of what the machine has if
    that is less.
    """
    configured = _configured()
    if configured is not None:
        return configured
    installed = _installed()
    return _DEFAULT if installed is None else min(installed // _SHARE, _DEFAULT)


def memory_of_data() -> int | None:
    """Return the bytes that data in memory may take; None if unknown.

    ``FASTPSR_MEMORY``, else what the machine has.
    """
    return _configured() or _installed()


def _configured() -> int | None:
    configured = os.environ.get("FASTPSR_MEMORY", "").strip()
    if not configured:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", configured)
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or float(match[1]) * unit < 1:
        raise ValueError(
            f"FASTPSR_MEMORY must be a positive number of bytes, such as 500MB, not {configured!r}"
        )
    return int(float(match[1]) * unit)


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return None
