"""How many replicates are computed at once: what time, memory and reads of the data allow."""

from collections.abc import Iterator

from fastpsr.data import Data, PartitionedPredictions
from fastpsr.data.budget import memory_budget

_DRAWS_PER_CHUNK = 200_000_000  # samples times replicates between looks at the clock: under 0.5 s
_BYTES_PER_CHUNK = 1 << 27
_MOST_PER_READ = 2048  # replicates
_N_READING = 2  # replicates, and subsets, are computed in the same reads
_BYTES_PER_ROW = 64  # of a replicate that is computed from its samples: weights and scores


def chunks_of(n_replicates: int, data: Data, n_numbers: int) -> Iterator[range]:
    """Cut replicates into chunks, each with little time and memory.

    For data in parts a chunk is as large as the memory budget allows, since each chunk is a read.
    All passes that share the reads have the same chunks, for which the numbers of all are held.
    """
    n_bytes = 8 * max(n_numbers, 1)
    if isinstance(data, PartitionedPredictions):
        n_held = 2 + data.source.n_parts.bit_length()  # sums of parts in the tree
        most = min(_MOST_PER_READ, memory_budget() // (_N_READING * n_held * n_bytes))
    else:
        most = min(_DRAWS_PER_CHUNK // len(data), _BYTES_PER_CHUNK // n_bytes)
    return ranges(n_replicates, max(1, most))


def ranges(n_replicates: int, size: int) -> Iterator[range]:
    """Cut replicates into ranges of a size, of which the last may be shorter."""
    for first in range(0, n_replicates, size):
        yield range(first, min(first + size, n_replicates))


def numbers_of_samples(data: Data) -> int:
    """Return how many numbers a replicate of the samples takes, while a part of them is read."""
    if not isinstance(data, PartitionedPredictions):
        return 0  # replicates are computed one after another
    of_part = int(data.facts.n_rows.max()) * _BYTES_PER_ROW // 8
    of_whole = len(data) * (2 + (data.n_classes if data.n_classes > 2 else 1))
    # each replicate may collect its samples, unless that would be refused
    return max(of_part, of_whole) if 8 * of_whole <= memory_budget() else of_part
