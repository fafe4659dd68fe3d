"""Eight replicates side by side: what rows add to sums, as vectors of eight weights."""

from contextlib import contextmanager

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastpsr.kernels.compiler import is_plain
from fastpsr.kernels.sizes import DEGREE, LANES

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_SINGLE = ir.VectorType(ir.FloatType(), LANES)
_ZERO = ir.Constant(_VECTOR, None)


@intrinsic
def _compiled_multiply_lanes(typing_context, units, one, other, w, row):
    def generate(context, builder, signature, arguments):
        kind, _, _, kind_of_w, _ = signature.args
        units, one, other, w, row = arguments
        sides = [
            builder.load(_lanes_at(context, builder, kind, units, each, _SINGLE), align=4)
            for each in (one, other)
        ]
        product = builder.fpext(builder.fmul(*sides), _VECTOR)
        builder.store(product, _lanes_at(context, builder, kind_of_w, w, row), align=8)
        return context.get_dummy_value()

    return types.void(units, types.int64, types.int64, w, types.int64), generate


@intrinsic
def _compiled_add_column(typing_context, w, column, size, total):
    def generate(context, builder, signature, arguments):
        kind_of_w, kind, _, kind_of_total = signature.args
        w, column, size, total = arguments
        values = context.make_array(kind)(context, builder, column).data
        first = ir.Constant(ir.IntType(64), 0)
        with (
            _held(context, builder, kind_of_total, total, [first]) as (held,),
            cgutils.for_range(builder, size) as loop,
        ):
            place = _lanes_at(context, builder, kind_of_w, w, loop.index)
            weights = builder.load(place, align=8)
            value = _spread(builder, builder.load(builder.gep(values, [loop.index])))
            counts = builder.fcmp_ordered(">", weights, _ZERO)  # weight 0 wins over inf
            added = builder.select(counts, builder.fmul(weights, value), _ZERO)
            builder.store(builder.fadd(builder.load(held), added), held)
        return context.get_dummy_value()

    return types.void(w, column, types.int64, total), generate


@intrinsic
def _compiled_add_polynomials(typing_context, w, column, size, total):
    def generate(context, builder, signature, arguments):
        kind_of_w, kind, _, kind_of_total = signature.args
        w, column, size, total = arguments
        values = context.make_array(kind)(context, builder, column).data
        rows = [ir.Constant(ir.IntType(64), k) for k in range(DEGREE)]
        with (
            _held(context, builder, kind_of_total, total, rows) as sums,
            cgutils.for_range(builder, size) as loop,
        ):
            place = _lanes_at(context, builder, kind_of_w, w, loop.index)
            weights = builder.load(place, align=8)
            t = builder.load(builder.gep(values, [loop.index]))
            twice = builder.fadd(t, t)
            before, now = ir.Constant(ir.DoubleType(), 1.0), t
            for k in range(DEGREE):
                product = builder.fmul(weights, _spread(builder, now), flags=["contract"])
                added = builder.fadd(builder.load(sums[k]), product, flags=["contract"])
                builder.store(added, sums[k])
                before, now = now, builder.fsub(builder.fmul(twice, now), before)
        return context.get_dummy_value()

    return types.void(w, column, types.int64, total), generate


@contextmanager
def _held(context, builder, kind, total, rows):
    """Hold rows of `total` in registers, and store them at the end."""
    places = [_lanes_at(context, builder, kind, total, row) for row in rows]
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in places]
    for place, held in zip(places, sums, strict=True):
        builder.store(builder.load(place, align=8), held)
    yield sums
    for place, held in zip(places, sums, strict=True):
        builder.store(builder.load(held), place, align=8)


def _lanes_at(context, builder, kind, array, row, vector=_VECTOR):
    """Return the address of a row of eight numbers."""
    data = context.make_array(kind)(context, builder, array).data
    place = builder.mul(row, ir.Constant(ir.IntType(64), LANES))
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _spread(builder, value):
    lanes = builder.insert_element(
        ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(lanes, lanes, zeros)


def _plain_multiply_lanes(units, one, other, w, row):
    w[row] = units[one] * units[other]


def _plain_add_column(w, column, size, total):
    for i in range(size):
        counts = w[i] > 0.0  # weight 0 wins over inf
        total[0][counts] += w[i][counts] * column[i]


def _plain_add_polynomials(w, column, size, total):
    for i in range(size):
        before, now = 1.0, column[i]
        for k in range(DEGREE):
            total[k] += w[i] * now
            before, now = now, 2.0 * column[i] * now - before


#: ``multiply_lanes(units, one, other, w, row)`` writes ``units[one] * units[other]`` to ``w[row]``;
#: all arrays have rows of eight.
multiply_lanes = _plain_multiply_lanes if is_plain() else _compiled_multiply_lanes
#: ``add_column(w, column, size, total)`` adds ``w[i] * column[i]`` of `size` rows to ``total[0]``.
add_column = _plain_add_column if is_plain() else _compiled_add_column
#: ``add_polynomials(w, column, size, total)`` adds w times T_1 to T_7 of a column to ``total[:7]``.
add_polynomials = _plain_add_polynomials if is_plain() else _compiled_add_polynomials
