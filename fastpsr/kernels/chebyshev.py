"""Eight sums at a time: what a sample adds to the Chebyshev sums of its cell.

Products of T_0 to T_3 with 1 and T_4 make one vector with few operations, and their sums give those
of T_0 to T_7 by differences that lose no digits.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fastpsr.kernels.compiler import is_plain
from fastpsr.kernels.sizes import DEGREE


@intrinsic
def _compiled_add_products(typing_context, sums, place, w, t):
    def generate(context, builder, signature, arguments):
        array, place, w, t = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        one, two = ir.Constant(t.type, 1.0), ir.Constant(t.type, 2.0)

        def next_after(before, now):  # T_(k + 1) = 2 t T_k - T_(k - 1)
            return builder.fsub(builder.fmul(builder.fmul(two, t), now), before)

        t2 = next_after(one, t)
        t3 = next_after(t, t2)
        t4 = next_after(t2, t3)
        vector = ir.VectorType(ir.DoubleType(), DEGREE + 1)
        pointer = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
        low = _from_lanes(builder, vector, [one, t, t2, t3] * 2)
        high = _from_lanes(builder, vector, [w] * 4 + [builder.fmul(w, t4)] * 4)
        added = builder.fadd(builder.load(pointer, align=8), builder.fmul(low, high))
        builder.store(added, pointer, align=8)
        return context.get_dummy_value()

    return types.void(sums, types.int64, types.float64, types.float64), generate


def _from_lanes(builder, vector, values):
    lanes = ir.Constant(vector, ir.Undefined)
    for lane, value in enumerate(values):
        lanes = builder.insert_element(lanes, value, ir.Constant(ir.IntType(32), lane))
    return lanes


def _plain_add_products(sums, place, w, t):
    t2 = 2.0 * t * t - 1.0
    t3 = 2.0 * t * t2 - t
    t4 = 2.0 * t * t3 - t2
    for lane, value in enumerate((1.0, t, t2, t3, t4, t4 * t, t4 * t2, t4 * t3)):
        sums[place + lane] += w * value


#: ``add_products(sums, place, w, t)`` adds w times eight products to ``sums[place : place + 8]``.
add_products = _plain_add_products if is_plain() else _compiled_add_products


def from_products(sums):
    """Return the sums of T_0 to T_7, (..., 8), from those that `add_products` made."""
    out = np.array(sums)
    # 2 T_4 T_k = T_(4 + k) + T_(4 - k)
    for k in (1, 2, 3):
        out[..., 4 + k] = 2.0 * sums[..., 4 + k] - sums[..., 4 - k]
    return out
