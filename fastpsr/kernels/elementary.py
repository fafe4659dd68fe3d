"""Branch-free exp, log and log1p that the compiler vectorizes; each correct to 2 ulp."""

import math

import numpy as np

from fastpsr.kernels.compiler import bits_to_float, elementary, float_to_bits

_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: the first has 21 trailing zero bits,
_LN2_LOW = 1.90821492927058770002e-10  # so that its products with exponents are exact
_LN2 = math.log(2.0)
_LOG2_E = 1.0 / _LN2
_LEAST_NORMAL_EXPONENT = -708.0  # of which exp is a normal number
_LEAST_EXPONENT = -1075.0 * _LN2  # exp of less is nearer to 0 than to any other number
_SQRT_HALF = math.sqrt(0.5)
_SQRT2 = math.sqrt(2.0)
_SQRT2_MINUS_1 = _SQRT2 - 1.0

# (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2, interpolated at ten Chebyshev nodes, for exp to 2e-17
# of its value: as many terms of its power series would miss by 6e-15.
_E2 = 0.5000000000000001
_E3 = 0.16666666666666669
_E4 = 0.041666666666624164
_E5 = 0.008333333333330065
_E6 = 0.0013888888917196719
_E7 = 0.00019841269863040545
_E8 = 2.4801521322368692e-05
_E9 = 2.7557268480310024e-06
_E10 = 2.7620075879983367e-07
_E11 = 2.5100375832561234e-08
# atanh(s) / s = sum of s^2n / (2 n + 1); on s^2 <= 0.0295 the term n = 11 is below 7e-19.
_A1, _A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9, _A10 = (1.0 / (2 * n + 1) for n in range(1, 11))


@elementary
def _exp_reduced(x):
    """Return p and an integer n so that exp(x) = p 2^n."""
    whole = np.floor(x * _LOG2_E + 0.5)
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = _E11
    p = p * r + _E10
    p = p * r + _E9
    p = p * r + _E8
    p = p * r + _E7
    p = p * r + _E6
    p = p * r + _E5
    p = p * r + _E4
    p = p * r + _E3
    p = p * r + _E2
    return p * r * r + r + 1.0, np.int64(whole)


@elementary
def exp_of_nonpositive(x):
    """exp(x) for x <= 0; nan stays nan."""
    vanishes = x < _LEAST_EXPONENT  # set apart: arithmetic on subnormal numbers is slow
    p, exponent = _exp_reduced(0.0 if vanishes else x)
    half = exponent >> 1  # 2^exponent may be subnormal: multiply in two steps
    p = p * bits_to_float((half + 1023) << 52) * bits_to_float((exponent - half + 1023) << 52)
    return 0.0 if vanishes else p


@elementary
def exp_of_distance(x):
    """exp(x) for x <= 0, and exp(-708) below -708: too little to change a sum of 1 or more."""
    p, exponent = _exp_reduced(x if x > _LEAST_NORMAL_EXPONENT else _LEAST_NORMAL_EXPONENT)
    return bits_to_float(float_to_bits(p) + (exponent << 52))  # times 2^exponent


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
def log1p_of_nonnegative(u):
    """log(1 + u) for u >= 0; inf gives inf, nan stays nan."""
    whole = 1.0 + u
    lost = u - (whole - 1.0) if u < 1.0 else 1.0 - (whole - u)  # in rounding, exactly
    bits = float_to_bits(whole)
    m = bits_to_float((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000)  # in [1, 2)
    high = m > _SQRT2
    exponent = (bits >> 52) - (1022 if high else 1023)
    scale = bits_to_float((1023 - min(exponent, 1023)) << 52)
    f = ((0.5 * m if high else m) - 1.0) + lost * scale
    head, tail = _log1p_reduced(u if exponent == 0 else f)
    power = float(exponent)
    value = power * _LN2_HIGH - ((tail - power * _LN2_LOW) - head)
    return value if u < math.inf else u


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
