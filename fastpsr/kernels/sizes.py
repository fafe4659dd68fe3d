"""Constants shared by kernels and their callers; this module does not import Numba."""

__all__ = ["DEGREE", "LANES"]

DEGREE = 7  # of the highest Chebyshev polynomial on a cell of the axis of scores
LANES = 8  # replicates whose weights lie side by side, so that a row is read once for all
