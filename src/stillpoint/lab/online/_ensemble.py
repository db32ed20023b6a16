"""Rounds of an ensemble, compiled: interactive calls and the loop over rounds share them bit for
bit.

A round is closed in five stages. Between them, those who query gradients at other points than the
play do so, of a loss in Python or of a compiled one.
"""

import math

import numpy as np

from stillpoint.core.arithmetic import assign, dot, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.lab.online import _bases, _covers, _metas
from stillpoint.lab.online._bank import AT, ROW, Bank, Rule
from stillpoint.losses._pointwise import Outputs, Rounds, evaluate_round

NONE = 0  # no hints: m = 0
LAST = 1  # m_i = ⟨g_t, x_{t+1,i}⟩
AHEAD = 2  # m_i = ⟨∇f_t(x̄_{t+1}), x_{t+1,i}⟩, x̄_{t+1} = Σp_{t,i}x_{t+1,i}
BEST = 3  # AHEAD times β_t, learnt
MIXING = 0.125  # the rate of β is MIXING/G²


@njit(cache=True)
def mix(bank: Bank, w: Array) -> None:
    """Write Σ p_i x_i into `w`."""
    for j in range(w.size):
        w[j] = 0.0
    for i in range(int(bank.clock[AT.top])):
        if bank.table[ROW.weight, i] > 0.0:
            for j in range(w.size):
                w[j] += bank.table[ROW.weight, i] * bank.x[i, j]


@njit(cache=True)
def judge(
    bank: Bank, rule: Rule, g: Array, w: Array, value: float, values: Array, losses: Array
) -> None:
    """Write the losses of the base learners, with penalties for their moves; w is the play.

    They are those in `values`, or with linear ones ⟨g, x_i⟩. Sums for bounds and markers follow.
    """
    clock = bank.clock
    for i in range(int(clock[AT.top])):
        if bank.table[ROW.alive, i] > 0.0:
            losses[i] = values[i] if rule.values else dot(g, bank.x[i])
            losses[i] += bank.table[ROW.penalty, i]
            bank.table[ROW.penalties, i] += bank.table[ROW.penalty, i]
            clock[AT.penalties] += bank.table[ROW.weight, i] * bank.table[ROW.penalty, i]
    if rule.cover == _covers.BY_LOSS:
        clock[AT.watched] += values[int(clock[AT.latest])]
    clock[AT.plain] += dot(g, g)
    for j in range(g.size):
        clock[AT.varied] += (g[j] - bank.extra[j]) ** 2


@njit(cache=True)
def mean_loss(bank: Bank, rule: Rule, g: Array, w: Array, value: float, losses: Array) -> float:
    """The loss of the play, as the base learners' are counted."""
    if rule.penalty > 0.0:  # of penalties only the mean is known
        total = 0.0
        for i in range(int(bank.clock[AT.top])):
            total += bank.table[ROW.weight, i] * losses[i]
        return total
    return value if rule.values else dot(g, w)


@njit(cache=True)
def step(bank: Bank, rule: Rule, g: Array, gradients: Array, z: Array) -> None:
    """Let base learners step along g, or along gradients of their own."""
    for i in range(int(bank.clock[AT.top])):
        if bank.table[ROW.alive, i] > 0.0:
            _bases.step(bank, rule, i, gradients[i] if rule.own else g, z)


@njit(cache=True)
def expect(bank: Bank, rule: Rule, g: Array, ahead: Array) -> None:
    """Expect β∇f_t(x̄_{t+1}), `ahead`, or g, in the coming round, and losses to go with it."""
    if rule.hints == NONE:
        return
    clock, factor = bank.clock, 1.0
    if rule.hints == BEST:
        gap = MIXING / (rule.limit * rule.limit) * (clock[AT.varied] - clock[AT.plain])
        factor = 1.0 / (1.0 + math.exp(min(gap, 700.0)))
    source = g if rule.hints == LAST else ahead
    for j in range(g.size):
        bank.extra[j] = source[j]
    for i in range(int(clock[AT.top])):
        bank.table[ROW.hint, i] = factor * dot(source, bank.x[i]) + bank.table[ROW.penalty, i]


