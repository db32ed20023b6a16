"""A single round of MultiScale, compiled, with all that it reads and writes in one array.

From Python, each array that a compiled function takes costs a tenth of a microsecond, and a round
is about seventeen: passing them one by one took twice as long as the round itself.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.arithmetic import assign, dot, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.learners import _constrained as constrained
from stillpoint.learners._constrained import AT, State
from stillpoint.learners._multiscale import propose
from stillpoint.memory import _levels as memory

Numbers = NDArray[np.int64]


class Plan(NamedTuple):
    """Whole numbers that a round goes by: an array, of which these are the entries."""

    dim: int
    levels: int  # how many have started
    true: int  # levels of the true gradients: as many, or 0 where those are the fed ones
    fixed: int  # of `Rule`, as are the next two
    scale_free: int
    ball: int
    constrained: int  # whether plays are projected
    kind: int  # of the domain
    sides: int  # how many parameters that has
    potential: int  # and the potential


class Round(NamedTuple):
    """What a round reads and writes: parts of one array."""

    own: State
    play: Array  # w, (d,)
    given: Array  # g, (d,), the true gradient
    fed: Array  # (d,), what the levels are fed for it
    ball: Array  # (1 + d,), radius and centre of the artificial ball
    limits: Array  # (2,), limit and radius_scale of `Rule`
    domain: Array  # its parameters
    potential: Array  # its parameters
    levels: memory.State
    true: memory.State  # levels of the true gradients, if any
    factors: Array  # (n,), by which levels decay before the round
    coefficients: Array  # (n,), m(S_j, V_j)/S_j


IN = Plan(*range(len(Plan._fields)))


def parts(plan: Numbers, held: Array) -> Round:
    """The parts of `held`, an array of `length(plan)` numbers."""
    d, n, m = plan[IN.dim], plan[IN.levels], plan[IN.true]
    sides, potentials = plan[IN.sides], plan[IN.potential]
    scalars, at = held[: len(AT)], len(AT)
    proposal, inner, at = held[at : at + d], held[at + d : at + 2 * d], at + 2 * d
    play, given, at = held[at : at + d], held[at + d : at + 2 * d], at + 2 * d
    fed, ball, at = held[at : at + d], held[at + d : at + 2 * d + 1], at + 2 * d + 1
    limits, at = held[at : at + 2], at + 2
    domain, at = held[at : at + sides], at + sides
    potential, at = held[at : at + potentials], at + potentials
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


def length(plan: Numbers) -> int:
    """How many numbers a round is about."""
    d, n, m = plan[IN.dim], plan[IN.levels], plan[IN.true]
    fixed = len(AT) + 6 * d + 3 + plan[IN.sides] + plan[IN.potential]
    return int(fixed + (4 + d) * n + (2 + d) * m)


_parts = njit(cache=True, forceinline=True)(parts)


@njit(cache=True)
def open_round(plan: Numbers, held: Array) -> bool:
    """Decay the levels and write the play; returns whether a magnitude saturated."""
    plan, held = bare(plan), bare(held)
    r = _parts(plan, held)
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
def close_round(plan: Numbers, held: Array) -> tuple[bool, float, float, float]:
    """Learn from the true gradient g, which is in its place.

    Returns whether it can be taken; if not, nothing is learnt. Then ⟨g, w⟩, Σ_j ‖θ_j‖² after the
    round, and the same of the true gradients.
    """
    plan, held = bare(plan), bare(held)
    r = _parts(plan, held)
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
