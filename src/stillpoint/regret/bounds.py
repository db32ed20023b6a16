"""The paper's path-length guarantees as numbers.

Theorems rkhs-to-pl, discrete-pl and optimal-pl; errata E6, E8, E16.
"""

import math

from stillpoint.core.validation import nonnegative, positive
from stillpoint.kernels import HorizonFree, SpectralDensity
from stillpoint.potentials import ParameterFree
from stillpoint.regret.sinc import PATH_CONSTANT, curvature_constant


def path_length_norm(
    path_length: float,
    magnitude: float,
    horizon: int,
    *,
    order: int = 1,
    kernel: HorizonFree | SpectralDensity | None = None,
) -> float:
    """Bound the RKHS norm by the path length: ‖U‖ ≤ √(c_m(T)·C·C'_m·M·(M + P_T)).

    Parameters
    ----------
    path_length : float
        P_T of the comparator u_1..u_T in R^d.
    magnitude : float
        M = max‖u_t‖.
    horizon : int
        T.
    order : int, default 1
        The theorems' m. It says which kernels are covered, those whose density falls more slowly
        than ω^{−2m}; the sequence enters by its first differences at every order, `path_length(u)`,
        never by `path_length(u, order=m)`. A higher order than the kernel needs only costs: C'_m
        grows fast.
    kernel : HorizonFree or SpectralDensity, optional
        The kernel; HorizonFree() by default.

    Notes
    -----
    Theorem discrete-pl gives an interpolant with ‖u'‖_{L1} ≤ C(‖u_1‖ + P_T) and ‖u + (−1)^m
    u^(2m)‖_∞ ≤ C'_m·M; Theorem rkhs-to-pl gives ‖u‖² ≤ c_m(T)‖u'‖_{L1}‖u + (−1)^m u^(2m)‖_∞. Both
    hold for vectors with Euclidean norms, since u is linear in its samples.
    """
    nonnegative("path_length", path_length)
    nonnegative("magnitude", magnitude)
    bend = curvature_constant(order)
    conditions = _on_paths(kernel).path_length_conditions(positive("horizon", horizon), order)
    if not conditions.holds:
        raise ValueError(
            f"kernel must satisfy Theorem rkhs-to-pl at order {order}: got {conditions}; use"
            " HorizonFree"
        )
    return math.sqrt(
        conditions.constant * PATH_CONSTANT * bend * magnitude * (magnitude + path_length)
    )


def optimal_path_length(
    path_length: float,
    magnitude: float,
    horizon: int,
    *,
    lipschitz: float = 1.0,
    scale: float = 1.0,
    squared_gradients: float | None = None,
    order: int = 1,
    kernel: HorizonFree | SpectralDensity | None = None,
) -> float:
    """Bound the regret of Algorithm 2 with the horizon-free kernel (Theorem optimal-pl).

    Parameters
    ----------
    path_length, magnitude, horizon, order, kernel
        As for `path_length_norm`.
    lipschitz : float, default 1
        G.
    scale : float, default 1
        ε of Algorithm 2.
    squared_gradients : float, optional
        Σ‖g_t‖²; its largest value G²T by default.
    """
    T, k = positive("horizon", horizon), _on_paths(kernel)
    g, total = positive("lipschitz", lipschitz), squared_gradients
    h = g * math.sqrt(k.bound)
    v = 4.0 * h * h + k.bound * (
        g * g * T if total is None else nonnegative("squared_gradients", total)
    )
    return ParameterFree(scale).bound(
        path_length_norm(path_length, magnitude, horizon, order=order, kernel=k), v, h
    )


def _on_paths(kernel: HorizonFree | SpectralDensity | None) -> HorizonFree | SpectralDensity:
    """The kernel, made sure to know the conditions of Theorem rkhs-to-pl; None: HorizonFree."""
    if kernel is not None and not hasattr(kernel, "path_length_conditions"):
        raise ValueError(
            f"kernel must have path_length_conditions: got {kernel!r}; use HorizonFree or"
            " SpectralDensity"
        )
    return HorizonFree() if kernel is None else kernel
