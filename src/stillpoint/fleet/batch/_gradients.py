"""Rounds of many keys: the compiled rounds of single learners, called on each key's part of the
stacked arrays.

The learners' own functions do all arithmetic. Loops run over `order`, the rows of a batch in the
order of their places, since states are met in memory's order then; keys of a batch differ, so that
it may be cut and run on several threads (nogil) to the same numbers. What is per row of the batch
comes first, options and stacked arrays after it.
"""

import math

import numpy as np

from stillpoint.core.arithmetic import dot, usable_norm
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.learners import _kernel_ftrl as shared
from stillpoint.learners import _multiscale as multiscale
from stillpoint.learners import _tracker as tracker
from stillpoint.memory import _sums as memory

SOUND, NOT_FINITE, NOT_OPEN_ROUND, NOT_LATER = range(4)  # verdicts on the times of a batch


@njit(cache=True, nogil=True)
def by_place(slots: np.ndarray, capacity: int) -> np.ndarray:
    """The rows in the order of their places, by one look at every place there is."""
    rows, order, count = np.full(capacity, -1), np.empty(slots.size, np.int64), 0
    for i in range(slots.size):
        rows[slots[i]] = i
    for row in rows:
        if row >= 0:
            order[count] = row
            count += 1
    return order


@njit(cache=True, nogil=True)
def moments(
    slots: np.ndarray,
    given: np.ndarray,
    when: np.ndarray,
    verdicts: np.ndarray,
    opened: np.ndarray,
    started: np.ndarray,
    time: np.ndarray,
) -> int:
    """When each round is: as given (one for all, one a row, none: 1 after the last), and what is
    wrong with it; counts faults.
    """
    faults = 0
    for i in range(slots.size):
        k = slots[i]
        verdict = SOUND
        if given.size == 0:
            when[i] = time[k] if opened[k] else time[k] + 1.0
        else:
            when[i] = given[i if given.size > 1 else 0]
        if not math.isfinite(when[i]):
            verdict = NOT_FINITE
        elif opened[k]:
            verdict = SOUND if when[i] == time[k] else NOT_OPEN_ROUND
        elif started[k] and when[i] <= time[k]:
            verdict = NOT_LATER
        verdicts[i] = verdict
        faults += verdict != SOUND
    return faults


@njit(cache=True, nogil=True)
def usable_norms(g: np.ndarray, sizes: np.ndarray) -> int:
    """Norms of the rows, those too small for learners made 0; returns how many are not finite."""
    bad = 0
    g = bare(g)
    for i in range(sizes.size):
        sizes[i] = usable_norm(g[i])
        bad += not math.isfinite(sizes[i])
    return bad


@njit(cache=True, nogil=True)
def joining(
    slots: np.ndarray, due: np.ndarray, opened: np.ndarray, rounds: np.ndarray, experts: np.ndarray
) -> np.ndarray:
    """Which rows open a round that an expert of Tracker's joins in: expert i at round due[i]."""
    count = 0
    found = np.empty(slots.size, np.int64)
    for i in range(slots.size):
        k = slots[i]
        if not opened[k] and rounds[k] + 1.0 >= due[experts[k]]:
            found[count] = k
            count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def tracker_open(
    order: np.ndarray,
    slots: np.ndarray,
    when: np.ndarray,
    plays: np.ndarray,
    kind: int,
    domain: np.ndarray,
    stats: np.ndarray,
    losses: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    played: np.ndarray,
    experts: np.ndarray,
    opened: np.ndarray,
    started: np.ndarray,
    time: np.ndarray,
) -> None:
    """Plays of a batch; a round that is open already keeps its play. `played` has rows only where
    plays are projected.
    """
    stats, losses, rows, weights, played = (
        bare(stats),
        bare(losses),
        bare(rows),
        bare(weights),
        bare(played),
    )
    for i in order:
        k = slots[i]
        if not opened[k]:
            count = experts[k] + 1
            tracker.mix(stats[k], losses[k, :count], rows[k], weights[k, :count])
            if played.shape[0] > 0:
                domains.project(kind, domain, rows[k, tracker.PLAY], played[k])
            opened[k], started[k], time[k] = True, True, when[i]
        play = played[k] if played.shape[0] > 0 else rows[k, tracker.PLAY]
        for j in range(play.size):
            plays[i, j] = play[j]


