"""The interface of sets of allowed plays."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, count, finite, vector
from stillpoint.domains import _sets


class Domain(ABC):
    """A closed convex set of plays, with its Euclidean projection.

    Subclasses define `reach`, and `project`; sets of this library have compiled projections.

    Notes
    -----
    `project` is Π(w) = argmin ‖x − w‖ over the set, `project_in_metric` the same in the metric of a
    Newton step, argmin (x − w)'P⁻¹(x − w). One of one's own is given a copy of w, and what it
    returns must be a finite vector of the same shape.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("project", "project_in_metric"):
            own = vars(cls).get(name)
            if hasattr(own, "__get__"):  # a method, maybe a static one
                setattr(cls, name, _checked(name, own))
        if cls.project is not Domain.project and cls._compiled is not Domain._compiled:
            parent = next(each.__name__ for each in cls.__mro__ if "_compiled" in vars(each))
            raise ValueError(
                f"project must stay that of {parent}, which learners have compiled: got one of"
                f" {cls.__name__}; derive it from Domain, and call {parent}'s project in it"
            )

    @abstractmethod
    def reach(self, dim: int) -> float:
        """Return the supremum of ‖w‖ over the set in R^dim; infinite where the set is unbounded."""

    def _compiled(self, dim: int) -> _sets.Region | None:
        """Return the set as `_sets.project` takes it; None where it has no compiled projection."""
        return None

    def check(self, dim: int) -> None:
        """Raise ValueError unless the set fits R^dim."""
        count("dim", dim)

    def project(self, w: ArrayLike) -> Array:
        """Return the point of the set nearest to `w`, as a new array."""
        z = point(w)
        self.check(z.size)
        compiled = self._compiled(z.size)
        if compiled is None:
            raise NotImplementedError(
                f"{type(self).__name__} has neither a compiled projection nor its own project()"
            )
        result = np.empty_like(z)
        _sets.project(*compiled, z, result)
        return result

    def project_in_metric(self, w: ArrayLike, metric: ArrayLike) -> Array:
        """Return argmin over the set of (x − w)'metric⁻¹(x − w), as a new array.

        Parameters
        ----------
        w : array of shape (dim,)
            The point.
        metric : array of shape (dim, dim)
            Positive definite; directions in which it has less than 1e-14 of its largest are given
            that much.
        """
        z = point(w)
        self.check(z.size)
        if z.size == 1 or self.contains(z, tolerance=0.0):
            return self.project(z)
        given = finite("metric", metric)
        if given.shape != (z.size, z.size):
            raise ValueError(
                f"metric must have shape ({z.size}, {z.size}): got shape {given.shape}; pass one"
                " row a coordinate"
            )
        values, vectors = np.linalg.eigh(given)
        if not values[-1] > 0.0:
            raise ValueError(
                f"metric must be positive definite: got eigenvalues up to {values[-1]}; check it"
            )
        return self._nearest(z, np.maximum(values, 1e-14 * values[-1]), vectors)

    def _nearest(self, w: Array, values: Array, vectors: Array) -> Array:
        """`project_in_metric` for w outside the set, with the metric's eigenvalues and -vectors."""
        from stillpoint.domains.metric import nearest_by_cuts  # late: it brings scipy.optimize

        return nearest_by_cuts(self.project, w, values, vectors)

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Return whether `w` is within `tolerance`, and rounding, of its projection."""
        z = point(w)
        rounding = 4.0 * np.finfo(np.float64).eps * z.size * np.abs(z).max()
        return bool(np.abs(self.project(z) - z).max() <= tolerance + rounding)


def _checked(name: str, own: Any) -> Callable[..., Array]:
    """A projection that is not of this library, which may touch its argument or return anything."""

    @wraps(own)
    def project(self: Any, w: ArrayLike, *args: Any, **named: Any) -> Array:
        z = point(w)
        found = own.__get__(self, type(self))(z.copy(), *args, **named)
        what = f"{type(self).__name__}.{name}(w)"
        return np.array(vector(what, found, z.size, "return a finite vector"))

    return project


def as_domain(domain: Domain | None, dim: int) -> Domain:
    """Return a learner's argument `domain` as one that fits R^dim; None is everywhere."""
    from stillpoint.domains.sets import Everywhere  # late: sets build on this file

    if domain is not None and not isinstance(domain, Domain):
        raise ValueError(f"domain must be a domain: got {domain!r}; use one of sp.domains")
    result = Everywhere() if domain is None else domain
    result.check(dim)
    return result


def point(w: ArrayLike) -> Array:
    """Return `w` as a finite vector, contiguous and writable: one compiled version serves all."""
    z = np.atleast_1d(finite("w", w))
    if z.ndim != 1 or z.size == 0:
        raise ValueError(
            f"w must have shape (dim,): got shape {z.shape}; pass one value a coordinate"
        )
    return np.require(z, requirements=["C", "W"])
