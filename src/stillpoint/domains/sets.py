"""The sets plays may be confined to."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, number, positive, real, shown, vector
from stillpoint.domains import _sets
from stillpoint.domains._sets import Region
from stillpoint.domains.base import Domain


@dataclass(frozen=True)
class Everywhere(Domain):
    """The whole space: no constraint."""

    def reach(self, dim: int) -> float:
        """Return infinity."""
        return math.inf

    def _compiled(self, dim: int) -> Region:
        """Return the kind; there are no parameters."""
        return Region(_sets.EVERYWHERE, np.empty(0))


@dataclass(frozen=True)
class Ball(Domain):
    """The ball {w : ‖w − center‖ ≤ radius}.

    Parameters
    ----------
    radius : float
        Above 0.
    center : array, optional
        One value a coordinate, kept as a tuple; None is the origin, in any dimension.
    """

    radius: float
    center: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("radius", self.radius))
        if self.center is not None:
            object.__setattr__(self, "center", _coordinates("center", self.center))

    def check(self, dim: int) -> None:
        """Raise ValueError unless the centre has `dim` coordinates."""
        super().check(dim)
        _fits("center", self.center, dim)

    def reach(self, dim: int) -> float:
        """Return radius + ‖center‖."""
        self.check(dim)
        return (
            self.radius
            if self.center is None
            else self.radius + math.hypot(*np.asarray(self.center))
        )

    def _compiled(self, dim: int) -> Region:
        """Return the kind, and the radius before the centre."""
        self.check(dim)
        params = np.zeros(1 + dim)
        params[0] = self.radius
        if self.center is not None:
            params[1:] = self.center
        return Region(_sets.BALL, params)

    def _nearest(self, w: Array, values: Array, vectors: Array) -> Array:
        from stillpoint.domains.metric import nearest_in_ball

        center = self._compiled(w.size)[1][1:]
        return np.asarray(center + nearest_in_ball(self.radius, w - center, values, vectors))


@dataclass(frozen=True)
class Box(Domain):
    """The box {w : low ≤ w ≤ high}, coordinate by coordinate.

    Parameters
    ----------
    low, high : float or array
        A number for all coordinates, or one value a coordinate, kept as a tuple; −inf and inf leave
        a side open.
    """

    low: ArrayLike
    high: ArrayLike

    def __post_init__(self) -> None:
        low, high = _side("low", self.low), _side("high", self.high)
        if low.ndim == high.ndim == 1 and low.size != high.size:
            raise ValueError(
                f"low must have as many values as high: got {low.size} and {high.size}; drop or add"
                " some"
            )
        empty = (low > high) | (low == math.inf) | (high == -math.inf)
        if empty.any():
            i = int(np.argmax(empty))
            a, b = (
                float(side[i])
                for side in np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
            )
            raise ValueError(
                f"low must not be above high: got low {a} and high {b}; leave room between them"
            )
        object.__setattr__(self, "low", _plain(low))
        object.__setattr__(self, "high", _plain(high))

    def check(self, dim: int) -> None:
        """Raise ValueError unless sides given by coordinate have `dim` of them."""
        super().check(dim)
        _fits("low", self.low, dim)
        _fits("high", self.high, dim)

    def reach(self, dim: int) -> float:
        """Return the norm of the farthest corner."""
        _, params = self._compiled(dim)
        return math.hypot(*np.maximum(np.abs(params[:dim]), np.abs(params[dim:])))

    def _compiled(self, dim: int) -> Region:
        """Return the kind, and the lower sides before the upper ones."""
        self.check(dim)
        params = np.empty(2 * dim)
        params[:dim] = self.low
        params[dim:] = self.high
        return Region(_sets.BOX, params)

    def _nearest(self, w: Array, values: Array, vectors: Array) -> Array:
        from stillpoint.domains.metric import nearest_in_box

        low, high = np.split(self._compiled(w.size)[1], 2)
        return self.project(nearest_in_box(low, high, w, values, vectors))


@dataclass(frozen=True)
class Simplex(Domain):
    """The simplex {w : w ≥ 0, Σ w = total}.

    Parameters
    ----------
    total : float, default 1
        Above 0.
    """

    total: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", positive("total", self.total))

    def reach(self, dim: int) -> float:
        """Return the norm of a corner, total."""
        return self.total

    def _compiled(self, dim: int) -> Region:
        """Return the kind and the total."""
        return Region(_sets.SIMPLEX, np.array([self.total]))

    def _nearest(self, w: Array, values: Array, vectors: Array) -> Array:
        from stillpoint.domains.metric import nearest_in_simplex

        return nearest_in_simplex(self.total, w, values, vectors)


@dataclass(frozen=True)
class HalfSpace(Domain):
    """The half-space {w : ⟨normal, w⟩ ≤ offset}.

    Parameters
    ----------
    normal : array
        One value a coordinate, not all 0, kept as a tuple; any length.
    offset : float
        The largest ⟨normal, w⟩ in the set.
    """

    normal: ArrayLike
    offset: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", _coordinates("normal", self.normal))
        object.__setattr__(self, "offset", number("offset", self.offset))
        if not np.any(np.asarray(self.normal)):
            raise ValueError(f"normal must not be 0: got {self.normal!r}; point it out of the set")
        if not math.isfinite(self._unit()[0]):
            raise ValueError(
                f"offset is too large for normal: got {self.offset!r}; rescale the two"
            )

    def check(self, dim: int) -> None:
        """Raise ValueError unless the normal has `dim` coordinates."""
        super().check(dim)
        _fits("normal", self.normal, dim)

    def reach(self, dim: int) -> float:
        """Return infinity."""
        return math.inf

    def _compiled(self, dim: int) -> Region:
        """Return the kind, and the offset before the normal, rescaled to a normal of length 1."""
        self.check(dim)
        return Region(_sets.HALF_SPACE, self._unit())

    def _nearest(self, w: Array, values: Array, vectors: Array) -> Array:
        from stillpoint.domains.metric import nearest_in_half_space

        offset, *normal = self._unit().tolist()
        return self.project(nearest_in_half_space(np.array(normal), offset, w, values, vectors))

    def _unit(self) -> Array:
        normal = np.asarray(self.normal, dtype=np.float64)
        largest = float(np.abs(normal).max())
        length = math.hypot(*(normal / largest))
        # Python's float division: NumPy would warn where it overflows, and the caller has a better
        # message
        offset = float(self.offset) / length / largest
        return np.concatenate([[offset], normal / largest / length])


@dataclass(frozen=True)
class Projection(Domain):
    """The set onto which a function projects; learners on it are not compiled.

    Parameters
    ----------
    fn : callable
        The Euclidean projection onto a closed convex set, from shape (dim,) to the same shape.
    radius : float, default inf
        The supremum of ‖w‖ over the set, where it is known.
    """

    fn: Callable[[Array], ArrayLike]
    radius: float = math.inf

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise ValueError(
                f"fn must be callable: got {self.fn!r}; give a function from a vector to its"
                " projection"
            )
        if self.radius != math.inf:
            object.__setattr__(
                self,
                "radius",
                positive("radius", self.radius, "give a number above 0, or math.inf"),
            )

    def reach(self, dim: int) -> float:
        """Return the stated radius."""
        return self.radius

    def project(self, w: ArrayLike) -> Array:
        """Return fn(w), checked, as a new array."""
        z = np.asarray(w)  # a copy already, as any projection that is not compiled is given
        return vector("fn(w)", self.fn(z), z.size, "return a finite vector")


def _coordinates(name: str, value: ArrayLike) -> tuple[float, ...]:
    result = np.atleast_1d(finite(name, value))
    if result.ndim != 1 or result.size == 0:
        raise ValueError(
            f"{name} must be one-dimensional: got shape {result.shape}; pass one value a coordinate"
        )
    return tuple(result.tolist())


def _side(name: str, value: ArrayLike) -> Array:
    remedy = "give a number or one value a coordinate; -inf and inf leave a side open"
    result = real(name, value, remedy)
    if result.ndim > 1 or result.size == 0 or np.isnan(result).any():
        raise ValueError(
            f"{name} must be a number or a vector, without NaN: got {shown(value)}; {remedy}"
        )
    return result


def _plain(side: Array) -> float | tuple[float, ...]:
    return float(side) if side.ndim == 0 else tuple(side.tolist())


def _fits(name: str, value: Any, dim: int) -> None:
    if isinstance(value, tuple) and len(value) != dim:
        raise ValueError(
            f"{name} must have {dim} values, one a coordinate: got {len(value)}; give"
            f" dim={len(value)} or another {name}"
        )
