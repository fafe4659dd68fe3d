"""Branch-free exp, log and log1p that the compiler vectorizes; each correct to 2 ulp."""

import math

import numpy as np

from fastpsr.kernels.compiler import bits_to_float, elementary, float_to_bits

_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: the first has 21 trailing zero bits,
_LN2_LOW = 1.90821492927058770002e-10  # so that its products with exponents are exact
_LN2 = math.log(2.0)
_LOG2_E = 1.0 / _LN2
_LEAST_EXPONENT = -1075.0 * _LN2  # exp of less is nearer to 0 than to any other number
_SQRT_HALF = math.sqrt(0.5)
_SQRT2_MINUS_1 = math.sqrt(2.0) - 1.0

# exp(r) = sum of r^n / n!; on |r| <= ln(2) / 2 the term n = 14 is below 5e-18.
_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = (
    1.0 / math.factorial(n) for n in range(2, 14)
)
# atanh(s) / s = sum of s^2n / (2 n + 1); on s^2 <= 0.0295 the term n = 11 is below 7e-19.
_A1, _A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9, _A10 = (1.0 / (2 * n + 1) for n in range(1, 11))


@elementary
def exp_of_nonpositive(x):
    """exp(x) for x <= 0; nan stays nan."""
    vanishes = x < _LEAST_EXPONENT  # set apart: arithmetic on subnormal numbers is slow
    x = 0.0 if vanishes else x
    whole = np.floor(x * _LOG2_E + 0.5)
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = _E13
    p = p * r + _E12
    p = p * r + _E11
    p = p * r + _E10
    p = p * r + _E9
    p = p * r + _E8
    p = p * r + _E7
    p = p * r + _E6
    p = p * r + _E5
    p = p * r + _E4
    p = p * r + _E3
    p = p * r + _E2
    p = p * r * r + r + 1.0
    exponent = np.int64(whole)
    half = exponent >> 1  # 2^exponent may be subnormal: multiply in two steps
    p = p * bits_to_float((half + 1023) << 52) * bits_to_float((exponent - half + 1023) << 52)
    return 0.0 if vanishes else p


@elementary
def _log1p_reduced(f):
    """log(1 + f) - f + f^2/2 - ... assembled so that f, which is exact, dominates; |f| < 0.415."""
    s = f / (2.0 + f)
    z = s * s
    p = _A10
    p = p * z + _A9
    p = p * z + _A8
    p = p * z + _A7
    p = p * z + _A6
    p = p * z + _A5
    p = p * z + _A4
    p = p * z + _A3
    p = p * z + _A2
    p = p * z + _A1
    half_square = 0.5 * f * f
    return f, half_square - s * (half_square + 2.0 * z * p)


@elementary
def log1p_of_unit(u):
    """log(1 + u) for 0 <= u <= 1."""
    large = u > _SQRT2_MINUS_1
    head, tail = _log1p_reduced((u - 1.0) * 0.5 if large else u)
    return ((_LN2_LOW if large else 0.0) - tail + head) + (_LN2_HIGH if large else 0.0)


@elementary
def log_of_nonnegative(x):
    """log(x) for x >= 0, also subnormal; 0 gives -inf, inf gives inf, nan stays nan."""
    tiny = x < 2.2250738585072014e-308
    bits = float_to_bits(x * 18014398509481984.0 if tiny else x)  # 2^54
    exponent = (bits >> 52) - (1023 + 54 if tiny else 1023)
    m = bits_to_float((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000)  # in [1/2, 1)
    low = m < _SQRT_HALF
    power = float(exponent) if low else exponent + 1.0
    head, tail = _log1p_reduced((2.0 * m if low else m) - 1.0)
    value = power * _LN2_HIGH - ((tail - power * _LN2_LOW) - head)
    value = -math.inf if x == 0.0 else value
    return x if not (x < math.inf) else value


@elementary
def softplus(x):
    """log(1 + exp(x))."""
    positive = x if x > 0.0 else 0.0
    return positive + log1p_of_unit(exp_of_nonpositive(-abs(x)))


@elementary
def sigmoid(x):
    """1 / (1 + exp(-x)), to full relative precision in the lower tail."""
    e = exp_of_nonpositive(-abs(x))
    upper = e / (1.0 + e)
    part = e if x < 0.0 else 1.0
    return part - part * upper  # the subtrahend is smaller, and so are the errors in it


@elementary
def sigmoids(x):
    """Return the sigmoids of -x and of x, from one exponential."""
    e = exp_of_nonpositive(-abs(x))
    upper = e / (1.0 + e)
    small = e - e * upper
    large = 1.0 - upper
    return (large, small) if x < 0.0 else (small, large)