@njit(cache=True)
def advance(bank: Bank, rule: Rule, before: Array) -> None:
    """Go on to the next round: who lives in it, and their weights. `before` is scratch space."""
    top = int(bank.clock[AT.top])
    for i in range(top):
        before[i] = bank.table[ROW.weight, i]
    _covers.advance(bank, rule)
    _metas.weigh(bank, rule)
    if rule.cover == _covers.POOL and bank.clock[AT.round] > 1.0:
        for i in range(top):
            bank.clock[AT.shift] += abs(bank.table[ROW.weight, i] - before[i])


@njit(cache=True)
def learn(
    bank: Bank, rule: Rule, g: Array, w: Array, value: float, values: Array, gradients: Array
) -> None:
    """Close a round whose base learners query no gradients beyond these."""
    z, losses = np.empty((2, g.size)), np.zeros(bank.table.shape[1])
    judge(bank, rule, g, w, value, values, losses)
    _metas.learn(bank, rule, losses, mean_loss(bank, rule, g, w, value, losses))
    step(bank, rule, g, gradients, z)
    expect(bank, rule, g, g)
    advance(bank, rule, losses)


@njit(cache=True)
def usable(rule: Rule, value: float, g: Array) -> bool:
    """Whether a loss and its gradient can be learnt from."""
    size = usable_norm(g)
    return math.isfinite(size) and size <= rule.limit and math.isfinite(value)


@njit(cache=True)
def tame(g: Array) -> None:
    """Make a queried gradient 0 where it is no number: its round has been learnt by then."""
    if not math.isfinite(usable_norm(g)):
        for j in range(g.size):
            g[j] = 0.0


@njit(cache=True)
def play_rounds(bank: Bank, rule: Rule, rounds: Rounds, out: Outputs) -> int:
    """Play a block of rounds; returns how many.

    Stops early, with nothing learnt, at a round with a gradient that is not finite or above the
    limit.
    """
    bank, rule, rounds, out = bare(bank), bare(rule), bare(rounds), bare(out)
    places, dim = bank.table.shape[1], rule.start.size
    g, ahead, z = np.empty(dim), np.zeros(dim), np.empty((2, dim))
    losses, values = np.zeros(places), np.zeros(places)
    gradients = np.empty((places if rule.own else 1, dim))
    for n in range(out.losses.size):
        w = out.plays[n]
        mix(bank, w)
        value = evaluate_round(rounds, n, w, g)
        out.losses[n] = value
        assign(out.gradients[n], g)
        good = usable(rule, 0.0, g)
        assign(out.gradients[n], g)
        if rule.own or rule.values:
            good = good and math.isfinite(value)
            for i in range(int(bank.clock[AT.top])):
                if bank.table[ROW.alive, i] > 0.0:
                    own = gradients[i] if rule.own else z[0]
                    values[i] = evaluate_round(rounds, n, bank.x[i], own)
                    good = good and usable(rule, values[i], own)
        if not good:
            return n
        judge(bank, rule, g, w, value, values, losses)
        _metas.learn(bank, rule, losses, mean_loss(bank, rule, g, w, value, losses))
        step(bank, rule, g, gradients, z)
        if rule.own:
            for i in range(int(bank.clock[AT.top])):
                if bank.table[ROW.alive, i] > 0.0 and bank.table[ROW.kind, i] == _bases.EXTRA:
                    evaluate_round(rounds, n, bank.y[i], gradients[i])
                    tame(gradients[i])
                    _bases.second_step(bank, rule, i, gradients[i], z)
        if rule.hints >= AHEAD:
            mix(bank, z[0])
            evaluate_round(rounds, n, z[0], ahead)
            tame(ahead)
        expect(bank, rule, g, ahead)
        advance(bank, rule, losses)
    return out.losses.size
