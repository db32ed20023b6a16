"""Rounds of bandits, compiled: interactive calls and the loops over rounds share them bit for bit.

There is a loop for each learner that may be inside, of its own compiled steps.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets
from stillpoint.lab.baselines import _ogd
from stillpoint.lab.baselines._directions import direction
from stillpoint.lab.online import _ensemble
from stillpoint.lab.online._bank import Bank as Places
from stillpoint.lab.online._bank import Rule as EnsembleRule
from stillpoint.learners import _tracker
from stillpoint.learners._bank import Bank as Filters
from stillpoint.losses._pointwise import Outputs, Rounds, evaluate_round


class Rule(NamedTuple):
    """How a bandit looks around: δ_t = min{explore·t^power, inner/2}."""

    explore: float
    power: float
    inner: float  # r; infinite where nothing is held back
    points: int  # 1 or 2
    baseline: int  # whether the last value is subtracted, with one point
    seed: int


class Memory(NamedTuple):
    """What a bandit remembers: arrays of one number each."""

    observed: Array  # rounds that came with values
    rounds: Array  # all rounds
    last: Array  # the last value


@njit(cache=True)
def width(explore: float, power: float, inner: float, t: float) -> float:
    """δ of the t-th round with values."""
    return min(explore * math.pow(t, power), 0.5 * inner)


@njit(cache=True)
def look_around(
    x: Array, delta: float, inner: float, seed: int, round: int, s: Array, up: Array, down: Array
) -> None:
    """Write the direction s of a round, and its points (1 − δ/r)x ± δs."""
    direction(seed, round, s)
    shrink = 1.0 - delta / inner
    for j in range(x.size):
        up[j] = shrink * x[j] + delta * s[j]
        down[j] = shrink * x[j] - delta * s[j]


@njit(cache=True)
def estimate(change: float, delta: float, inner: float, s: Array, g: Array) -> None:
    """Write (1 − δ/r)(d/δ)·change·s: what the learner plays is shrunk, one more factor in g."""
    factor = (1.0 - delta / inner) * s.size / delta * change
    for j in range(s.size):
        g[j] = factor * s[j]


@njit(cache=True)
def _ask(
    rule: Rule, memory: Memory, rounds: Rounds, n: int, x: Array, z: Array, out: Outputs, g: Array
) -> float:
    """Play round n around x: write play, loss and gradient, and the estimate into `g`.

    Returns the estimate's norm, no number where a value is none; z, of shape (3, d), is scratch
    space.
    """
    s, down, up = z[0], z[1], out.plays[n]
    delta = width(rule.explore, rule.power, rule.inner, memory.observed[0] + 1.0)
    look_around(x, delta, rule.inner, rule.seed, int(memory.rounds[0]), s, up, down)
    value = evaluate_round(rounds, n, up, out.gradients[n])
    out.losses[n] = value
    if rule.points == 2:
        change = 0.5 * (value - evaluate_round(rounds, n, down, z[2]))
    else:
        change = value - (memory.last[0] if rule.baseline else 0.0)
    if not math.isfinite(change):
        return math.nan
    estimate(change, delta, rule.inner, s, g)
    return usable_norm(g)


@njit(cache=True)
def _note(memory: Memory, value: float) -> None:
    memory.observed[0] += 1.0
    memory.rounds[0] += 1.0
    memory.last[0] = value


@njit(cache=True)
def play_ogd(
    state: _ogd.State,
    ogd: _ogd.Rule,
    t: int,
    rule: Rule,
    memory: Memory,
    rounds: Rounds,
    out: Outputs,
) -> int:
    """Play a block of rounds with OGD inside, after its t gradients; returns how many.

    Stops early at a round whose values or estimate cannot be learnt from, as do the others.
    """
    state, ogd, rule, memory = bare(state), bare(ogd), bare(rule), bare(memory)
    rounds, out = bare(rounds), bare(out)
    w = state.w
    x, g, z = np.empty(w.size), np.empty(w.size), np.empty((3, w.size))
    for n in range(out.losses.size):
        size = _ask(rule, memory, rounds, n, w, z, out, g)
        if not (math.isfinite(size) and size <= ogd.limit):
            return n
        assign(x, w)
        _ogd.descend(ogd.schedule, ogd.step, t + n + 1, x, g, state.sums, z[0])
        _sets.project(ogd.kind, ogd.domain, z[0], w)
        _note(memory, out.losses[n])
    return out.losses.size


@njit(cache=True)
def play_ensemble(
    bank: Places,
    ensemble: EnsembleRule,
    rule: Rule,
    memory: Memory,
    rounds: Rounds,
    out: Outputs,
) -> int:
    """Play a block of rounds with an ensemble inside, one of gradients at the play."""
    bank, ensemble, rule, memory = bare(bank), bare(ensemble), bare(rule), bare(memory)
    rounds, out = bare(rounds), bare(out)
    dim = ensemble.start.size
    w, g, z, value = np.empty(dim), np.empty(dim), np.empty((3, dim)), 0.0
    values, gradients = np.zeros(1), np.empty((1, dim))
    for n in range(out.losses.size):
        _ensemble.mix(bank, w)
        size = _ask(rule, memory, rounds, n, w, z, out, g)
        if not (math.isfinite(size) and size <= ensemble.limit):
            return n
        _ensemble.learn(bank, ensemble, g, w, value, values, gradients)
        _note(memory, out.losses[n])
    return out.losses.size


@njit(cache=True)
def play_tracker(
    state: _tracker.State,
    filters: Filters,
    domain: _sets.Region,
    rule: Rule,
    memory: Memory,
    rounds: Rounds,
    out: Outputs,
) -> int:
    """Play a block of rounds with a Tracker inside, up to where an expert joins it."""
    state, filters, domain = bare(state), bare(filters), bare(domain)
    rule, memory, rounds, out = bare(rule), bare(memory), bare(rounds), bare(out)
    proposal = state.rows[_tracker.ROW.play]
    w, g, z = np.empty(proposal.size), np.empty(proposal.size), np.empty((3, proposal.size))
    for n in range(out.losses.size):
        _tracker.mix(state)
        _sets.project(domain.kind, domain.parameters, proposal, w)
        size = _ask(rule, memory, rounds, n, w, z, out, g)
        if not math.isfinite(size):
            return n
        if domain.kind != _sets.EVERYWHERE:
            _sets.surrogate(g, proposal, w, g)
            size = usable_norm(g)
        _tracker.learn(state, filters, g, size)
        _note(memory, out.losses[n])
    return out.losses.size
