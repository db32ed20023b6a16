"""KernelFTRL's round as functions of arrays: the interactive calls and the compiled bulk loop share
them bit for bit.

stats holds the scalars of a run at the indices below. Everything about gradients "fed" is after
clipping and projection.
"""

import math

import numpy as np

from stillpoint.core.arithmetic import norm, usable_norm
from stillpoint.core.jit import njit
from stillpoint.domains import _sets as domains
from stillpoint.losses import _pointwise as losses
from stillpoint.memory import _sums as memory
from stillpoint.potentials import _magnitudes as potentials

VARIANCE = 0  # Σ‖G_s‖² of the fed gradients
COUNT = 1  # Σ‖G_s‖²/H_s² of the fed gradients
TOP = 2  # the bound on ‖g‖: told, or the largest so far
HINT = 3  # H_t ≥ ‖G_t‖ for every fed gradient up to now
TOTAL = 4  # Σ‖g_s‖
REACH = 5  # max_k Σ_{s≤k}‖g_s‖ / max_{s≤k}‖g_s‖ (erratum E15)
SIZE = 6


@njit(cache=True)
def raise_hint(stats: np.ndarray, fixed: bool, diagonal: float) -> None:
    """H_t: told once and for all, or the running maximum of (bound on ‖g‖)·√k(t,t)."""
    if not fixed:
        stats[HINT] = max(stats[HINT], stats[TOP] * math.sqrt(diagonal))


@njit(cache=True)
def true_size(squared_norm: float, pull: np.ndarray, diagonal: float) -> float:
    """S = ‖θ‖, at least ‖θ(t)‖/√k(t,t): true of every RKHS, so a correction here only ever undoes
    rounding in S².
    """
    size = math.sqrt(max(squared_norm, 0.0))
    return max(size, norm(pull) / math.sqrt(diagonal)) if diagonal > 0.0 else size


@njit(cache=True)
def propose(
    stats: np.ndarray,
    fixed: bool,
    squared_norm: float,
    pull: np.ndarray,
    diagonal: float,
    code: int,
    parameters: np.ndarray,
    offset: float,
    z: np.ndarray,
) -> bool:
    """z = −(m(S, V)/S)·pull; returns whether the magnitude saturated."""
    raise_hint(stats, fixed, diagonal)
    S = true_size(squared_norm, pull, diagonal)
    h = stats[HINT]
    m = potentials.magnitude(
        code,
        parameters,
        S,
        offset * h * h + stats[VARIANCE],
        h,
        0.0 if fixed else 4.0 + stats[COUNT],
    )
    coefficient = m / S if m != 0.0 else 0.0
    for i in range(z.size):
        z[i] = 0.0 - coefficient * pull[i]  # 0 − 0 is 0, −0 would print as -0
    return m >= potentials.CAP


@njit(cache=True)
def artificial_radius(stats: np.ndarray, radius_scale: float) -> float:
    """D_t = ε_D·√(max_k Σ_{s≤k}‖g_s‖/max_{s≤k}‖g_s‖), 0 before the first nonzero gradient."""
    return radius_scale * math.sqrt(stats[REACH])


@njit(cache=True)
def clip(g: np.ndarray, top: float, out: np.ndarray) -> None:
    """out = g·min(1, top/‖g‖)."""
    size = norm(g)
    factor = 1.0 if size <= top else top / size
    for i in range(g.size):
        out[i] = g[i] * factor


@njit(cache=True)
def feed(
    g: np.ndarray,
    scale_free: bool,
    top: float,
    constrained: bool,
    z: np.ndarray,
    inner: np.ndarray,
    w: np.ndarray,
    fed: np.ndarray,
) -> None:
    """fed = what a learner is fed for the true gradient g: clipped to `top`, turned for the domain,
    then for the ball.
    """
    if scale_free:
        clip(g, top, fed)
    else:
        fed[:] = g
    if constrained:
        domains.surrogate(fed, inner, w, fed)
        domains.surrogate(fed, z, inner, fed)


