"""Numba's `njit`, whose cache is a convenience and never a condition: where none can be read or
written, functions are compiled.

Numba itself refuses to import a function where no folder for its cache can be written to (a
read-only install of a user without a home), fails the call that compiled it when the disk is full,
and every call after a power cut that left half a file.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


@cache
def _sources() -> str:
    """A digest of all compiled sources. Numba looks at a function's own file: an edited one that it
    calls would go unseen.
    """
    files = sorted(
        (*Path(__file__).parents[1].rglob("_*.py"), Path(__file__).with_name("arithmetic.py"))
    )
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class _Cache(FunctionCache):
    """Numba's cache of one function; what goes wrong in it is as if nothing had been there."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _sources())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code from the disk; None where there is none that can be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # damaged pickles raise nearly anything
            with suppress(Exception):
                # else every process to come would meet the damage, and none could mend it
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code to the disk, where that can be done."""
        # a full disk, a folder that has become read-only, a damaged index
        with suppress(Exception):
            super().save_overload(sig, data)


def njit(*, cache: bool, **options: Any) -> Callable[[F], F]:
    """`numba.njit(cache=cache, **options)` with the cache above."""

    def compiled(function: F) -> F:
        dispatcher: Any = numba.njit(**options)(function)
        # with NUMBA_DISABLE_JIT it is the function itself
        if cache and hasattr(dispatcher, "enable_caching"):
            with suppress(RuntimeError, OSError):  # no folder can be written to
                dispatcher._cache = _Cache(function)
        return cast(F, dispatcher)

    return compiled


def _bare(typing: Any, value: Any) -> Any:
    def strip(context: Any, builder: Any, kind: Any, given: Any) -> Any:
        if isinstance(kind, types.Array):
            view = context.make_array(kind)(context, builder, given)
            view.meminfo = cgutils.get_null_value(view.meminfo.type)  # type: ignore[no-untyped-call]
            return view._getvalue()
        if isinstance(kind, types.BaseTuple):
            for i, part in enumerate(kind):
                stripped = strip(context, builder, part, builder.extract_value(given, i))
                given = builder.insert_value(given, stripped, i)
        return given

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return strip(context, builder, signature.args[0], args[0])

    return value(value), code


def _as_it_is(value: Any) -> Any:
    return value


# In compiled code: the same array, or (named) tuple of arrays, without its count of references.
# Every view of a row adds to that count and takes from it again, atomically: up to a third of a
# round's time. Only for arguments of compiled loops, which the caller holds while they run.
bare: Any = _as_it_is if numba.config.DISABLE_JIT else intrinsic(_bare)
