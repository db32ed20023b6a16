"""Named tuples by reference, and arrays by their place, in compiled code.

Numba hands a named tuple of arrays from function to function by value, five words and more for each
of its arrays: of twenty arrays, more than the arithmetic of a short function. `refer(value)` is one
word, from which fields are read as from the tuple itself. It is good as long as the function that
made it runs. Arrays that are read so have no count of references, see `core.jit.bare`.
"""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, models, register_model

from stillpoint.core.jit import stripped

_config: Any = numba.config


class _Reference(types.Type):
    """The type of a reference to a named tuple."""

    def __init__(self, tuple_: Any) -> None:
        self.tuple = tuple_
        super().__init__(name=f"stillpoint.reference({tuple_})")


@register_model(_Reference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        inside = manager.lookup(kind.tuple).get_value_type()
        super().__init__(manager, kind, inside.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = _Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        """The type of a field."""
        if name in kind.tuple.fields:
            return kind.tuple[kind.tuple.fields.index(name)]
        return None


@lower_getattr_generic(_Reference)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    place, own = kind.tuple.fields.index(name), ir.IntType(32)
    at = builder.gep(value, [ir.Constant(own, 0), ir.Constant(own, place)], inbounds=True)
    return stripped(context, builder, kind.tuple[place], builder.load(at))


def _refer(typing: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = cgutils.alloca_once(builder, args[0].type)
        builder.store(args[0], at)
        return at

    return _Reference(value)(value), code


def _as_it_is(value: Any) -> Any:
    return value


refer: Any = _as_it_is if _config.DISABLE_JIT else intrinsic(_refer)