@njit(cache=True)
def observe(stats: np.ndarray, fixed: bool, scale_free: bool, square: float, g: np.ndarray) -> None:
    """Account for a fed gradient with ‖G‖² = square that came from the true gradient g."""
    stats[VARIANCE] += square
    if not fixed and stats[HINT] > 0.0:
        stats[COUNT] += square / stats[HINT] / stats[HINT]
    if scale_free:
        size = norm(g)
        stats[TOP] = max(stats[TOP], size)
        stats[TOTAL] += size
        if stats[TOP] > 0.0:
            stats[REACH] = max(stats[REACH], stats[TOTAL] / stats[TOP])


@njit(cache=True)
def constrain(
    z: np.ndarray,
    inner: np.ndarray,
    w: np.ndarray,
    ball: np.ndarray,
    ball_on: bool,
    kind: int,
    domain: np.ndarray,
) -> None:
    """inner = projection of z on the artificial ball, w = projection of inner on the domain."""
    if ball_on:
        domains.project(domains.BALL, ball, z, inner)
    else:
        inner[:] = z
    domains.project(kind, domain, inner, w)


@njit(cache=True)
def play_rounds(
    stats: np.ndarray,
    fixed: bool,
    scale_free: bool,
    radius_scale: float,
    ball_on: bool,
    unbounded: bool,
    limit: float,
    Z: np.ndarray,
    pull: np.ndarray,
    h: np.ndarray,
    scratch: np.ndarray,
    transitions: np.ndarray,
    which: np.ndarray,
    gains: np.ndarray,
    diagonals: np.ndarray,
    code: int,
    parameters: np.ndarray,
    offset: float,
    kind: int,
    domain: np.ndarray,
    ball: np.ndarray,
    loss_code: int,
    loss_parameter: float,
    mode: int,
    Y: np.ndarray,
    X: np.ndarray,
    z: np.ndarray,
    inner: np.ndarray,
    squared_norm: float,
    plays: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
    squared_norms: np.ndarray,
) -> tuple[int, bool]:
    """Play a block of rounds; returns (rounds played, whether an unconstrained play saturated).

    Stops early at a round whose gradient is not finite or above `limit`: that round is predicted,
    not learnt from.
    """
    fed, g = np.empty(z.size), np.empty(z.size)
    constrained = ball_on or kind != domains.EVERYWHERE
    saturated = False
    for t in range(diagonals.size):
        diagonal = diagonals[t]
        if which[t] >= 0:
            memory.advance(Z, transitions[which[t]], h, scratch, pull)
        full = propose(stats, fixed, squared_norm, pull, diagonal, code, parameters, offset, z)
        w = plays[t]
        if constrained:
            ball[0] = artificial_radius(stats, radius_scale)
            constrain(z, inner, w, ball, ball_on, kind, domain)
        else:
            w[:] = z
        saturated = saturated or (full and unbounded)
        values[t] = losses.evaluate(
            loss_code, loss_parameter, mode, Y[t], X[t] if X.shape[0] > 0 else Y[t], w, g
        )
        size = usable_norm(g)
        gradients[t] = g
        if not (math.isfinite(size) and size <= limit):
            return t, saturated
        # `feed`, written out: a call is a twentieth of a round in one dimension
        if scale_free:
            clip(g, stats[TOP], fed)
        else:
            fed[:] = g
        if constrained:
            domains.surrogate(fed, inner, w, fed)
            domains.surrogate(fed, z, inner, fed)
        rise, square = memory.growth(fed, pull, diagonal)
        memory.add(Z, gains[t if gains.shape[0] > 1 else 0], fed)
        squared_norm += rise
        squared_norms[t] = squared_norm
        observe(stats, fixed, scale_free, square, g)
    return diagonals.size, saturated
