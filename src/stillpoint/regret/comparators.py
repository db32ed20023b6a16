"""How much a comparator sequence u_1..u_T moves: the quantities that regret bounds use."""

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, count, finite, nonnegative


def sequence(u: ArrayLike) -> Array:
    """Return `u`, of shape (T,) or (T, d), as a finite array of shape (T, d)."""
    result = finite("u", u)
    if result.ndim not in (1, 2) or result.shape[0] == 0:
        raise ValueError(
            f"u must have shape (T,) or (T, d): got shape {result.shape}; pass one row a round"
        )
    # one compiled version serves all
    return np.require(result.reshape(len(result), -1), requirements=["C", "W"])


def path_length(u: ArrayLike, order: int = 1) -> float:
    """Path length P_T = Σ_{t≥2} ‖u_t − u_{t−1}‖.

    Parameters
    ----------
    u : array of shape (T,) or (T, d)
        The sequence.
    order : int, default 1
        m: the sum is Σ_{t>m} ‖Δ^m u_t‖ of differences of differences, 0 for polynomials below t^m.
        Bounds are stated in the first order, those of theorems of higher order too
        (`path_length_norm`).
    """
    return float(_steps(u, count("order", order)).sum())


def squared_path_length(u: ArrayLike) -> float:
    """Squared path length Σ_{t≥2} ‖u_t − u_{t−1}‖²."""
    return float((_steps(u) ** 2).sum())


def magnitude(u: ArrayLike) -> float:
    """Largest norm M = max_t ‖u_t‖ of a sequence."""
    return float(_lengths(sequence(u)).max())


def switches(u: ArrayLike, tolerance: float = 0.0) -> int:
    """Count the rounds t ≥ 2 with ‖u_t − u_{t−1}‖ > tolerance."""
    return int((_steps(u) > nonnegative("tolerance", tolerance)).sum())


def unit(values: Array, axis: int | None = None) -> Array:
    """A power of two of the size of the largest entry, along `axis`.

    Over it squares are floats, and no digit changes.
    """
    top = np.abs(values).max(axis=axis, initial=0.0)
    return np.asarray(np.ldexp(1.0, np.frexp(np.where(top > 0.0, top, 1.0))[1] - 1))


def _steps(u: ArrayLike, order: int = 1) -> Array:
    rows = sequence(u)
    return _lengths(np.diff(rows, n=min(order, len(rows)), axis=0))


def _lengths(rows: Array) -> Array:
    """The norm of each row, whatever its size."""
    units = unit(rows, axis=1)
    return np.asarray(units * np.linalg.norm(rows / units[:, None], axis=1))
