"""What a bootstrap keeps of the parts of its data."""

from collections.abc import Callable, Hashable
from typing import Any

from fastpsr.caching import ByIdentity
from fastpsr.plans.part import Part


class BootstrapCache:
    """Cache of the units or the sums of a bootstrap; it is not sent to other processes.

    Values of predictions in memory last as long as the cache; those of a part that is read from a
    file, as long as the part.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type["BootstrapCache"], tuple[()]]:
        return BootstrapCache, ()

    def of(self, part: Part, name: str, compute: Callable[[], Any]) -> Any:
        """Return the cached result of ``compute()`` for a part and name."""
        if not part.is_in_memory:
            return part.remember((self, name), compute)
        key = (ByIdentity(part.predictions), name)
        if key not in self._values:
            self._values[key] = compute()
        return self._values[key]
