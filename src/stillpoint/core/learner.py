"""What all learners are to Python: one thing that is copied whole and shows what builds it."""

import copy
import reprlib
from typing import Any, Protocol, Self


class _Configured(Protocol):
    @property
    def config(self) -> dict[str, Any]: ...


class Whole:
    """For classes with a `config`, the arguments that build them anew."""

    @property
    def _not_finite(self) -> frozenset[str]:
        """Names in `arrays()` of what may come to be infinite or NaN; in files, all else is finite
        or as in a new learner.
        """
        return frozenset()

    def __copy__(self) -> Self:
        """As `copy.deepcopy`: a copy that shared arrays with its original would play on in it."""
        return copy.deepcopy(self)

    def __repr__(self: _Configured) -> str:
        arguments = (f"{name}={_SHORT.repr(value)}" for name, value in self.config.items())
        return f"{type(self).__name__}({', '.join(arguments)})"


def beneath(prefix: str, part: Any) -> frozenset[str]:
    """`_not_finite` of a part whose state is saved under a prefix."""
    return frozenset(f"{prefix}{name}" for name in getattr(part, "_not_finite", ()))


def migrated(parts: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """A state that holds those of parts, each under its prefix, with theirs as this version would
    have saved them.
    """
    for prefix, part in parts.items():
        if hasattr(part, "migrated"):
            mine = {
                name[len(prefix) :]: value
                for name, value in state.items()
                if name.startswith(prefix)
            }
            state = {
                **{prefix + name: value for name, value in part.migrated(mine).items()},
                **state,
            }
    return state


_SHORT = reprlib.Repr()  # tables of constants are cut
_SHORT.maxother = _SHORT.maxstring = 200
