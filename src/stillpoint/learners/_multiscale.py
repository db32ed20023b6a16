"""MultiScale's round, compiled: one level a time scale, each with its own Erfi potential."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign, dot, norm, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.learners import _constrained as constrained
from stillpoint.learners._constrained import AT, Rule, State
from stillpoint.losses import _pointwise as losses
from stillpoint.memory import _levels as memory
from stillpoint.potentials import _magnitudes as potentials


@njit(cache=True, forceinline=True)
def propose(
    scalars: Array,
    z: Array,
    fixed: bool,
    levels: memory.State,
    factors: Array,
    parameters: Array,
    coefficients: Array,
) -> bool:
    """Decay the levels and set z = −Σ_j (m(S_j, V_j)/S_j)·θ_j(t).

    Returns whether a magnitude saturated; coefficients receives m(S_j, V_j)/S_j.
    """
    constrained.raise_hint(scalars, fixed, 1.0)
    states, squares, variances = levels.states, levels.squares, levels.variances
    memory.decay(states, factors)
    z[:] = 0.0
    saturated = False
    h = scalars[AT.hint]
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
        coefficients[j] = c = m / S if m != 0.0 else 0.0
        if c != 0.0:
            row = states[j]
            for i in range(z.size):
                z[i] -= c * row[i]
    return saturated


class Places(NamedTuple):
    """Where the whole numbers that a single round goes by stand in `plan`."""

    dim: int = 0
    levels: int = 1  # how many have started
    true: int = 2  # levels of the true gradients: as many, or 0 where those are the fed ones
    fixed: int = 3  # of `Rule`, as are the next two
    scale_free: int = 4
    ball: int = 5
    constrained: int = 6  # whether plays are projected
    kind: int = 7  # of the domain
    sides: int = 8  # the parameters that has


class Round(NamedTuple):
    """All that a single round reads and writes: parts of one array."""

    own: State
    play: Array  # w, (d,)
    given: Array  # g, (d,), the true gradient
    fed: Array  # (d,), what the levels are fed
    ball: Array  # (1 + d,), the artificial ball's radius and centre
    limits: Array  # (2,), limit and radius_scale of `Rule`
    domain: Array  # parameters, (sides,)
    potential: Array  # parameters, (3,)
    levels: memory.State
    true: memory.State  # levels of the true gradients, if any
    factors: Array  # (n,), by which levels decay before the round
    coefficients: Array  # (n,), m(S_j, V_j)/S_j


IN = Places()


def places(plan: Array, held: Array) -> Round:
    """The parts of `held`, an array of `length(plan)` numbers."""
    d, n, m, sides = plan[IN.dim], plan[IN.levels], plan[IN.true], plan[IN.sides]
    scalars, at = held[: len(AT)], len(AT)
    proposal, inner, at = held[at : at + d], held[at + d : at + 2 * d], at + 2 * d
    play, given, at = held[at : at + d], held[at + d : at + 2 * d], at + 2 * d
    fed, ball, at = held[at : at + d], held[at + d : at + 2 * d + 1], at + 2 * d + 1
    limits, at = held[at : at + 2], at + 2
    domain, potential, at = held[at : at + sides], held[at + sides : at + sides + 3], at + sides + 3
    factors, coefficients, at = held[at : at + n], held[at + n : at + 2 * n], at + 2 * n
    squares, variances, at = held[at : at + n], held[at + n : at + 2 * n], at + 2 * n
    states, at = held[at : at + n * d].reshape((n, d)), at + n * d
    true_squares, true_variances, at = held[at : at + m], held[at + m : at + 2 * m], at + 2 * m
    true_states = held[at : at + m * d].reshape((m, d))
    return Round(
        State(scalars, proposal, inner),
        play,
        given,
        fed,
        ball,
        limits,
        domain,
        potential,
        memory.State(states, squares, variances),
        memory.State(true_states, true_squares, true_variances),
        factors,
        coefficients,
    )


def length(plan: Array) -> int:
    """How many numbers a single round is about."""
    d, n, m = plan[IN.dim], plan[IN.levels], plan[IN.true]
    return int(len(AT) + 6 * d + 3 + plan[IN.sides] + 3 + (4 + d) * n + (2 + d) * m)


_places = njit(cache=True, forceinline=True)(places)


@njit(cache=True)
def open_round(plan: Array, held: Array) -> bool:
    """Write the play; returns whether a magnitude saturated.

    From Python, every array costs a tenth of a microsecond to pass: a single round has two.
    """
    plan, held = bare(plan), bare(held)
    r = _places(plan, held)
    fixed, ball = plan[IN.fixed] != 0, plan[IN.ball] != 0
    scalars, z = r.own.scalars, r.own.proposal
    saturated = propose(scalars, z, fixed, r.levels, r.factors, r.potential, r.coefficients)
    if plan[IN.constrained] != 0:
        if ball:
            r.ball[0] = constrained.artificial_radius(scalars, r.limits[1])
        constrained.constrain(z, r.own.inner, r.play, r.ball, ball, plan[IN.kind], r.domain)
    else:
        assign(r.play, z)
    memory.decay(r.true.states, r.factors)
    return saturated


@njit(cache=True)
def close_round(plan: Array, held: Array) -> tuple[bool, float, float, float]:
    """Learn from the true gradient g of the play, which is in its place.

    Returns whether that can be done; if not, nothing has changed. Then ⟨g, w⟩, Σ_j ‖θ_j‖² after it,
    and that of the true gradients.
    """
    plan, held = bare(plan), bare(held)
    r = _places(plan, held)
    g, scale_free = r.given, plan[IN.scale_free] != 0
    size = usable_norm(g)
    if not (math.isfinite(size) and size <= r.limits[0]):
        return False, 0.0, 0.0, 0.0
    linear, true = dot(g, r.play), memory.add(r.true, g)
    constrained.feed(r.own, scale_free, plan[IN.constrained] != 0, g, r.play, r.fed)
    total = memory.add(r.levels, r.fed)
    if scale_free:
        constrained.observe(r.own.scalars, False, True, 0.0, g)
    return True, linear, total, true


@njit(cache=True)
def play_rounds(
    state: State,
    rule: Rule,
    levels: memory.State,
    decays: memory.Decays,
    parameters: Array,
    coefficients: Array,
    rounds: losses.Rounds,
    out: losses.Outputs,
    squared_norms: Array,
) -> tuple[int, bool]:
    """Play a block of rounds in which no level starts; returns how many, and whether one saturated.

    Stops early at a round whose gradient is not finite or above the limit: that round is predicted,
    not learnt from. squared_norms receives Σ_j ‖θ_j‖² after each round.
    """
    state, rule, levels, decays = bare(state), bare(rule), bare(levels), bare(decays)
    rounds, out = bare(rounds), bare(out)
    d = state.proposal.size
    g, fed, ball = np.empty(d), np.empty(d), np.zeros(1 + d)
    projected = rule.ball or rule.domain.kind != domains.EVERYWHERE
    saturated = False
    for t in range(squared_norms.size):
        factors = decays.factors[decays.which[t]]
        full = propose(
            state.scalars, state.proposal, rule.fixed, levels, factors, parameters, coefficients
        )
        w = out.plays[t]
        constrained.play(state, rule, ball, projected, w)
        saturated = saturated or (full and rule.unbounded)
        out.losses[t] = losses.evaluate_round(rounds, t, w, g)
        size = usable_norm(g)
        assign(out.gradients[t], g)
        if not (math.isfinite(size) and size <= rule.limit):
            return t, saturated
        constrained.feed(state, rule.scale_free, projected, g, w, fed)
        squared_norms[t] = memory.add(levels, fed)
        constrained.observe(state.scalars, rule.fixed, rule.scale_free, 0.0, g)
    return squared_norms.size, saturated
