"""Numba's `njit`, whose cache is a convenience and never a condition.

Numba itself refuses to import a function where no folder for its cache can be written to (a
read-only install of a user without a home), fails the call that compiled it when the disk is full,
and every call after a power cut that left half a file. It looks at a function's own file only, so
that an edit of one that it calls would go unseen. And processes that start together compile the
same functions, each for itself. All that this package uses of Numba's private parts is here and in
`core/linking.py`; types of its own are in `core/lanes.py` and `core/reference.py`.
"""

import ast
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, types
from numba.core.caching import FunctionCache, NullCache
from numba.extending import intrinsic

from stillpoint.core.linking import link_into_callers

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parents[1]
# Seconds to wait for another process that compiles a function. The slowest takes 25 on an idle
# machine; whoever has waited in vain compiles for itself, and waits for nobody again.
_PATIENCE = 180.0
# Nothing here is called from C. And left out, `fastmath` would be that of whoever calls a function
# first: its bits would depend on which of its callers was compiled before the others. So is
# `forceinline`, which is for parts that one function calls.
_OPTIONS: dict[str, Any] = {
    "no_cfunc_wrapper": True,
    "fastmath": False,
    "forceinline": False,
}
_listeners: list[Callable[[str], None]] = []


@contextmanager
def compiling(callback: Callable[[str], None]) -> Iterator[None]:
    """Have `callback` called with the name of each function that is about to be compiled.

    It is called where the cache has nothing that can be used, before the seconds that compiling
    takes or that another process takes which compiles the same function, and in the thread that
    needs the function. Functions that it calls are compiled with it.
    """
    _listeners.append(callback)
    try:
        yield
    finally:
        _listeners.remove(callback)


def _announce(function: Callable[..., Any]) -> None:
    for callback in tuple(_listeners):
        callback(f"{function.__module__}.{function.__qualname__}")


# what a function depends on


@cache
def sources(file: Path) -> frozenset[Path]:
    """The files of this package that the code of `file` can reach, itself included.

    Compiled functions take what they call, and constants, from modules that their file imports, and
    those from others in turn.
    """
    found: set[Path] = set()
    rest = [file]
    while rest:
        file = rest.pop()
        if file not in found:
            found.add(file)
            rest += _imported(file)
    return frozenset(found)


@cache
def _imported(file: Path) -> frozenset[Path]:
    """The modules of this package that a file imports when it runs."""
    names: set[str] = set()
    rest: list[ast.AST] = [ast.parse(file.read_bytes())]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                folder = file.parents[node.level - 1].relative_to(_PACKAGE.parent)
                base = ".".join((*folder.parts, *base.split(".") * bool(base)))
            names.update((base, *(f"{base}.{alias.name}" for alias in node.names)))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            rest += node.orelse
        else:
            rest += ast.iter_child_nodes(node)
    inside = {name.split(".", 1)[1] for name in names if name.startswith(f"{_PACKAGE.name}.")}
    files = (_PACKAGE.joinpath(*name.split(".")).with_suffix(".py") for name in inside)
    return frozenset(each for each in files if each.is_file())


@cache
def _digest(file: Path) -> str:
    """A digest of all that the code of `file` can reach."""
    found = sorted(sources(file))
    return hashlib.sha256(b"\0".join(each.read_bytes() for each in found)).hexdigest()


def _fields(kinds: Any) -> tuple[Any, ...]:
    """Names of the fields of all named tuples among types, which Numba knows by their class alone.

    Code finds fields by their places, and the class may be in a file that the code does not reach.
    """
    tuples = (kind for kind in kinds if isinstance(kind, types.BaseTuple))
    return tuple((getattr(kind, "fields", ()), _fields(tuple(cast(Any, kind)))) for kind in tuples)


# the cache


class _Cache(FunctionCache):
    """Numba's cache of one function; what goes wrong in it is as if nothing had been there."""

    _shared = True  # until somebody has waited in vain
    _lock: Any = None

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _fields(getattr(sig, "args", sig)))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code from the disk; None where there is none that can be used."""
        found = self._load(sig, target_context)
        if found is None:
            _announce(self._py_func)
            if self._acquire():
                found = self._load(sig, target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code to the disk, where that can be done."""
        # a full disk, a folder that has become read-only, a damaged index
        with suppress(Exception):
            super().save_overload(sig, data)

    def releasing(self, compile: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`compile`, after which other processes may compile the function, or find it."""

        def compiled(sig: Any) -> Any:
            try:
                return compile(sig)
            finally:
                self._release()

        return compiled

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            # entries of other sources are then passed over, and overwritten in time
            self._cache_file._source_stamp = _digest(Path(self._py_func.__code__.co_filename))
            return super().load_overload(sig, target_context)
        except Exception:  # damaged pickles raise nearly anything
            with suppress(Exception):
                # else every process to come would meet the damage, and none could mend it
                self.flush()
            return None

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            with suppress(OSError):  # who waits for it makes it anew
                Path(lock.lock_file).unlink()
            lock.release()

    def _acquire(self) -> bool:
        """Whether this process is the only one that compiles the function now.

        Who compiles waits for nobody, so that processes cannot wait for each other in a circle; and
        the lock of a process that dies is free.
        """
        if not _Cache._shared:
            return False
        try:
            import filelock  # takes long to import

            lock = filelock.FileLock(f"{self._cache_file._index_path}.lock")
            lock.acquire(timeout=_PATIENCE, poll_interval=0.02)
        except Exception:  # no lock can be had on some file systems
            _Cache._shared = False
            return False
        self._lock = lock
        return True


class _NoCache(NullCache):
    """No cache, where none can be kept."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Nothing."""
        _announce(self._py_func)


def njit(*, cache: bool, **options: Any) -> Callable[[F], F]:
    """`numba.njit(cache=cache, **options)` with the cache above, linked into compiled callers.

    Numbers in calls from compiled code had better come from variables: for a constant, Numba
    compiles the function once more.
    """

    def compiled(function: F) -> F:
        dispatcher: Any = numba.njit(**(_OPTIONS | options))(function)
        if not hasattr(dispatcher, "enable_caching"):
            return function  # with NUMBA_DISABLE_JIT
        if cache:
            try:
                dispatcher._cache = kept = _Cache(function)
                dispatcher.compile = kept.releasing(dispatcher.compile)
            except (RuntimeError, OSError):  # no folder can be written to
                dispatcher._cache = _NoCache(function)
        link_into_callers(dispatcher, function, **(_OPTIONS | options))
        return cast(F, dispatcher)

    return compiled


def stripped(context: Any, builder: Any, kind: Any, given: Any) -> Any:
    """Code for a value of this type whose arrays have no count of references."""
    null: Any = cgutils.get_null_value
    if isinstance(kind, types.Array):
        view = context.make_array(kind)(context, builder, given)
        view.meminfo = null(view.meminfo.type)
        return view._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for i, part in enumerate(parts):
            own = stripped(context, builder, part, builder.extract_value(given, i))
            given = builder.insert_value(given, own, i)
    return given


def _bare(typing: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return stripped(context, builder, signature.args[0], args[0])

    return value(value), code


def _as_it_is(value: Any) -> Any:
    return value


# In compiled code: the same array, or (named) tuple of arrays, without its count of references.
# Every view of a row adds to that count and takes from it again, atomically: up to a third of a
# round's time. Only for arguments of compiled loops, which the caller holds while they run.
_config: Any = numba.config
bare: Any = _as_it_is if _config.DISABLE_JIT else intrinsic(_bare)
