"""Weights by which partitions of the trials count alike."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError


def equalized_weights(
    y_true: NDArray[np.uint8], columns: Mapping[str, tuple[list[str], NDArray[np.int64]]]
) -> NDArray[np.float64]:
    """Weigh a trial by N_c / (P n_cp): class c, its N_c trials, P partitions, n_cp in its own.

    `columns` are the values of each column and each row's place among them.
    """
    if not columns:
        raise ArgumentError("columns", "must name at least one column")
    partition = np.zeros(y_true.size, np.int64)
    for values, places in columns.values():
        _, partition = np.unique(partition * len(values) + places, return_inverse=True)
    n_partitions = int(partition.max()) + 1
    counts = np.bincount(partition * 2 + y_true, minlength=2 * n_partitions).reshape(-1, 2)
    lacking = np.flatnonzero((counts == 0).any(axis=1))
    if lacking.size:
        said = []
        for p in lacking[:3]:
            row = int((partition == p).argmax())
            where = ", ".join(
                f"{n}={values[places[row]]}" for n, (values, places) in columns.items()
            )
            said.append(f"{where} has no {'targets' if counts[p, 1] == 0 else 'non-targets'}")
        more = f", and {lacking.size - 3:,} more" if lacking.size > 3 else ""
        rule = f"must make partitions that have both classes, but {'; '.join(said)}{more}"
        raise ArgumentError("columns", rule)
    per_trial = counts.sum(axis=0) / (n_partitions * counts)
    return np.asarray(per_trial[partition, y_true])