@njit(cache=True, nogil=True)
def tracker_close(
    order: np.ndarray,
    slots: np.ndarray,
    g: np.ndarray,
    sizes: np.ndarray,
    stats: np.ndarray,
    losses: np.ndarray,
    squares: np.ndarray,
    rows: np.ndarray,
    played: np.ndarray,
    experts: np.ndarray,
    opened: np.ndarray,
    rounds: np.ndarray,
    warned: np.ndarray,
) -> int:
    """Gradients (overwritten) of open rounds; returns how many keys have just reached the largest
    radius there is.
    """
    saturated = 0
    g, stats, losses, squares, rows = bare(g), bare(stats), bare(losses), bare(squares), bare(rows)
    played = bare(played)
    for i in order:
        k = slots[i]
        size = sizes[i]
        if played.shape[0] > 0:
            domains.surrogate(g[i], rows[k, tracker.PLAY], played[k], g[i])
            size = usable_norm(g[i])
        tracker.learn(
            stats[k], losses[k, : experts[k] + 1], squares[k, : experts[k]], rows[k], g[i], size
        )
        if stats[k, tracker.RADIUS] >= tracker.CAP and not warned[k]:
            warned[k] = True
            saturated += 1
        opened[k] = False
        rounds[k] += 1
    return saturated


@njit(cache=True, nogil=True)
def levels_open(
    order: np.ndarray,
    slots: np.ndarray,
    when: np.ndarray,
    which: np.ndarray,
    plays: np.ndarray,
    decays: np.ndarray,
    fixed: bool,
    radius_scale: float,
    ball_on: bool,
    unbounded: bool,
    free: bool,
    parameters: np.ndarray,
    kind: int,
    domain: np.ndarray,
    stats: np.ndarray,
    states: np.ndarray,
    squares: np.ndarray,
    variances: np.ndarray,
    coefficients: np.ndarray,
    levels: np.ndarray,
    proposal: np.ndarray,
    inner: np.ndarray,
    played: np.ndarray,
    account: np.ndarray,
    opened: np.ndarray,
    started: np.ndarray,
    time: np.ndarray,
    warned: np.ndarray,
) -> int:
    """MultiScale's plays of a batch, levels that are due having been started; returns how many keys
    just saturated.

    decays[which[i]] are those of row i's gap. `account` holds the states of the ledgers, and has
    rows only where these keep memories of their own. Levels that are still to come are rows of
    zeros, which decay to zeros.
    """
    saturated = 0
    ball = np.zeros(1 + proposal.shape[1])
    decays, stats, states, squares, variances = (
        bare(decays),
        bare(stats),
        bare(states),
        bare(squares),
        bare(variances),
    )
    coefficients, proposal, inner, played, account = (
        bare(coefficients),
        bare(proposal),
        bare(inner),
        bare(played),
        bare(account),
    )
    for i in order:
        k = slots[i]
        if not opened[k]:
            n, factors = levels[k], decays[which[i]]
            full = multiscale.propose(
                stats[k],
                fixed,
                states[k],
                squares[k, :n],
                variances[k, :n],
                factors,
                parameters,
                coefficients[k, :n],
                proposal[k],
            )
            if full and unbounded and not warned[k]:
                warned[k] = True
                saturated += 1
            if not free:
                if ball_on:
                    ball[0] = shared.artificial_radius(stats[k], radius_scale)
                shared.constrain(proposal[k], inner[k], played[k], ball, ball_on, kind, domain)
            if account.shape[0] > 0:
                memory.decay(account[k], factors)
            opened[k], started[k], time[k] = True, True, when[i]
        play = proposal[k] if free else played[k]
        for j in range(play.size):
            plays[i, j] = play[j]
    return saturated


@njit(cache=True, nogil=True)
def levels_close(
    order: np.ndarray,
    slots: np.ndarray,
    g: np.ndarray,
    sizes: np.ndarray,
    fed: np.ndarray,
    scale_free: bool,
    free: bool,
    stats: np.ndarray,
    states: np.ndarray,
    squares: np.ndarray,
    variances: np.ndarray,
    squared_norm: np.ndarray,
    levels: np.ndarray,
    proposal: np.ndarray,
    inner: np.ndarray,
    played: np.ndarray,
    linear: np.ndarray,
    account: np.ndarray,
    account_squares: np.ndarray,
    account_variances: np.ndarray,
    account_norm: np.ndarray,
    opened: np.ndarray,
    rounds: np.ndarray,
) -> None:
    """MultiScale's gradients of open rounds; fed is scratch of the same shape."""
    g, fed, stats, states, squares = bare(g), bare(fed), bare(stats), bare(states), bare(squares)
    variances, proposal, inner, played, account = (
        bare(variances),
        bare(proposal),
        bare(inner),
        bare(played),
        bare(account),
    )
    account_squares, account_variances = bare(account_squares), bare(account_variances)
    for i in order:
        k = slots[i]
        n, play = levels[k], proposal[k] if free else played[k]
        linear[k] += dot(g[i], play)
        if account.shape[0] > 0:
            account_norm[k] = memory.add_to_levels(
                account[k], account_squares[k, :n], account_variances[k, :n], g[i]
            )
        shared.feed(
            g[i], scale_free, stats[k, shared.TOP], not free, proposal[k], inner[k], play, fed[i]
        )
        squared_norm[k] = memory.add_to_levels(states[k], squares[k, :n], variances[k, :n], fed[i])
        if scale_free:
            shared.observe(stats[k], False, True, 0.0, g[i])
        opened[k] = False
        rounds[k] += 1
