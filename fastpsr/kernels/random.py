"""Random numbers by counter: a stream for every (seed, replicate, block), and binomial draws.

A stream is SplitMix64 (Steele, Lea and Flood, 2014, doi:10.1145/2660193.2660195): its n-th number
is a mixing function of start + n x a constant. The start is a hash of what the stream is for, so
that any part of the work can be done anywhere, in any order, with the same bits.
"""

import math

import numpy as np

from fastpsr.kernels.compiler import inlined, kernel

STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_UNIT = 2.0**-53

_INVERSION_BELOW = 10.0  # expected count; above, rejection is faster
# log k! minus Stirling's (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for small k
_STIRLING = np.array(
    [
        math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
        for k in range(10)
    ]
)


@inlined
def mixed(state):
    """Return the random number of a state of 64 bits."""
    z = (state ^ (state >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@inlined
def stream_of(seed, replicate, block):
    """Return the state that a stream begins with."""
    state = mixed(np.uint64(seed) + STEP)
    state = mixed((state ^ np.uint64(replicate)) + STEP)
    return mixed((state ^ np.uint64(block)) + STEP)


@inlined
def unit_of(number):
    """Return a float64 of [0, 1) made of 53 bits of a random number."""
    return np.float64(number >> _S11) * _UNIT


@kernel
def draw_binomial(n, p, state):
    """Return (count, state): successes among n trials of probability p, and the stream's state."""
    if n <= 0 or p <= 0.0:
        return np.int64(0), state
    if p >= 1.0:
        return np.int64(n), state
    flipped = p > 0.5
    share = 1.0 - p if flipped else p
    if n * share < _INVERSION_BELOW:
        count, state = _by_inversion(n, share, state)
    else:
        count, state = _by_rejection(n, share, state)
    return np.int64(n - count if flipped else count), state


@kernel
def _by_inversion(n, p, state):
    """Walk up the distribution function from 0."""
    odds = p / (1.0 - p)
    none = math.exp(n * math.log1p(-p))
    while True:
        state += STEP
        u = unit_of(mixed(state))
        term = none
        for count in range(n + 1):
            if u < term:
                return np.int64(count), state
            u -= term
            term *= odds * (n - count) / (count + 1.0)
        # rounding left a little of u over: draw again


@kernel
def _stirling_tail(k):
    if k < 10:
        return _STIRLING[int(k)]
    inverse = 1.0 / (k + 1.0)
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))


@kernel
def _by_rejection(n, p, state):
    """Draw by transformed rejection: W. Hoermann, 1993, doi:10.1080/00949659308811496."""
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = n * p + 0.5
    inside = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    odds = p / (1.0 - p)
    mode = math.floor((n + 1.0) * p)
    while True:
        state += STEP
        u = unit_of(mixed(state)) - 0.5
        state += STEP
        v = unit_of(mixed(state))
        edge = 0.5 - abs(u)
        count = math.floor((2.0 * a / edge + b) * u + center) if edge > 0.0 else -1.0
        if edge >= 0.07 and v <= inside:
            return np.int64(count), state
        if count < 0 or count > n:
            continue
        height = math.log(v * alpha / (a / (edge * edge) + b)) if v > 0.0 else -math.inf
        bound = (
            (mode + 0.5) * math.log((mode + 1.0) / (odds * (n - mode + 1.0)))
            + (n + 1.0) * math.log((n - mode + 1.0) / (n - count + 1.0))
            + (count + 0.5) * math.log(odds * (n - count + 1.0) / (count + 1.0))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(count)
            - _stirling_tail(n - count)
        )
        if height <= bound:
            return np.int64(count), state
