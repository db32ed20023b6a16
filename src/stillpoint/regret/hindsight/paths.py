"""The best moving comparators in hindsight: k pieces, or a path-length budget."""

from math import inf

import numpy as np
from scipy.optimize import brentq

from stillpoint.core.validation import Array, count, nonnegative
from stillpoint.losses import Absolute, Huber, Loss, LossStream, Pinball, Squared
from stillpoint.regret.comparators import path_length
from stillpoint.regret.hindsight import _paths
from stillpoint.regret.hindsight._shape import as_stream
from stillpoint.regret.hindsight._shape import centre as _centre
from stillpoint.regret.hindsight._shape import slopes as _slopes


def hindsight_piecewise(losses: LossStream, k: int) -> Array:
    """The best comparator with at most k constant pieces.

    Parameters
    ----------
    losses : LossStream
        Scalar Squared, Absolute or Pinball losses, without features.
    k : int
        How many pieces.

    Returns
    -------
    array of shape (T, 1)

    Notes
    -----
    Exact dynamic programming with functional pruning (Rigaill 2010): Squared keeps the lower
    envelope of parabolas, a few on noisy targets and O(T) of them, hence O(k·T²), on a ramp;
    Absolute and Pinball a table over the distinct targets, O(k·T²).
    """
    y = _scalar(losses, "hindsight_piecewise", (Squared, Absolute, Pinball))
    k = min(count("k", k), 1 + int(np.count_nonzero(np.diff(y))))
    origin = np.zeros((k, y.size + 1), dtype=np.int32)
    if isinstance(losses.loss, Squared):
        _paths.segments_squared(y - y.mean(), k, origin)
    else:
        _paths.segments_pinball(y, np.unique(y), getattr(losses.loss, "level", 0.5), k, origin)
    u, end = np.empty_like(y), y.size
    for layer in reversed(range(k)):
        start = int(origin[layer, end])
        u[start:end] = _centre(losses.loss, y[start:end])
        end = start
    return u[:, None]


def hindsight_path_length(losses: LossStream, budget: float) -> Array:
    """The best comparator of bounded path length: min Σ_t ℓ_t(u_t) with Σ|u_t − u_{t−1}| ≤ budget.

    Parameters
    ----------
    losses : LossStream
        Scalar Squared, Absolute, Pinball or Huber losses, without features.
    budget : float
        The path length.

    Returns
    -------
    array of shape (T, 1)

    Notes
    -----
    For a multiplier λ, u(λ) = argmin Σ ℓ_t(u_t) + λ·P(u) comes from a dynamic program, and P(u(λ))
    falls as λ grows. Two solutions a and b with P(a) ≥ budget ≥ P(b) that are both optimal at one λ
    span a segment of optima along which cost and path length are affine: the point where the path
    length is `budget` has no duality gap. O(T log T) a multiplier.
    """
    y = _scalar(losses, "hindsight_path_length", (Squared, Absolute, Pinball, Huber))
    loss, centre, (down, up, width) = losses.loss, _centre(losses.loss, y), _slopes(losses.loss)
    if nonnegative("budget", budget) == 0.0 or budget >= path_length(y):
        return (np.full_like(y, centre) if budget == 0.0 else y.copy())[:, None]
    y = y - centre  # small numbers round least

    def lagrangian(penalty: float) -> tuple[float, Array, float, float]:
        u = np.empty_like(y)
        _paths.total_variation(y, down, up, width, penalty, u)
        return penalty, u, float(np.sum(loss.value(u, y))), path_length(u)

    # (λ, u, cost, path length) on either side; λ ≥ T·max|ℓ'| is at least every |Σ_{s≤t} ℓ'_s|:
    # there u is static
    steepest = min(max(down, up), float(np.ptp(y)) if width else inf)
    la, a, cost_a, path_a = 0.0, y, 0.0, path_length(y)
    lb = y.size * steepest
    b = np.zeros_like(y)
    cost_b = float(np.sum(loss.value(0.0, y)))
    path_b = 0.0
    for step in range(300):
        # the dual function is concave: its tangents at a and b meet above it, and on it once both
        # are optimal there
        meet = (cost_b - cost_a) / (path_a - path_b)
        secant, middle = la + (lb - la) * (path_a - budget) / (path_a - path_b), 0.5 * (la + lb)
        penalty = (meet, secant, middle)[step % 3]
        penalty, u, cost, path = lagrangian(penalty if la < penalty < lb else middle)
        met = penalty == meet and cost_a + penalty * path_a - cost - penalty * path <= 1e-14 * cost
        if path > budget:
            la, a, cost_a, path_a = penalty, u, cost, path
        else:
            lb, b, cost_b, path_b = penalty, u, cost, path
        done = abs(path - budget) <= 1e-13 * budget or lb - la <= 1e-15 * lb
        if done or (met and (width == 0.0 or lb - la <= 1e-9 * lb)):
            break
    share = (
        brentq(lambda s: path_length((1 - s) * a + s * b) - budget, 0.0, 1.0, xtol=1e-16)
        if path_b < budget
        else 1.0
    )
    return np.asarray(centre + (1.0 - share) * a + share * b)[:, None]


def _scalar(losses: LossStream, name: str, families: tuple[type[Loss], ...]) -> Array:
    if len(as_stream(losses).x) or losses.dim != 1 or not isinstance(losses.loss, families):
        got = f"{type(losses.loss).__name__} with dim {losses.dim}" + " and features" * (
            len(losses.x) > 0
        )
        raise ValueError(
            f"losses must be scalar, without features, and one of {[f.__name__ for f in families]}"
            f" for {name}: got {got}; use hindsight_static, or one stream a coordinate"
        )
    return losses.y[:, 0]
