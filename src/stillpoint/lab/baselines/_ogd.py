"""OGD's rounds, compiled: interactive calls and the loop over rounds share them bit for bit."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign, dot, norm, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains._sets import BALL, project
from stillpoint.losses._pointwise import Outputs, Rounds, evaluate_round

CONSTANT, SQRT, SCALE_FREE = range(3)


class Places(NamedTuple):
    """Where the sums that OGD's bound needs are in `State.sums`."""

    variance: int = 0  # Σ‖g‖²
    cost: int = 1  # ½Ση‖g‖²
    reach: int = 2  # max‖w‖
    last: int = 3  # the last step that was not 0


AT = Places()


class State(NamedTuple):
    """What OGD has learnt."""

    w: Array  # (d,), the play
    sums: Array  # see `Places`


class Rule(NamedTuple):
    """How OGD steps: schedule and size of the steps, domain, and the largest gradient allowed."""

    schedule: int
    step: float
    kind: int
    domain: Array
    limit: float


@njit(cache=True)
def descend(schedule: int, step: float, t: int, w: Array, g: Array, sums: Array, z: Array) -> None:
    """Write w − η_t g for the t-th gradient into `z`, and add to the sums."""
    square = dot(g, g)
    sums[AT.variance] += square
    eta = step
    if schedule == SQRT:
        eta = step / math.sqrt(t)
    elif schedule == SCALE_FREE:
        eta = step / math.sqrt(sums[AT.variance]) if sums[AT.variance] > 0.0 else 0.0
    sums[AT.cost] += 0.5 * eta * square
    sums[AT.reach] = max(sums[AT.reach], norm(w))
    if eta > 0.0:
        sums[AT.last] = eta
    for i in range(w.size):
        z[i] = w[i] - eta * g[i]


@njit(cache=True)
def play_rounds(state: State, rule: Rule, t: int, rounds: Rounds, out: Outputs) -> int:
    """Play a block of rounds after t gradients; returns how many.

    Stops early at a round whose gradient is not finite or above the limit.
    """
    state, rule, rounds, out = bare(state), bare(rule), bare(rounds), bare(out)
    w = state.w
    z, g = np.empty(w.size), np.empty(w.size)
    for n in range(out.losses.size):
        assign(out.plays[n], w)
        out.losses[n] = evaluate_round(rounds, n, w, g)
        size = usable_norm(g)
        assign(out.gradients[n], g)
        if not (math.isfinite(size) and size <= rule.limit):
            return n
        descend(rule.schedule, rule.step, t + n + 1, out.plays[n], g, state.sums, z)
        project(rule.kind, rule.domain, z, w)
    return out.losses.size


@njit(cache=True)
def hindsight_totals(steps: Array, ball: Array, rounds: Rounds, totals: Array) -> None:
    """Write the total loss of projected OGD from 0 with each constant step into `totals`."""
    rounds = bare(rounds)
    dim = ball.size - 1
    w, z, g = np.empty(dim), np.empty(dim), np.empty(dim)
    for i in range(steps.size):
        w[:] = 0.0
        totals[i] = 0.0
        for n in range(rounds.y.shape[0]):
            totals[i] += evaluate_round(rounds, n, w, g)
            usable_norm(g)  # what counts as 0 does so for OGD, whose losses these are
            for j in range(dim):
                z[j] = w[j] - steps[i] * g[j]
            project(BALL, ball, z, w)
