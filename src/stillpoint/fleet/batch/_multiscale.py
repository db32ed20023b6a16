"""MultiScale's rounds of many keys, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.arithmetic import dot
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.fleet.batch._base import Clock, Slots
from stillpoint.learners import _constrained as constrained
from stillpoint.learners import _multiscale as single
from stillpoint.memory import _levels as memory


class States(NamedTuple):
    """The states of n MultiScale learners, with room for the same number of levels each."""

    own: constrained.State  # every array with a leading axis of n
    levels: memory.State  # likewise
    coefficients: Array  # (n, levels)
    running: NDArray[np.int32]  # (n,), how many levels have started
    played: Array  # (n, d), the plays; (0, d) where they are the proposals
    squared_norm: Array  # (n,), Σ_j ‖θ_j‖²
    linear: Array  # (n,), Σ⟨g, w⟩
    true: memory.State  # levels of the true gradients; none where those are the fed ones
    true_norm: Array  # (n,), their Σ_j ‖θ_j‖²


@njit(cache=True, nogil=True, forceinline=True)
def own_part(own: constrained.State, k: int) -> constrained.State:
    """What one key keeps beside its levels."""
    return constrained.State(own.scalars[k], own.proposal[k], own.inner[k])


@njit(cache=True, nogil=True, forceinline=True)
def part(levels: memory.State, k: int, n: int) -> memory.State:
    """The levels of one key; those still to come are rows of zeros, which decay to zeros."""
    return memory.State(levels.states[k], levels.squares[k, :n], levels.variances[k, :n])


@njit(cache=True, nogil=True)
def open_rounds(
    order: Slots,
    slots: Slots,
    when: Array,
    plays: Array,
    decays: memory.Decays,
    rule: constrained.Rule,
    parameters: Array,
    states: States,
    clock: Clock,
) -> int:
    """Write the plays of a batch, levels due having started; returns how many keys just saturated.

    decays are those of each row's gap.
    """
    saturated = 0
    states, rule, decays, plays = bare(states), bare(rule), bare(decays), bare(plays)
    ball = np.zeros(1 + plays.shape[1])
    projected = rule.ball or rule.domain.kind != domains.EVERYWHERE
    for i in order:
        k = slots[i]
        if not clock.open[k]:
            n, factors = states.running[k], decays.factors[decays.which[i]]
            own = own_part(states.own, k)
            levels, coefficients = part(states.levels, k, n), states.coefficients[k, :n]
            full = single.propose(
                own.scalars, own.proposal, rule.fixed, levels, factors, parameters, coefficients
            )
            if full and rule.unbounded and not clock.warned[k]:
                clock.warned[k] = True
                saturated += 1
            if projected:
                constrained.play(own, rule, ball, True, states.played[k])
            if states.true.states.shape[0] > 0:
                memory.decay(states.true.states[k], factors)
            clock.open[k], clock.started[k], clock.time[k] = True, True, when[i]
        play = states.played[k] if projected else states.own.proposal[k]
        for j in range(play.size):
            plays[i, j] = play[j]
    return saturated


@njit(cache=True, nogil=True)
def close_rounds(
    order: Slots,
    slots: Slots,
    g: Array,
    sizes: Array,
    fed: Array,
    rule: constrained.Rule,
    states: States,
    clock: Clock,
) -> None:
    """Learn from gradients; fed is scratch of the same shape."""
    states, rule, g, fed = bare(states), bare(rule), bare(g), bare(fed)
    projected = rule.ball or rule.domain.kind != domains.EVERYWHERE
    for i in order:
        k = slots[i]
        n, own = states.running[k], own_part(states.own, k)
        play = states.played[k] if projected else own.proposal
        states.linear[k] += dot(g[i], play)
        if states.true.states.shape[0] > 0:
            states.true_norm[k] = memory.add(part(states.true, k, n), g[i])
        constrained.feed(own, rule.scale_free, projected, g[i], play, fed[i])
        states.squared_norm[k] = memory.add(part(states.levels, k, n), fed[i])
        if rule.scale_free:
            constrained.observe(own.scalars, False, True, 0.0, g[i])
        clock.open[k] = False
        clock.rounds[k] += 1
