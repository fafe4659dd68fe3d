"""Logits of more than two classes, as given."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.caching import Remembering, cached_property
from fastpsr.checks import Floats


class Logits(Remembering):
    """Rows of logits (N, K), and the posteriors and losses computed from them on demand.

    Predictions of the same samples, such as replicates, share it.
    """

    def __init__(self, rows: NDArray[Any], likeliest: NDArray[Any]) -> None:
        self.rows = rows  #: float64 or float32, as given.
        self.likeliest = likeliest  #: Class of each row's largest logit, the first on ties, (N,).

    @classmethod
    def read(cls, name: str, z: NDArray[Any]) -> Self:
        """Check logits, and find the likeliest classes, in one pass."""
        is_single = z.dtype == np.float32 and z.ndim == 2  # kernels take these as they are
        rows = np.require(z, requirements=["C", "A"]) if is_single else checks.as_rows(name, z, 2)
        likeliest = np.empty(rows.shape[0], checks.label_type(rows.shape[1]))
        if rows.shape[1] < 2 or not kernels.logits.likeliest_of_logits(rows, likeliest):
            checks.as_log_rows(name, rows)  # raises
        return cls(rows, likeliest)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all parts, one after another."""
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.likeliest for part in parts]),
        )

    def __getitem__(self, index: Any) -> Self:
        """Return the rows selected by a slice, a mask or row numbers."""
        picked = type(self)(
            np.ascontiguousarray(self.rows[index]), np.ascontiguousarray(self.likeliest[index])
        )
        if "log_posteriors" in self.results:  # not to normalize again
            picked.results["log_posteriors"] = np.ascontiguousarray(self.log_posteriors[index])
        return picked

    def losses(self, name: str, y: NDArray[Any]) -> Floats:
        """Return the (N,) losses of this name against the labels, which must not change."""
        losses: Floats = self.remember(
            ("losses", name),
            lambda: kernels.logits.values_of_logits(name, self.rows, self.likeliest, y),
        )
        return losses

    @cached_property
    def log_posteriors(self) -> Floats:
        """Normalized log-posteriors, (N, K)."""
        out = np.empty(self.rows.shape)
        kernels.log_space.normalize_log_rows(self.rows, np.zeros(self.rows.shape[1]), out)
        return out

    @cached_property
    def confidences(self) -> Floats:
        """Posteriors of the likeliest classes, (N,)."""
        return kernels.logits.values_of_logits("confidence", self.rows, self.likeliest)
