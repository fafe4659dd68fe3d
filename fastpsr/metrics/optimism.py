"""How the value of a metric depends on the number of samples, which decides its interval."""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "IS_LINEAR",
    "NO_BIAS",
    "NO_OPTIMISM",
    "OF_LOSSES",
    "ONE_TERM",
    "TWO_TERMS",
    "BestInterval",
    "Center",
    "Optimism",
]

#: What covered best in the study of coverage, docs/intervals.md.
BestInterval = Literal["percentile", "jackknife", "bca", "subsampling", "inverted test"]

#: Coefficients of the value and of its means over halves and quarters of the data.
Center = tuple[float, float, float]

_FIRST = 1.0 / (2.0 ** (2.0 / 3.0) - 1.0)  # a bias of n^(-2/3) is this multiple of (value - half)

NO_BIAS: Center = (1.0, 0.0, 0.0)
IS_LINEAR: Center = (2.0, -1.0, 0.0)  # a bias of 1 / n
ONE_TERM: Center = (1.0 + _FIRST, -_FIRST, 0.0)  # a bias of n^(-2/3)
#: A bias of b n^(-2/3) + d / n, which cancels since the coefficients solve
#: x + y + z = 1, x + 2^(2/3) y + 4^(2/3) z = 0 and x + 2 y + 4 z = 0.
TWO_TERMS: Center = (2.0 + 2.0 * _FIRST, -1.0 - 3.0 * _FIRST, _FIRST)


@dataclass(frozen=True)
class Optimism:
    """How a value that is optimized or fitted on the data is corrected, and how it spreads.

    Attributes
    ----------
    scale : {"plain", "log", "log of the rest"}
        Scale on which the interval is symmetric; "log of the rest" is that of 1 - value, for values
        from 0 to 1.
    center, center_of_units : Center
        Where samples are drawn, and where clusters or speakers are.
    spread : {"nested", "all", "halves"}
    spread_of_units : {"nested", "halves"}
        Standard error where samples are drawn, and where clusters or speakers are, see
        ``bootstrap/subsampling.py``.
    center_of_speakers : Center, optional
        Where speakers of both sides are drawn, with the jackknife over speakers as standard error.
    """

    scale: Literal["plain", "log", "log of the rest"] = "plain"
    center: Center = ONE_TERM
    center_of_units: Center = ONE_TERM
    spread: Literal["nested", "all", "halves"] = "nested"
    spread_of_units: Literal["nested", "halves"] = "nested"
    center_of_speakers: Center | None = None


#: Of values that are read off at a point of the data.
NO_OPTIMISM = Optimism(
    center=NO_BIAS, center_of_units=NO_BIAS, spread="halves", spread_of_units="halves"
)
#: Of means of losses that are not negative.
OF_LOSSES = Optimism("log", center=NO_BIAS, center_of_units=NO_BIAS)
