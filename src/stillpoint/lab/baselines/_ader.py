"""Ader's rounds, compiled: interactive calls and the loop over rounds share them bit for bit."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign, dot, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains._sets import BALL, project
from stillpoint.lab.baselines._hedge import mix, weigh
from stillpoint.losses._pointwise import Outputs, Rounds, evaluate_round


class State(NamedTuple):
    """What Ader has learnt."""

    experts: Array  # (N, d), their plays
    cumulative: Array  # (N,), their losses


class Rule(NamedTuple):
    """Ader's constants: steps and prior of the experts, Hedge's rate, ball, largest gradient."""

    steps: Array
    log_prior: Array
    alpha: float
    ball: Array
    limit: float


@njit(cache=True)
def learn(
    experts: Array, cumulative: Array, steps: Array, ball: Array, g: Array, w: Array, z: Array
) -> None:
    """Improved Ader: expert i suffers ⟨g, x_i − w⟩ and steps along g; `z` is scratch space."""
    base = dot(g, w)
    for i in range(steps.size):
        cumulative[i] += dot(g, experts[i]) - base
        for j in range(w.size):
            z[j] = experts[i, j] - steps[i] * g[j]
        project(BALL, ball, z, experts[i])


@njit(cache=True)
def play_rounds(state: State, rule: Rule, rounds: Rounds, out: Outputs) -> int:
    """Play a block of rounds; returns how many.

    Stops early at a round whose gradient is not finite or above the limit.
    """
    state, rule, rounds, out = bare(state), bare(rule), bare(rounds), bare(out)
    dim = state.experts.shape[1]
    weights, z, g = np.empty(rule.steps.size), np.empty(dim), np.empty(dim)
    for n in range(out.losses.size):
        w = out.plays[n]
        weigh(rule.log_prior, rule.alpha, state.cumulative, weights)
        mix(weights, state.experts, w)
        out.losses[n] = evaluate_round(rounds, n, w, g)
        size = usable_norm(g)
        assign(out.gradients[n], g)
        if not (math.isfinite(size) and size <= rule.limit):
            return n
        learn(state.experts, state.cumulative, rule.steps, rule.ball, g, w, z)
    return out.losses.size
