"""Places among sorted edges, found without a search for nearly all values.

The range of the edges is cut into many buckets of equal width. Nearly all hold one edge or none,
so that a bucket number, which is a product and a rounding, and one comparison tell the place
without a branch; in the others a search does.
"""

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.sizes import index_type
from fastpsr.kernels.types import Floats, Grid

_FEWEST_BUCKETS, _MOST_BUCKETS = 1 << 12, 1 << 22
_BUCKETS_PER_EDGE = 16
_IN_CACHE = 1 << 18  # buckets; of more than this there is but one per edge
_SHORT = 8  # edges in a bucket that are scanned; where more fall in one, they are bisected


def bucket_grid(edges: Floats) -> Grid:
    """Return ``(low, per_unit, first_edge, quick, padded)``.

    ``first_edge[b]`` edges lie before bucket b; ``quick[b]`` is that number where at most one edge
    lies in b, else -1. `padded` are the edges and a nan, which no score equals or exceeds. Where
    buckets of equal width separate nothing (an edge far out), some hold many edges.
    """
    finite = edges[np.isfinite(edges)]
    most = min(max(_IN_CACHE, edges.size), _MOST_BUCKETS)
    n_buckets = int(np.clip(_BUCKETS_PER_EDGE * edges.size, _FEWEST_BUCKETS, most))
    low, per_unit = 0.0, 0.0  # all in the first bucket
    span = float(finite[-1]) - float(finite[0]) if finite.size else 0.0
    if 0.0 < span < np.inf and n_buckets / span < np.inf:
        low, per_unit = float(finite[0]), n_buckets / span
    first_edge = np.empty(n_buckets + 1, index_type(edges.size))
    _fill_grid(edges, low, per_unit, first_edge)
    quick = np.where(np.diff(first_edge) > 1, -1, first_edge[:-1])
    return low, per_unit, first_edge, quick, np.append(edges, np.nan)


def bucket_numbers(
    values: Floats, low: float, per_unit: float, n_buckets: int
) -> NDArray[np.int32]:
    """Return the bucket of each value as `bucket_of` does."""
    with np.errstate(invalid="ignore", over="ignore"):
        position = (np.asarray(values, np.float64) - low) * per_unit
    position = np.fmax(position, 0.0)  # also of nan, which is inf x 0
    return np.minimum(position, n_buckets - 1.0).astype(np.int32)


@inlined
def bucket_of(value, low, per_unit, limit):
    """Return the bucket of a value; `limit` is the last one."""
    position = (value - low) * per_unit
    position = position if position > 0.0 else 0.0  # also -inf, and inf x 0
    return np.int32(position if position < limit else limit)


@kernel
def _fill_grid(edges, low, per_unit, first_edge):
    n_buckets = first_edge.size - 1
    edge = 0
    for bucket in range(n_buckets):
        first_edge[bucket] = edge
        while edge < edges.size and (
            bucket_of(edges[edge], low, per_unit, n_buckets - 1.0) == bucket
        ):
            edge += 1
    first_edge[n_buckets] = edges.size


@inlined
def cell_at(value, edge, edge_value):
    """Return the cell of a value that lies above all edges before `edge`, and not behind it."""
    return 2 * edge + (2 if value > edge_value else 0) + (1 if value == edge_value else 0)


@kernel
def find_edge(value, padded, first_edge, bucket):
    """Return the first edge of a bucket that is not below the value, or the edge behind it.

    A function of its own: its arrays make a call dear, and only crowded buckets need one.
    """
    first = np.int64(first_edge[bucket])
    stop = np.int64(first_edge[bucket + np.uint32(1)])
    if stop - first <= _SHORT:
        while first < stop and padded[first] < value:
            first += 1
    else:
        while first < stop:
            middle = (first + stop) >> 1
            if padded[middle] < value:
                first = middle + 1
            else:
                stop = middle
    return first
