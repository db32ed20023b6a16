"""The RKHS norm of a comparator sequence, and functions of time through it.

‖U‖² = Σ_i u_i' K⁻¹ u_i is the least norm among the functions with u(τ_t) = u_t. For kernels with a
state space it is Σ_t ‖e_t‖²/S_t over the innovations of the Kalman filter without observation
noise: O(T·P²), and no Gram matrix.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_solve, cholesky

from stillpoint.core.validation import Array, finite, increasing
from stillpoint.kernels import Kernel, StateSpace
from stillpoint.kernels.base import as_kernel
from stillpoint.regret import _norms
from stillpoint.regret.comparators import sequence, unit
from stillpoint.regret.noiseless import least_norm, noiseless
from stillpoint.regret.sinc import SincBump

_BLOCK = 4_000_000  # numbers in one block of transition tables
# points at which an interpolant is tried, and by how much of the largest value it may miss one
_PROBES, _CLOSE = 64, 1e-4
_SAME = 1e-12  # values this close, relative to the largest, count as one


def blocks(space: StateSpace, times: Array) -> Iterator[tuple[slice, _norms.Steps]]:
    """Blocks of rounds, each with how the filter moves over them.

    The first round starts from 0 with noise P(τ_1).
    """
    still = np.ones((1, space.size)) if space.diagonal else np.eye(space.size)
    size = max(1, _BLOCK // max(1, space.size**2))
    for i in range(0, times.size, size):
        part = times[i : i + size]
        start = times[max(i - 1, 0) : i + part.size - 1]
        gaps = part[part.size - start.size :] - start
        if space.stationary:
            _, first, which = np.unique(gaps, return_index=True, return_inverse=True)
        else:
            first = which = np.arange(gaps.size)
        moves = [(space.transition(gaps[j]), space.noise(gaps[j], start[j])) for j in first]
        if i == 0:
            moves.append((still, space.covariance(times[0])))
            which = np.append(len(moves) - 1, which)
        f, q = (
            np.ascontiguousarray([move[side] for move in moves], dtype=np.float64)
            for side in (0, 1)
        )
        own = which.astype(np.int64), space.nuggets(part), space.diagonal, space.h
        steps = _norms.Steps(f, q, *own)
        yield slice(i, i + part.size), steps


def streaming_space(kernel: Kernel, times: Array, method: str) -> StateSpace | None:
    """The state space that `method` ("auto", "streaming" or "dense") runs on, None for dense."""
    if method not in ("auto", "dense", "streaming"):
        raise ValueError(
            f"method must be 'auto', 'dense' or 'streaming': got {method!r}; 'auto' serves most"
            " uses"
        )
    # kernels that live on part of the line reject times outside it
    as_kernel("kernel", kernel).diagonal(times)
    # HorizonFree streams as its mixture at any gap: norms must be those of the space that its
    # learners work in
    space = None if method == "dense" else kernel.state_space()
    if space is None and method == "streaming":
        raise ValueError(
            f"method must be 'dense' for {kernel!r}: got 'streaming'; this kernel has no state"
            " space"
        )
    return space


def rkhs_norm(
    kernel: Kernel, u: ArrayLike, times: ArrayLike | None = None, method: str = "auto"
) -> float:
    """RKHS norm of a sequence: ‖U‖ = (Σ_i u_i' K⁻¹ u_i)^{1/2}.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    u : array of shape (T,) or (T, d)
        The sequence.
    times : array, optional
        Its times, increasing; 1..T by default.
    method : {"auto", "streaming", "dense"}, default "auto"
        "streaming" filters (kernels with a state space), "dense" factors the Gram matrix, "auto"
        streams if it can.

    Returns
    -------
    float
        The norm of the interpolant of least norm; inf where there is none.
    """
    values = sequence(u)
    size = float(unit(values))
    values = values / size
    tau = _times(times, len(values))
    space = streaming_space(kernel, tau, method)
    if space is None:
        factor = _factor(kernel, tau, ", or use method='streaming' if it has a state space")
        return size * float(np.sqrt(np.sum(values * cho_solve((factor, True), values))))
    return size * _filter(space, values, tau)[0]


@dataclass(frozen=True, eq=False)
class Interpolant:
    """The function of least norm through a sequence: u(t) = Σ_i k(t, τ_i) c_i with u(τ_i) = u_i.

    Attributes
    ----------
    coefficients : array of shape (T,) or (T, d)
        c = K⁻¹u.
    norm : float
        ‖U‖ = √⟨u, c⟩.
    """

    kernel: Kernel
    times: Array
    coefficients: Array
    norm: float

    def __call__(self, t: ArrayLike) -> Array:
        """u(t), of the shape of `t` followed by that of one u_t."""
        at = finite("t", t)
        return np.asarray(self.kernel(at[..., None], self.times) @ self.coefficients)


@overload
def interpolate(
    kernel: Kernel,
    u: ArrayLike,
    times: ArrayLike | None = None,
    method: Literal["minimum-norm"] = "minimum-norm",
) -> Interpolant: ...
@overload
def interpolate(
    kernel: Kernel, u: ArrayLike, times: ArrayLike | None, method: Literal["sinc-bump"]
) -> SincBump: ...
@overload
def interpolate(
    kernel: Kernel, u: ArrayLike, times: ArrayLike | None = None, *, method: Literal["sinc-bump"]
) -> SincBump: ...
def interpolate(
    kernel: Kernel, u: ArrayLike, times: ArrayLike | None = None, method: str = "minimum-norm"
) -> Interpolant | SincBump:
    """Interpolate a sequence by a function of time.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    u : array of shape (T,) or (T, d)
        The sequence.
    times : array, optional
        Its times, increasing; 1..T by default.
    method : {"minimum-norm", "sinc-bump"}, default "minimum-norm"
        "minimum-norm" is the cheapest one in the kernel's space; "sinc-bump" the paper's (Theorem
        discrete-pl), which asks nothing of the kernel but needs times 1..T.
    """
    values = sequence(u)
    tau = _times(times, len(values))
    if method == "sinc-bump":
        if not np.array_equal(tau, np.arange(1.0, tau.size + 1.0)):
            raise ValueError(
                f"times must be 1..T for the sinc-bump: got {tau}; use method='minimum-norm'"
            )
        return SincBump(u)
    if method != "minimum-norm":
        raise ValueError(
            f"method must be 'minimum-norm' or 'sinc-bump': got {method!r}; pick one of the two"
        )
    size = float(unit(values))
    values = values / size
    space = streaming_space(kernel, tau, "auto")
    # a form with a smallest gap only approximates the kernel
    if space is None or space.min_gap > 0.0:
        coefficients = cho_solve((_factor(kernel, tau), True), values)
        norm = sqrt(np.sum(values * coefficients))
    else:
        norm, coefficients = _filter(space, values, tau, coefficients=True)
        if norm == inf:
            raise ValueError(
                f"u must lie in the kernel's space: no function in that of {kernel!r} takes these"
                " values; add a kernel that can follow them"
            )
    rows = np.unique(np.linspace(0, tau.size - 1, _PROBES).astype(np.int64))
    missed = np.abs(kernel(tau[rows][:, None], tau[None]) @ coefficients - values[rows]).max()
    if not missed <= _CLOSE:
        raise ValueError(
            f"u must be a sequence that {kernel!r} follows in floats: got values missed by"
            f" {size * missed:g} of {size:g}, for its Gram matrix is singular to rounding; use a"
            " rougher kernel, or rkhs_norm for the norm alone"
        )
    return Interpolant(kernel, tau, size * coefficients.reshape(np.shape(u)), size * norm)


def _times(times: ArrayLike | None, rounds: int) -> Array:
    tau = np.arange(1.0, rounds + 1.0) if times is None else increasing("times", times)
    if tau.size != rounds:
        raise ValueError(
            f"times must have {rounds} values, one a row of u: got {tau.size}; add or drop some"
        )
    return tau


def _factor(kernel: Kernel, times: Array, more: str = "") -> Array:
    """The Gram matrix's Cholesky factor. more: what else the caller can do where there is none."""
    gram = kernel.gram(times)
    try:
        factor = np.asarray(cholesky(gram, lower=True))
        lost = (
            factor.diagonal().min() ** 2 <= np.finfo(float).eps * times.size * gram.diagonal().max()
        )
    except LinAlgError:
        lost = True
    if lost:
        raise ValueError(
            f"kernel must be positive definite on the times: the Gram matrix of {kernel!r} on"
            f" {times.size} times is singular to rounding; add a small Dirac part to the kernel, or"
            f" spread the times{more}"
        )
    return factor


def _filter(
    space: StateSpace, u: Array, times: Array, coefficients: bool = False
) -> tuple[float, Array]:
    """‖U‖ and, if asked for, K⁻¹u.

    The innovations are e = L⁻¹u with K = L diag(S) L' and L unit lower triangular, so K⁻¹u =
    L⁻ᵀ(e/S) is the filter's recursion backwards. A round with S_t = 0 is determined by those before
    it: it adds nothing if e_t = 0, else ‖U‖ = ∞.
    """
    # where F is diagonal there is one such component, the constant, and nothing to lose
    if not space.diagonal and noiseless(space, times):
        return least_norm(space, u, times)
    rounds, (p, d) = len(u), (space.size, u.shape[1])
    moments = _norms.Moments(np.zeros((p, p)), np.zeros(p))
    belief = _norms.Belief(moments, np.zeros(p), np.zeros((p, d)), np.zeros(d))
    left, e, s = 0.0, np.empty((rounds, d)), np.empty(rounds)
    gain = np.zeros((rounds if coefficients else 1, p))
    tables = list(blocks(space, times)) if coefficients else blocks(space, times)
    for rows, steps in tables:
        out = _norms.Innovations(e[rows], s[rows], gain[rows] if coefficients else gain)
        left = _norms.innovations(steps, belief, left, u[rows], out)
    fixed = s == 0.0
    if (np.abs(e[fixed]) > _SAME * np.abs(u).max()).any():
        return inf, np.empty(0)
    s[fixed], e[fixed] = 1.0, 0.0
    c = e / s[:, None]
    norm = sqrt(np.sum(c * e))
    if coefficients:
        adjoint = np.zeros((p, d))
        for rows, steps in reversed(list(tables)):
            for i in reversed(range(rows.start, rows.stop)):
                c[i] += gain[i] @ adjoint
                adjoint -= np.outer(space.h, c[i])
                step = steps.transitions[steps.which[i - rows.start]]
                adjoint = step[0][:, None] * adjoint if space.diagonal else step.T @ adjoint
    return norm, c
