"""How many units in the last place the elementary functions are off, over their range."""

import numpy as np

from fastpsr import kernels
from fastpsr.kernels import elementary
from fastpsr.kernels.compiler import kernel

PROMISED = 2.0
LARGEST = float(np.finfo(np.float64).max)


@kernel
def _log1p(values, out):
    for i in range(values.size):
        out[i] = elementary.log1p_of_unit(values[i])


@kernel
def _log1p_whole(values, out):
    for i in range(values.size):
        out[i] = elementary.log1p_of_nonnegative(values[i])


def log1p_of_unit(values):
    out = np.empty_like(values)
    _log1p(values, out)
    return out


def log1p_of_nonnegative(values):
    out = np.empty_like(values)
    _log1p_whole(values, out)
    return out


def log_of_nonnegative(values):
    """log(x / 1): the kernel subtracts log(1), which is 0."""
    return kernels.log_odds_from_posteriors(np.column_stack([np.ones_like(values), values]))


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


#: Function, the same in extended precision, and the ends of what it is for.
FUNCTIONS = {
    "exp": (kernels.exp, np.exp, [(-746.0, 0.0)]),
    "log": (log_of_nonnegative, np.log, [(5e-324, LARGEST)]),
    "log1p": (log1p_of_unit, np.log1p, [(0.0, 1.0)]),
    "log1p of any": (log1p_of_nonnegative, np.log1p, [(0.0, 100.0), (0.0, LARGEST)]),
    "softplus": (
        kernels.softplus,
        lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
        [(-746.0, 746.0), (-LARGEST, LARGEST)],
    ),
    "sigmoid": (kernels.sigmoid, _sigmoid, [(-746.0, 746.0)]),
}


def inputs(name, n, seed):
    """Numbers over the range: evenly, of every magnitude, and near the ends and to each other."""
    rng = np.random.default_rng([seed, len(name)])
    parts = []
    for low, high in FUNCTIONS[name][2]:
        ends = [x for x in (low, high, low / 2, 0.0) if low <= x <= high and np.isfinite(x)]
        if np.isfinite(high - low):
            parts.append(rng.uniform(low, high, n))
        with np.errstate(all="ignore"):
            sizes = 10.0 ** rng.uniform(-324, np.log10(max(abs(low), abs(high))), n)
            parts.append(sizes * np.where(rng.random(n) < 0.5, np.sign(low) or 1.0, 1.0))
            parts.append(rng.uniform(max(low, -40.0), min(high, 40.0), n))
            parts.append(2.0 ** rng.integers(-1074, 1024, n // 8) * (1.0 if high > 0 else -1.0))
            for end in ends:
                steps = rng.integers(-2000, 2001, n // 8)
                parts.append(end + steps * np.spacing(abs(end)))
    x = np.concatenate(parts)
    low, high = min(r[0] for r in FUNCTIONS[name][2]), max(r[1] for r in FUNCTIONS[name][2])
    return x[(x >= low) & (x <= high)]


def worst(name, n=200_000, seed=0):
    """Return (worst error in ulp, where, number of inputs)."""
    function, extended, _ = FUNCTIONS[name]
    x = inputs(name, n, seed)
    with np.errstate(under="ignore", over="ignore"):
        expected = extended(x.astype(np.longdouble))
        ulp = np.spacing(np.abs(expected.astype(np.float64)))
        error = np.abs(function(x).astype(np.longdouble) - expected) / ulp
    place = int(error.argmax())
    return float(error[place]), float(x[place]), x.size
