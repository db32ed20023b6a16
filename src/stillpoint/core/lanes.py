"""Vectors of eight numbers in compiled code: the same arithmetic for eight series at once.

Where eight series go through the same rounds, number i of all of them lies in row i of an array
(numbers, LANES). `get(w, i)` is that row, arithmetic and comparisons of such vectors, and of one
with a single number, go lane by lane, `put(w, i, v)` writes it back. There are no branches by lane:
`where(mask, a, b)` takes from one of two. Each lane gets the bits that it would get without the
others: nothing is summed across lanes, and no two operations are merged into one.

Without compilation vectors are NumPy arrays, and masks arrays of bools.
"""

import operator
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model

LANES = 8
Lanes = Any  # a vector or a mask, to a type checker

_config: Any = numba.config
FLOATS, _BITS = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.IntType(64), LANES)


class _Kind(types.Type):
    """The type of vectors."""


class _Mask(types.Type):
    """The type of masks."""


class _Block(types.Type):
    """The type of an array (numbers, LANES) by the place of its first number."""


_vector, _mask, _float = (
    _Kind(name="stillpoint.lanes"),
    _Mask(name="stillpoint.mask"),
    types.float64,
)
_block = _Block(name="stillpoint.block")


@register_model(_Kind)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS)


@register_model(_Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), LANES))


@register_model(_Block)
class _BlockModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.DoubleType().as_pointer())


def _spread(builder: Any, value: Any) -> Any:
    """A number in all lanes; a vector as it is."""
    if isinstance(value.type, ir.VectorType):
        return value
    empty = ir.Constant(FLOATS, ir.Undefined)
    one = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, empty, every)


# operators


def _operator(functions: tuple[Any, ...], out: Any, code: Callable[..., Any]) -> None:
    """Have operators take vectors, and vectors with numbers."""
    pairs = ((_vector, _vector), (_vector, _float), (_float, _vector))

    class Template(ConcreteTemplate):
        cases = [signature(out, *pair) for pair in pairs]  # noqa: RUF012

    def lowered(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return code(builder, *(_spread(builder, each) for each in args))

    for function in functions:
        infer_global(function)(type("Template", (Template,), {"key": function}))
        for pair in pairs:
            lower_builtin(function, *pair)(lowered)


def _logic(functions: tuple[Any, ...], name: str) -> None:
    class Template(ConcreteTemplate):
        cases = [signature(_mask, _mask, _mask)]  # noqa: RUF012

    for function in functions:
        infer_global(function)(type("Template", (Template,), {"key": function}))
        lower_builtin(function, _mask, _mask)(
            lambda context, builder, sig, args: getattr(builder, name)(*args)
        )


def _operators() -> None:
    for names, code in (
        ((operator.add, operator.iadd), "fadd"),
        ((operator.sub, operator.isub), "fsub"),
        ((operator.mul, operator.imul), "fmul"),
        ((operator.truediv, operator.itruediv), "fdiv"),
    ):
        _operator(names, _vector, lambda b, x, y, code=code: getattr(b, code)(x, y))
    for name, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "==")):
        own = (getattr(operator, name),)
        _operator(own, _mask, lambda b, x, y, sign=sign: b.fcmp_ordered(sign, x, y))
    _operator((operator.ne,), _mask, lambda b, x, y: b.fcmp_unordered("!=", x, y))
    _logic((operator.and_, operator.iand), "and_")
    _logic((operator.or_, operator.ior), "or_")

    class Template(ConcreteTemplate):
        key = operator.invert
        cases = [signature(_mask, _mask)]  # noqa: RUF012

    infer_global(operator.invert)(Template)
    lower_builtin(operator.invert, _mask)(lambda context, builder, sig, args: builder.not_(args[0]))


_operators()


# functions


def compiled(plain: Any) -> Any:
    """A function with code of its own; without compilation it is `plain`."""

    def chosen(typing: Any) -> Any:
        return plain if _config.DISABLE_JIT else intrinsic(typing)

    return chosen


