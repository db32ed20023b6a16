"""Norms in spaces of finitely many functions, of kernels whose state moves without noise.

Such a kernel (a season and a constant, say) has k(s, t) = b(s)'b(t) with b(t) = R'F(t − τ_1)'h and
RR' the covariance at τ_1, so that ‖U‖² = min ‖z‖² over b(τ_t)'z = u_t: least squares. A filter
would lose its digits on rounds that those before them all but determine: the first days of a year.
"""

from math import inf

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.kernels import StateSpace

_LEAST = 1e-12  # singular values below this part of the largest are rounding
_CLOSE = 1e-9  # by how much of the largest value a function of the space may miss one


def noiseless(space: StateSpace, times: Array) -> bool:
    """Whether the values at all times follow from the state at the first one."""
    return space.still and not space.nuggets(times).any()


def least_norm(space: StateSpace, u: Array, times: Array) -> tuple[float, Array]:
    """‖U‖, inf where u is not in the space, and a solution c of Kc = u."""
    variances, vectors = np.linalg.eigh(space.covariance(float(times[0])))
    root = vectors * np.sqrt(np.maximum(variances, 0.0))
    basis = np.stack([space.h @ space.matrix(float(t - times[0])) @ root for t in times])
    left, sizes, _ = np.linalg.svd(basis, full_matrices=False)
    kept = sizes > _LEAST * sizes[0]
    left, sizes = left[:, kept], sizes[kept, None]
    part = left.T @ u
    if np.abs(u - left @ part).max() > _CLOSE * np.abs(u).max():
        return inf, np.empty(0)
    part /= sizes
    return float(np.linalg.norm(part)), np.asarray(left @ (part / sizes))
