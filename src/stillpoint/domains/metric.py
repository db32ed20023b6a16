"""Nearest points of sets in a metric (x − w)'P⁻¹(x − w), as Newton steps project.

P = vectors·diag(values)·vectors'.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import lsq_linear, root

from stillpoint.core.validation import Array

# half-spaces from which the nearest point of a set known by its projection alone is found from
# close by
CUTS = 60
CLOSE = 1e-13  # of the size of the point: how far from the set the last one may be


def nearest_in_ball(radius: float, w: Array, values: Array, vectors: Array) -> Array:
    """‖x‖ ≤ radius < ‖w‖: x = (I + μP)⁻¹w, a root in the multiplier μ."""
    rotated = vectors.T @ w
    low, high = 0.0, (float(np.linalg.norm(w)) / radius - 1.0) / values[0]
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.linalg.norm(rotated / (1.0 + middle * values)) > radius:
            low = middle
        else:
            high = middle
    return np.asarray(vectors @ (rotated / (1.0 + high * values)))


def nearest_in_box(low: Array, high: Array, w: Array, values: Array, vectors: Array) -> Array:
    """low ≤ x ≤ high, by active sets: a descent would stop early where P is ill-conditioned."""
    A = _root(values, vectors)
    free = low < high  # the solver wants room between the sides
    x = np.where(free, w, low)
    if free.any():
        right = A[:, free] @ w[free] + A[:, ~free] @ (w - x)[~free]
        found = lsq_linear(
            A[:, free],
            right,
            (low[free], high[free]),
            method="bvls",
            tol=1e-15,
            max_iter=100 * w.size,
        )
        at = found.active_mask  # rounding may have left such coordinates a bit off their sides
        x[free] = np.where(at < 0, low[free], np.where(at > 0, high[free], found.x))
    return x


def nearest_in_half_space(
    normal: Array, offset: float, w: Array, values: Array, vectors: Array
) -> Array:
    """⟨normal, x⟩ ≤ offset < ⟨normal, w⟩: a step along P·normal."""
    step = vectors @ (values * (vectors.T @ normal))
    return np.asarray(w - (normal @ w - offset) / (normal @ step) * step)


def nearest_in_simplex(total: float, w: Array, values: Array, vectors: Array) -> Array:
    """x ≥ 0, Σx = total: with x = total·y the distance is ‖By‖, B = P^{−½}(total·I − w1').

    min ‖By‖ over the unit simplex is min ‖By‖² + (1'y − 1)² over y ≥ 0, rescaled: for y = τz the
    best τ leaves ‖Bz‖²/(1 + ‖Bz‖²), which grows with ‖Bz‖ (Lawson & Hanson 1974, chapter 23).
    """
    ones = np.ones(w.size)
    step = vectors @ (values * (vectors.T @ ones))
    # nearest on the plane Σx = total, which all else is measured from
    centre = w + (total - w.sum()) / step.sum() * step
    B = _root(values, vectors) @ (total * np.eye(w.size) - np.outer(centre, ones))
    B /= max(float(np.linalg.norm(B, axis=0).max()), 1e-300)
    found = lsq_linear(
        np.vstack([B, ones]),
        np.append(np.zeros(w.size), 1.0),
        (0.0, np.inf),
        method="bvls",
        tol=1e-15,
        max_iter=100 * w.size,
    )
    out = found.active_mask != 0
    # the multipliers on those sides, and so x, once more without the square of P's condition
    C = np.vstack([np.eye(w.size)[out], ones / np.sqrt(w.size)])
    CP = (C @ vectors) * values @ vectors.T
    x = (
        centre
        + CP.T
        @ np.linalg.lstsq(
            CP @ C.T,
            -C @ centre + np.append(np.zeros(out.sum()), total / np.sqrt(w.size)),
            rcond=None,
        )[0]
    )
    x = np.where(out, 0.0, np.maximum(x, 0.0))
    return np.asarray(x * (total / x.sum()))


def nearest_by_cuts(
    project: Callable[[Array], Array], w: Array, values: Array, vectors: Array
) -> Array:
    """Any closed convex set, from its Euclidean projection.

    The nearest point of ever more half-spaces that hold the set: a point x outside, projected to p,
    has the set on one side of the plane through p with normal x − p. The nearest point of so many
    half-spaces is a least-distance problem, solved by active sets (Lawson & Hanson 1974, chapter
    23).
    """
    L = vectors * np.sqrt(values / values[-1])  # x = w + Lz, and ‖z‖ is the distance
    x, normals, offsets = w.copy(), np.zeros((0, w.size)), np.zeros(0)
    for _ in range(CUTS):
        p = project(x)
        size = float(np.linalg.norm(x - p))
        if size <= CLOSE * max(float(np.abs(p).max()), float(np.abs(w).max()), 1e-300):
            break
        normal = (x - p) / size
        normals, offsets = np.vstack([normals, normal]), np.append(offsets, normal @ (p - w))
        x = w + L @ _least_distance(normals @ L, offsets)
    return _polished(project, project(x), w, values, vectors)


def _polished(
    project: Callable[[Array], Array], start: Array, w: Array, values: Array, vectors: Array
) -> Array:
    """Newton's method from `start` on x = Π(x + sP⁻¹(w − x)), which the nearest point solves.

    It does for every s > 0. Where the set is curved, half-spaces show the place along its boundary
    only as the root of the distance to it.
    """
    pull = vectors @ ((vectors.T @ (w - start)) / values)
    s = float(np.linalg.norm(w - start)) / max(float(np.linalg.norm(pull)), 1e-300)

    def moved(x: Array) -> Array:
        return project(x + s * (vectors @ ((vectors.T @ (w - x)) / values)))

    found = moved(np.asarray(root(lambda x: moved(x) - x, start, tol=1e-15).x))
    distances = [float((((x - w) @ vectors) ** 2 / values).sum()) for x in (start, found)]
    return found if distances[1] <= distances[0] else start


def _least_distance(G: Array, h: Array) -> Array:
    """argmin ‖z‖ with Gz ≤ h, where some z has that."""
    scale = max(float(np.abs(h).max()), 1e-300)
    E = np.vstack([-G.T, -h / scale])
    right = np.append(np.zeros(G.shape[1]), 1.0)
    found = lsq_linear(E, right, (0.0, np.inf), method="bvls", tol=1e-15, max_iter=100 * h.size)
    active = found.active_mask == 0
    # the shortest z on those planes
    return np.asarray(np.linalg.lstsq(G[active], h[active], rcond=None)[0])


def _root(values: Array, vectors: Array) -> Array:
    """A with ‖A(x − w)‖ the distance, up to a factor."""
    return np.asarray((vectors / np.sqrt(values / values[-1])).T)
