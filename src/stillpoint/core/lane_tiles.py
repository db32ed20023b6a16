"""Tiles of rows of single series as lanes, and back: the transpose of LANES by LANES numbers."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from stillpoint.core.lanes import FLOATS, LANES, compiled, row_of

_MASK = ir.VectorType(ir.IntType(32), LANES)


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """The transpose of LANES vectors: blocks of 1, 2, 4 … numbers change sides."""
    size = 1
    while size < LANES:
        for r in range(LANES):
            if not r & size:
                a, b = rows[r], rows[r + size]
                left = [j + LANES - size if j & size else j for j in range(LANES)]
                right = [j + LANES if j & size else j + size for j in range(LANES)]
                rows[r] = builder.shuffle_vector(a, b, ir.Constant(_MASK, left))
                rows[r + size] = builder.shuffle_vector(a, b, ir.Constant(_MASK, right))
        size *= 2
    return rows


def _places(context: Any, builder: Any, kinds: Any, args: Any) -> list[Any]:
    """Where LANES numbers in each of some rows of an array are."""
    table, keys = (context.make_array(kinds[i])(context, builder, args[i]) for i in (0, 1))
    width, places = builder.extract_value(table.shape, 1), []
    for lane in range(LANES):
        key = builder.load(builder.gep(keys.data, [ir.Constant(ir.IntType(64), lane)]))
        at = builder.gep(table.data, [builder.add(builder.mul(key, width), args[2])])
        kind = ir.VectorType(context.get_data_type(kinds[0].dtype), LANES)
        places.append(builder.bitcast(at, kind.as_pointer()))
    return places


def _parts(context: Any, builder: Any, kinds: Any, args: Any) -> tuple[list[Any], list[Any]]:
    """Where LANES numbers in each of some rows of an array are, and these rows of lanes."""
    rows = []
    for j in range(LANES):
        at = builder.add(args[4], ir.Constant(args[4].type, j))
        rows.append(row_of(context, builder, kinds[3], args[3], at))
    return _places(context, builder, kinds, args), rows


def _gather_plain(table: Any, keys: Any, i: int, w: Any, at: int) -> None:
    w[at : at + LANES] = table[keys, i : i + LANES].T


def _scatter_plain(table: Any, keys: Any, i: int, w: Any, at: int) -> None:
    table[keys, i : i + LANES] = w[at : at + LANES].T


def _tile(table: Any, keys: Any, w: Any) -> Any:
    return types.void(table, keys, types.intp, w, types.intp)


@compiled(_gather_plain)
def gather(typing: Any, table: Any, keys: Any, i: Any, w: Any, at: Any) -> Any:
    """gather(table, keys, i, w, at): columns i … of LANES rows of a table to rows `at` … of w."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        places, rows = _parts(context, builder, sig.args, args)
        size = sig.args[0].dtype.bitwidth // 8
        read = [builder.load(place, align=size) for place in places]
        if size < 8:
            read = [builder.fpext(each, FLOATS) for each in read]
        for row, value in zip(rows, _turned(builder, read), strict=True):
            builder.store(value, row, align=8)
        return context.get_dummy_value()

    return _tile(table, keys, w), code


@compiled(_scatter_plain)
def scatter(typing: Any, table: Any, keys: Any, i: Any, w: Any, at: Any) -> Any:
    """scatter(table, keys, i, w, at): the inverse of `gather`."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        places, rows = _parts(context, builder, sig.args, args)
        size = sig.args[0].dtype.bitwidth // 8
        written = _turned(builder, [builder.load(row, align=8) for row in rows])
        if size < 8:
            kind = ir.VectorType(ir.FloatType(), LANES)
            written = [builder.fptrunc(each, kind) for each in written]
        # lanes that are copies of the first come first, so that the first is what stays
        for place, value in reversed(list(zip(places, written, strict=True))):
            builder.store(value, place, align=size)
        return context.get_dummy_value()

    return _tile(table, keys, w), code


@compiled(lambda table, keys, i: None)
def prefetch(typing: Any, table: Any, keys: Any, i: Any) -> Any:
    """prefetch(table, keys, i): have columns i … of LANES rows of a table on their way."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, one, one, one])
        name = "llvm.prefetch.p0"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        for place in _places(context, builder, sig.args, args):
            flags = [ir.Constant(one, value) for value in (0, 2, 1)]
            builder.call(function, [builder.bitcast(place, byte), *flags])
        return context.get_dummy_value()

    return types.void(table, keys, types.intp), code
