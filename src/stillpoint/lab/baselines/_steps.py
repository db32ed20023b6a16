"""The baselines' rounds as functions of arrays: interactive calls and compiled loops share them bit
for bit.
"""

import math

import numpy as np

from stillpoint.core.arithmetic import assign, dot, norm, usable_norm
from stillpoint.core.jit import njit
from stillpoint.domains._sets import BALL, project
from stillpoint.losses import _pointwise as losses
from stillpoint.potentials import _magnitudes as potentials

CONSTANT, SQRT, SCALE_FREE = range(3)

VARIANCE = 0  # Σ‖g‖²
COST = 1  # ½Ση‖g‖²
REACH = 2  # max‖w‖
LAST = 3  # the last step that was not 0
SIZE = 4


@njit(cache=True)
def descend(
    schedule: int,
    step: float,
    t: int,
    w: np.ndarray,
    g: np.ndarray,
    stats: np.ndarray,
    z: np.ndarray,
) -> None:
    """z = w − η_t g for the t-th gradient, and the account that OGD's bound needs."""
    square = dot(g, g)
    stats[VARIANCE] += square
    eta = step
    if schedule == SQRT:
        eta = step / math.sqrt(t)
    elif schedule == SCALE_FREE:
        eta = step / math.sqrt(stats[VARIANCE]) if stats[VARIANCE] > 0.0 else 0.0
    stats[COST] += 0.5 * eta * square
    stats[REACH] = max(stats[REACH], norm(w))
    if eta > 0.0:
        stats[LAST] = eta
    for i in range(w.size):
        z[i] = w[i] - eta * g[i]


@njit(cache=True)
def ogd_rounds(
    schedule: int,
    step: float,
    t: int,
    w: np.ndarray,
    stats: np.ndarray,
    kind: int,
    domain: np.ndarray,
    limit: float,
    code: int,
    parameter: float,
    mode: int,
    Y: np.ndarray,
    X: np.ndarray,
    plays: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
) -> int:
    """Play a block of rounds; stops early at a round whose gradient is not finite or above
    `limit`.
    """
    z, g = np.empty(w.size), np.empty(w.size)
    for n in range(values.size):
        assign(plays[n], w)
        values[n] = losses.evaluate(
            code, parameter, mode, Y[n], X[n] if X.shape[0] > 0 else Y[n], w, g
        )
        size = usable_norm(g)
        assign(gradients[n], g)
        if not (math.isfinite(size) and size <= limit):
            return n
        descend(schedule, step, t + n + 1, plays[n], g, stats, z)
        project(kind, domain, z, w)
    return values.size


@njit(cache=True)
def hindsight_totals(
    steps: np.ndarray,
    domain: np.ndarray,
    code: int,
    parameter: float,
    mode: int,
    Y: np.ndarray,
    X: np.ndarray,
    totals: np.ndarray,
) -> None:
    """totals[i] = the loss over all rounds of projected OGD from 0 with the constant step
    steps[i].
    """
    dim = domain.size - 1
    w, z, g = np.empty(dim), np.empty(dim), np.empty(dim)
    for i in range(steps.size):
        w[:] = 0.0
        totals[i] = 0.0
        for n in range(Y.shape[0]):
            totals[i] += losses.evaluate(
                code, parameter, mode, Y[n], X[n] if X.shape[0] > 0 else Y[n], w, g
            )
            usable_norm(g)  # what counts as 0 does so for OGD, whose losses these are
            for j in range(dim):
                z[j] = w[j] - steps[i] * g[j]
            project(BALL, domain, z, w)


@njit(cache=True)
def weigh(log_prior: np.ndarray, alpha: float, cumulative: np.ndarray, weights: np.ndarray) -> None:
    """weights ∝ exp(log_prior − α·cumulative), summing to 1."""
    top = -np.inf
    for i in range(weights.size):
        weights[i] = log_prior[i] - alpha * cumulative[i]
        top = max(top, weights[i])
    total = 0.0
    for i in range(weights.size):
        weights[i] = math.exp(weights[i] - top)
        total += weights[i]
    for i in range(weights.size):
        weights[i] /= total


@njit(cache=True)
def mix(weights: np.ndarray, experts: np.ndarray, w: np.ndarray) -> None:
    """w = Σ_i weights[i]·experts[i]."""
    w[:] = 0.0
    for i in range(weights.size):
        for j in range(w.size):
            w[j] += weights[i] * experts[i, j]


@njit(cache=True)
def ader_learn(
    experts: np.ndarray,
    cumulative: np.ndarray,
    steps: np.ndarray,
    domain: np.ndarray,
    g: np.ndarray,
    w: np.ndarray,
    z: np.ndarray,
) -> None:
    """Improved Ader: expert i suffers ⟨g, x_i − w⟩ and steps along g."""
    base = dot(g, w)
    for i in range(steps.size):
        cumulative[i] += dot(g, experts[i]) - base
        for j in range(w.size):
            z[j] = experts[i, j] - steps[i] * g[j]
        project(BALL, domain, z, experts[i])


@njit(cache=True)
def ader_rounds(
    experts: np.ndarray,
    cumulative: np.ndarray,
    steps: np.ndarray,
    log_prior: np.ndarray,
    alpha: float,
    domain: np.ndarray,
    limit: float,
    code: int,
    parameter: float,
    mode: int,
    Y: np.ndarray,
    X: np.ndarray,
    plays: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
) -> int:
    """Play a block of rounds; stops early at a round whose gradient is not finite or above
    `limit`.
    """
    dim = experts.shape[1]
    weights, z, g = np.empty(steps.size), np.empty(dim), np.empty(dim)
    for n in range(values.size):
        w = plays[n]
        weigh(log_prior, alpha, cumulative, weights)
        mix(weights, experts, w)
        values[n] = losses.evaluate(
            code, parameter, mode, Y[n], X[n] if X.shape[0] > 0 else Y[n], w, g
        )
        size = usable_norm(g)
        assign(gradients[n], g)
        if not (math.isfinite(size) and size <= limit):
            return n
        ader_learn(experts, cumulative, steps, domain, g, w, z)
    return values.size


@njit(cache=True)
def haar_propose(
    position: int,
    sums: np.ndarray,
    variances: np.ndarray,
    h: float,
    code: int,
    parameters: np.ndarray,
    offset: float,
    w: np.ndarray,
) -> bool:
    """w = the plays of the features active at `position`, added up; features that begin here begin
    anew. Row 0 is the constant.

    Returns whether one saturated.
    """
    w[:] = 0.0
    saturated = False
    for k in range(sums.shape[0]):
        sign = 1.0
        if k > 0:
            place = position & ((1 << k) - 1)
            if place == 0:
                sums[k] = 0.0
                variances[k] = 0.0
            if place >= 1 << (k - 1):
                sign = -1.0
        S = norm(sums[k])
        m = potentials.magnitude(code, parameters, S, offset * h * h + variances[k], h, 0.0)
        saturated = saturated or m >= potentials.CAP
        if m != 0.0:
            for j in range(w.size):
                w[j] -= sign * (m / S) * sums[k, j]
    return saturated


@njit(cache=True)
def haar_learn(position: int, sums: np.ndarray, variances: np.ndarray, g: np.ndarray) -> None:
    """Feature k gets the gradient g times its sign at `position`."""
    square = dot(g, g)
    for k in range(sums.shape[0]):
        sign = -1.0 if k > 0 and position & ((1 << k) - 1) >= 1 << (k - 1) else 1.0
        variances[k] += square
        for j in range(g.size):
            sums[k, j] += sign * g[j]
