"""MultiScale's round as functions of arrays: one row of `states` a level, each with its own Erfi
potential.
"""

import math

import numpy as np

from stillpoint.core.arithmetic import norm, usable_norm
from stillpoint.core.jit import njit
from stillpoint.domains import _sets as domains
from stillpoint.learners import _kernel_ftrl as shared
from stillpoint.losses import _pointwise as losses
from stillpoint.memory import _sums as memory
from stillpoint.potentials import _magnitudes as potentials


@njit(cache=True)
def propose(
    stats: np.ndarray,
    fixed: bool,
    states: np.ndarray,
    squares: np.ndarray,
    variances: np.ndarray,
    decays: np.ndarray,
    parameters: np.ndarray,
    coefficients: np.ndarray,
    z: np.ndarray,
) -> bool:
    """Decay the levels and set z = −Σ_j (m(S_j, V_j)/S_j)·θ_j(t); returns whether a magnitude
    saturated.
    """
    shared.raise_hint(stats, fixed, 1.0)
    memory.decay(states, decays)
    z[:] = 0.0
    saturated = False
    h = stats[shared.HINT]
    for j in range(squares.size):
        S = math.sqrt(max(squares[j], 0.0))
        if j == 0 and squares[0] < 0.01 * variances[0]:
            # constants do not fade: θ_0(t) is θ_0, of which no digit is lost where gradients cancel
            S = norm(states[0])
        elif squares[j] < 1e-8 * variances[j]:
            # S² has lost its digits; ‖θ_j‖ ≥ ‖θ_j(t)‖ holds in every RKHS
            S = max(S, norm(states[j]))
        m = potentials.magnitude(potentials.ERFI, parameters, S, variances[j], h, 0.0)
        saturated = saturated or m >= potentials.CAP
        coefficients[j] = m / S if m != 0.0 else 0.0
        if coefficients[j] != 0.0:
            for i in range(z.size):
                z[i] -= coefficients[j] * states[j, i]
    return saturated


@njit(cache=True)
def play_rounds(
    stats: np.ndarray,
    fixed: bool,
    scale_free: bool,
    radius_scale: float,
    ball_on: bool,
    unbounded: bool,
    limit: float,
    states: np.ndarray,
    squares: np.ndarray,
    variances: np.ndarray,
    decays: np.ndarray,
    which: np.ndarray,
    parameters: np.ndarray,
    coefficients: np.ndarray,
    kind: int,
    domain: np.ndarray,
    ball: np.ndarray,
    code: int,
    parameter: float,
    mode: int,
    Y: np.ndarray,
    X: np.ndarray,
    z: np.ndarray,
    inner: np.ndarray,
    plays: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
    squared_norms: np.ndarray,
) -> tuple[int, bool]:
    """Play a block of rounds within which no level starts; returns (rounds played, whether a free
    play saturated).

    Stops early at a round whose gradient is not finite or above `limit`: that round is predicted,
    not learnt from.
    """
    g, fed = np.empty(z.size), np.empty(z.size)
    constrained = ball_on or kind != domains.EVERYWHERE
    saturated = False
    for t in range(values.size):
        full = propose(
            stats, fixed, states, squares, variances, decays[which[t]], parameters, coefficients, z
        )
        w = plays[t]
        if constrained:
            ball[0] = shared.artificial_radius(stats, radius_scale)
            shared.constrain(z, inner, w, ball, ball_on, kind, domain)
        else:
            w[:] = z
        saturated = saturated or (full and unbounded)
        values[t] = losses.evaluate(
            code, parameter, mode, Y[t], X[t] if X.shape[0] > 0 else Y[t], w, g
        )
        size = usable_norm(g)
        gradients[t] = g
        if not (math.isfinite(size) and size <= limit):
            return t, saturated
        shared.feed(g, scale_free, stats[shared.TOP], constrained, z, inner, w, fed)
        squared_norms[t] = memory.add_to_levels(states, squares, variances, fed)
        shared.observe(stats, fixed, scale_free, 0.0, g)
    return values.size, saturated
