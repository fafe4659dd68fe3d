"""Scoring rules as weighted integrals over Bayes risks: the Beta family, and any weight at all."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.rules.base import Floats, ScoringRule
from fastpsr.rules.panels import Integrand, TailTables

__all__ = ["Beta", "Weighted"]


@dataclass(frozen=True, eq=False)
class Beta(ScoringRule):
    """The binary rule whose weight on cost parameters is a Beta density."""

    a: float
    b: float

    is_strict = True

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))

    def class_losses(self, log_q: Floats) -> Floats:
        if log_q.shape[1] != 2:
            raise ValueError(f"Beta needs a binary task, not {log_q.shape[1]} classes")
        return _both_losses(self._tables, log_q)

    def binary_losses(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        return self._tables.integrals(log_odds, y)

    def binary_slopes(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        return self._tables.slopes(log_odds, y)

    @cached_property
    def _tables(self) -> TailTables:
        return TailTables(_beta_integrand(self.a, self.b), _beta_integrand(self.b, self.a))


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0.0 < number < np.inf:
        raise ValueError(f"{name} must be a finite, positive number, not {value!r}")
    return number


def _both_losses(tables: TailTables, log_q: Floats) -> Floats:
    log_odds = log_q[:, 1] - log_q[:, 0]
    labels = np.zeros(log_odds.size, np.uint8)
    return np.column_stack([tables.integrals(log_odds, labels + k) for k in (0, 1)])


def _log_mean_exp(p: float, one_minus_p: float, d: Floats) -> Floats:
    """Return log(1 - p + p exp(d)), to full accuracy also where p is nearly 0 or 1."""
    excess = p * np.expm1(d)
    low = excess < -0.5
    far = np.log(one_minus_p + p * np.exp(np.where(low, d, 0.0)))
    return np.where(low, far, np.log1p(np.where(low, 0.0, excess)))


def _beta_integrand(a: float, b: float) -> Integrand:
    """Return what is integrated over v = logit a_1 for class 0: the density of v over a_1.

    The density is taken relative to its value at the mode, so that nothing of the size of a Beta
    function cancels, and normalised by its own integral.
    """
    mode, below, above = np.log(a) - np.log(b), b / (a + b), a / (a + b)

    def density(v: Floats) -> Floats:
        d = v - mode
        return np.asarray(
            np.exp(-a * _log_mean_exp(below, above, -d) - b * _log_mean_exp(above, below, d))
        )

    low, high = -40.0 - np.log1p(b), 40.0 + np.log1p(a)  # outside, exponentials to 1e-17
    width = np.sqrt(1.0 / a + 1.0 / b)
    near_mode = width * 2.0 ** np.arange(-1, 12)
    edges = np.concatenate([np.arange(low, high), [high], mode - near_mode, mode + near_mode])
    edges = np.unique(edges[(edges >= low) & (edges <= high)])
    whole = TailTables(*2 * [Integrand(density, edges, rise=a, fall=b)])
    total = whole.integrals(np.array([np.inf]), np.array([0], np.uint8))[0]
    return Integrand(lambda v: density(v) / total * (1.0 + np.exp(-v)), edges, a - 1.0, b)