def row_of(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """Where a row of an array (numbers, LANES) is."""
    data = array
    if kind is not _block:
        data = context.make_array(kind)(context, builder, array).data
    place = builder.mul(row, ir.Constant(row.type, LANES))
    return builder.bitcast(builder.gep(data, [place]), FLOATS.as_pointer())


@compiled(lambda w: w)
def block(typing: Any, w: Any) -> Any:
    """block(w): an array (numbers, LANES), which some caller holds, as one word."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.make_array(sig.args[0])(context, builder, args[0]).data

    return _block(w), code


@compiled(lambda w, i: w[i].copy())
def get(typing: Any, w: Any, i: Any) -> Any:
    """get(w, i): row i of an array (numbers, LANES)."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(row_of(context, builder, sig.args[0], *args), align=8)

    return _vector(w, types.intp), code


@compiled(lambda w, i, v: w.__setitem__(i, v))
def put(typing: Any, w: Any, i: Any, v: Any) -> Any:
    """put(w, i, v): write v, a vector or a number for all lanes, to row i."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = row_of(context, builder, sig.args[0], *args[:2])
        builder.store(_spread(builder, args[2]), at, align=8)
        return context.get_dummy_value()

    return types.void(w, types.intp, _vector if v is _vector else _float), code


@compiled(lambda value: np.full(LANES, value))
def spread(typing: Any, value: Any) -> Any:
    """spread(value): a number in all lanes."""
    return _vector(_float), lambda context, builder, sig, args: _spread(builder, args[0])


@compiled(np.where)
def where(typing: Any, mask: Any, a: Any, b: Any) -> Any:
    """where(mask, a, b): a in lanes where mask holds, b elsewhere; vectors or numbers."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(args[0], *(_spread(builder, each) for each in args[1:]))

    return _vector(_mask, *(_vector if each is _vector else _float for each in (a, b))), code


def _choice(sign: str) -> Any:
    def typing(typing: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            one, two = (_spread(builder, each) for each in args)
            return builder.select(builder.fcmp_ordered(sign, two, one), two, one)

        return _vector(*(_vector if each is _vector else _float for each in (a, b))), code

    return typing


# as min and max of two numbers: the first of them unless the second is less, or more
least = compiled(lambda a, b: np.where(np.less(b, a), b, a))(_choice("<"))
most = compiled(lambda a, b: np.where(np.greater(b, a), b, a))(_choice(">"))


def _native(name: str) -> Any:
    def typing(typing: Any, v: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = ir.FunctionType(FLOATS, [FLOATS])
            full = f"llvm.{name}.v{LANES}f64"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), args)

        return _vector(_vector), code

    return typing


root = compiled(np.sqrt)(_native("sqrt"))
size = compiled(np.abs)(_native("fabs"))
nearest = compiled(np.rint)(_native("rint"))
floor = compiled(np.floor)(_native("floor"))


@compiled(np.any)
def some(typing: Any, mask: Any) -> Any:
    """some(mask): whether it holds in any lane."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(_mask), code


def _constant(value: int) -> Any:
    return ir.Constant(_BITS, [value] * LANES)


@compiled(lambda v: np.ldexp(1.0, v.astype(int)))
def two_to(typing: Any, v: Any) -> Any:
    """two_to(v): 2^v, for whole numbers from −1022 to 1023."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        power = builder.add(builder.fptosi(args[0], _BITS), _constant(1023))
        return builder.bitcast(builder.shl(power, _constant(52)), FLOATS)

    return _vector(_vector), code


@compiled(lambda v: np.frexp(v)[1] - 1.0)
def power(typing: Any, v: Any) -> Any:
    """power(v): the whole number n with 2^n ≤ v < 2^(n + 1), for normal v > 0."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = builder.lshr(builder.bitcast(args[0], _BITS), _constant(52))
        return builder.sitofp(builder.sub(bits, _constant(1023)), FLOATS)

    return _vector(_vector), code
