"""Compiled functions as parts of their callers: no machine code of their own, half the time.

Numba optimises every function, writes machine code for it, and then optimises it once more inside
each of its callers, since these link all that they call. Called from compiled code, a function of
this package is typed and lowered only; the one that Python calls is optimised with all its parts,
once. The numbers are the same: without `fastmath` no pass changes the order of arithmetic.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext


class _Part(JITCodeLibrary):
    """The code of a function for its callers to link, which never runs from where it is."""

    @property
    def codegen(self) -> Any:
        """What makes code; environments are for code that runs, and there is none to tell."""
        return _WithoutEnvironments(self._codegen)

    def _optimize_functions(self, ll_module: Any) -> None:
        pass

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _WithoutEnvironments:
    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, env: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class _Flags(Flags):
    """Options of a compilation, compared fast.

    For every operation in a function, Numba looks some forty of its own implementations up by these
    options, and compares them option by option: a fifth of its time.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Flags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


_HASH = hash(Flags())  # Numba's depends on the names of options alone


def link_into_callers(dispatcher: Any, function: Callable[..., Any], **options: Any) -> None:
    """Have compiled callers of a Numba function link it as a part."""
    compiler: Any = numba.njit
    part = compiler(**options, no_cpython_wrapper=True)(function)
    part.compile = _making(_Part, part.compile)
    # a function that calls itself is told by this count, whichever of the two is being compiled
    part._compiling_counter = dispatcher._compiling_counter
    dispatcher.compile = _making(JITCodeLibrary, dispatcher.compile)
    dispatcher.get_call_template = part.get_call_template
    dispatcher.get_overload = part.get_overload
    for each in (dispatcher, part):
        each._compiler._customize_flags = _Flags


def _making(library: type, compile: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`compile`, with the code in libraries of this class."""

    def compiled(sig: Any) -> Any:
        with global_compiler_lock, _uncollected():
            codegen: Any = cpu_target.target_context.codegen()
            counting: Any = NRTContext
            before = codegen._library_class, counting.get_meminfos
            codegen._library_class, counting.get_meminfos = library, counts
            try:
                return compile(sig)
            finally:
                codegen._library_class, counting.get_meminfos = before

    return compiled


_counted: dict[Any, bool] = {}  # types, and whether their values hold any count of references


def counts(context: Any, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """The counts of references inside a value, each with its type, in Numba's order.

    Numba writes code that takes a value apart to the last number of every shape, each time that a
    name is bound or goes; with states of dozens of arrays that is a third of all its instructions.
    """
    models = context._context.data_model_manager
    model = models[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for part, taken in model.traverse(builder):
        if part not in _counted:
            _counted[part] = models[part].contains_nrt_meminfo()
        if _counted[part]:
            found += counts(context, builder, part, taken(value))
    return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage: a compiler makes millions of small objects and leaves few behind, and
    going through them again and again takes longer than it is worth.
    """
    if gc.isenabled():
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
    else:  # by an outer function's compilation, or by whoever runs this process
        yield
