"""Merging the accumulators of runs of parts in a tree that does not depend on their order."""

from collections.abc import Callable
from typing import Any


class Tree:
    """A binary tree over runs of parts, whose sums have the same bits for any number of workers.

    Runs come in their order; some may be missing, as those of parts without weight are.
    """

    def __init__(self, join: Callable[[Any, Any], Any]) -> None:
        self._join = join
        self._nodes: dict[tuple[int, int], Any] = {}  # by height and place

    def add(self, run: int, accumulator: Any) -> None:
        """Put a run in its place, and join what is complete."""
        self._nodes[0, run] = accumulator
        self._collapse(run + 1)

    def total(self) -> Any:
        """Return what all runs hold together, None without runs; the tree is empty then."""
        self._collapse(1 << 62)
        nodes, self._nodes = self._nodes, {}
        return next(iter(nodes.values()), None)

    @property
    def waiting(self) -> list[Any]:
        """Accumulators that wait for others."""
        return list(self._nodes.values())

    def _collapse(self, n_runs: int) -> None:
        """Lift nodes whose parents' runs all lie before `n_runs`, and join siblings."""
        height = 0
        while any(h >= height for h, _ in self._nodes):
            for place in sorted(p for h, p in self._nodes if h == height):
                above = (height + 1, place // 2)
                if (place // 2 + 1) << (height + 1) <= n_runs:
                    node = self._nodes.pop((height, place))
                    left = self._nodes.get(above)
                    self._nodes[above] = node if left is None else self._join(left, node)
            height += 1
