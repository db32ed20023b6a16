"""Tracker's rounds of many keys, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.arithmetic import usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.fleet.batch._base import Clock, Flags, Slots
from stillpoint.learners._bank import Bank
from stillpoint.learners._tracker import AT, CAP, ROW, State, learn, mix


class States(NamedTuple):
    """The states of n Trackers, with room for the same number of experts and filters each."""

    own: State  # every array with a leading axis of n
    bank: Bank  # likewise
    experts: NDArray[np.int8]  # (n,), how many have joined
    levels: NDArray[np.int8]  # (n,), likewise
    played: Array  # (n, d), the plays; (0, d) where they are not projected


@njit(cache=True, nogil=True, forceinline=True)
def part(states: States, k: int) -> State:
    """The guard of one key."""
    own, n = states.own, states.experts[k]
    return State(
        own.scalars[k],
        own.losses[k, : n + 1],
        own.squares[k, :n],
        own.rows[k],
        own.weights[k, : n + 1],
    )


@njit(cache=True, nogil=True, forceinline=True)
def bank_part(states: States, k: int) -> Bank:
    """The bank of one key."""
    bank, levels = states.bank, states.levels[k]
    trends = max(levels - 2, 0)
    return Bank(
        bank.numbers[k],
        bank.filters[k, : levels + trends],
        bank.velocities[k, :trends],
        bank.beliefs[k, : levels + trends],
    )


@njit(cache=True, nogil=True)
def joining(
    slots: Slots, due: Array, opened: Flags, rounds: Slots, joined: NDArray[np.int8]
) -> Slots:
    """Which places open a round that one more joins in: the one after i at round due[i]."""
    count = 0
    found = np.empty(slots.size, np.int64)
    for i in range(slots.size):
        k = slots[i]
        if not opened[k] and rounds[k] + 1.0 >= due[joined[k]]:
            found[count] = k
            count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def open_rounds(
    order: Slots,
    slots: Slots,
    when: Array,
    plays: Array,
    domain: domains.Region,
    states: States,
    clock: Clock,
) -> None:
    """Write the plays of a batch; a round that is open already keeps its play."""
    states, domain, plays = bare(states), bare(domain), bare(plays)
    rows, played = states.own.rows, states.played
    for i in order:
        k = slots[i]
        if not clock.open[k]:
            mix(part(states, k))
            if played.shape[0] > 0:
                domains.project(domain.kind, domain.parameters, rows[k, ROW.play], played[k])
            clock.open[k], clock.started[k], clock.time[k] = True, True, when[i]
        play = played[k] if played.shape[0] > 0 else rows[k, ROW.play]
        for j in range(play.size):
            plays[i, j] = play[j]


@njit(cache=True, nogil=True)
def close_rounds(
    order: Slots, slots: Slots, g: Array, sizes: Array, states: States, clock: Clock
) -> int:
    """Learn from gradients (overwritten); returns how many keys just reached the largest radius."""
    saturated = 0
    states, g = bare(states), bare(g)
    for i in order:
        k = slots[i]
        size = sizes[i]
        if states.played.shape[0] > 0:
            domains.surrogate(g[i], states.own.rows[k, ROW.play], states.played[k], g[i])
            size = usable_norm(g[i])
        learn(part(states, k), bank_part(states, k), g[i], size)
        if states.own.scalars[k, AT.radius] >= CAP and not clock.warned[k]:
            clock.warned[k] = True
            saturated += 1
        clock.open[k] = False
        clock.rounds[k] += 1
    return saturated
