"""Effective dimension and log-determinant of a kernel on a run's times.

Bounds for curved losses are stated in them. d_eff(λ) = Tr K(K + λI)⁻¹ and log det(I + K/λ) are
computed forwards in time for kernels with a state space, from the spectrum of the Gram matrix
otherwise.
"""

from math import inf, log1p, pi, sqrt, tanh

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigvalsh

from stillpoint.core.validation import Array, count, increasing, nonnegative, positive
from stillpoint.kernels import Kernel
from stillpoint.regret import _norms
from stillpoint.regret._norms import TOTAL
from stillpoint.regret.norms import blocks, streaming_space


def effective_dimension(
    kernel: Kernel, times: ArrayLike, ridge: float, method: str = "auto"
) -> float:
    """Effective dimension d_eff = Tr K(K + ridge·I)⁻¹, K the Gram matrix.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    times : array
        Increasing times.
    ridge : float
        λ.
    method : {"auto", "streaming", "dense"}, default "auto"
        "streaming" filters, O(T·P²) for a diagonal transition; where the state space approximates
        its kernel (HorizonFree), the value is that of the approximation. "dense" takes eigenvalues,
        O(T³); "auto" streams if it can.
    """
    return _dimension(kernel, times, ridge, method, full=True)


def log_det(kernel: Kernel, times: ArrayLike, ridge: float, method: str = "auto") -> float:
    """Log-determinant log det(I + K/ridge); arguments as in `effective_dimension`.

    By a filter it is Σ_t log(S_t/ridge), S_t the variance of the innovations.
    """
    return _dimension(kernel, times, ridge, method, full=False)


def _dimension(kernel: Kernel, times: ArrayLike, ridge: float, method: str, full: bool) -> float:
    # Streaming d_eff. K = K₀ + diag(n), n the nugget; let y ~ N(0, K), so y_t = h'x_t + ε_t with
    # ε_t of variance n_t. Then d_eff = E y'(K + λ)⁻¹y = Σ_t E e_t²/S_t with e_t the innovations of
    # the filter that believes in noise n_t + λ, S_t = h'C_t h + n_t + λ, fed with y. Its error
    # ξ_t = x_t − m_t has the covariance D_t, not C_t. Since ε_t is independent of ξ_t,
    # e_t = h'ξ_t + ε_t has E e_t² = h'D_t h + n_t. The update with the gain g = C_t h/S_t makes of
    # the error (I − gh')ξ_t − gε_t, of covariance (I − gh')D_t(I − gh')' + n_t gg'.
    tau, ridge = increasing("times", times), positive("ridge", ridge)
    if tau.size == 0:
        raise ValueError("times must hold at least one time: got none; pass one time a round")
    space = streaming_space(kernel, tau, method)
    if space is None:
        spectrum = np.maximum(eigvalsh(kernel.gram(tau)), 0.0)
        return float(
            (spectrum / (spectrum + ridge)).sum() if full else np.log1p(spectrum / ridge).sum()
        )
    p = space.size
    own, error = (_norms.Moments(np.zeros((p, p)), np.zeros(p)) for _ in range(2))
    totals = np.zeros(len(TOTAL))
    for _, steps in blocks(space, tau):
        _norms.dimension(steps, ridge, own, error, totals, full)
    return float(totals[TOTAL.dimension if full else TOTAL.log_det])


def log_det_bound(dimension: float, largest: float, ridge: float) -> float:
    """Bound log det(I + K/ridge) by d_eff·log(e + e·largest/ridge) (Lemma log-det-sum).

    Parameters
    ----------
    dimension : float
        d_eff(ridge) = Tr K(K + ridge·I)⁻¹.
    largest : float
        An upper bound on K's largest eigenvalue, such as its trace; infinite where none is known.
    ridge : float
        λ.

    Notes
    -----
    By eigenvalue x of K/λ: log(1 + x) ≤ x/(1 + x)·(1 + log(1 + x)), with equality as x → 0.
    """
    top = largest if largest == inf else nonnegative("largest", largest)
    d = nonnegative("dimension", dimension)
    return d * (1.0 + log1p(top / positive("ridge", ridge))) if d > 0.0 else 0.0


def spline_eigenvalues(horizon: int) -> Array:
    """Eigenvalues of K⁻¹ for K = (min(s, t)) on 1..T, increasing.

    They are 4 sin²((2k − 1)π/(2(2T + 1))), k = 1..T (E4).
    """
    k = np.arange(1, count("horizon", horizon) + 1)
    return np.asarray(4.0 * np.sin((2 * k - 1) * pi / (2 * (2 * horizon + 1))) ** 2)


def spline_effective_dimension(horizon: int, ridge: float) -> float:
    """Effective dimension of the kernel min(s, t) on 1..T in closed form.

    With N = 2T + 1, s = √(1 + 4λ), r = (1 + 2λ − s)/(2λ): d_eff = ½[(N/s)(1 − r^N)/(1 + r^N) −
    1/s²].
    """
    n, ridge = 2 * count("horizon", horizon) + 1, positive("ridge", ridge)
    s = sqrt(1.0 + 4.0 * ridge)
    # 1/r = 1 + (1 + s)/(2λ): with its logarithm neither a small nor a large ridge cancels
    return 0.5 * (n / s * tanh(0.5 * n * log1p((1.0 + s) / (2.0 * ridge))) - 1.0 / s**2)


def spline_dimension_bound(horizon: int, ridge: float) -> float:
    """Bound the spline's effective dimension by πT/(2√ridge) (Theorem spline-deff, E4)."""
    return 0.5 * pi * count("horizon", horizon) / sqrt(positive("ridge", ridge))
