"""Schedules, compiled: which base learners live in the coming round."""

import math

from stillpoint.core.jit import njit
from stillpoint.lab.online._bank import AT, ROW, Bank, Rule
from stillpoint.lab.online._bases import begin
from stillpoint.lab.online._metas import COIN, enter

POOL = 0  # all, always
DENSE = 1  # [i·2^k, (i + 1)·2^k − 1], i ≥ 1
COMPACT = 2  # the same, i odd
HISTORY = 3  # i odd, and they live for 2^{k+2} + 1
BY_LOSS = 4  # COMPACT, from marker to marker where the latest base learner has lost enough
SCALES = 54  # 2^53 rounds, which is what floats count


@njit(cache=True)
def advance(bank: Bank, rule: Rule) -> None:
    """Go on to the next round: retire base learners whose time is over, and start new ones."""
    clock = bank.clock
    clock[AT.round] += 1.0
    if rule.cover == POOL:
        return
    if rule.cover == BY_LOSS:
        moves = clock[AT.marker] == 0.0 or clock[AT.watched] > rule.every
    else:
        moves = (clock[AT.round] - 1.0) % rule.every == 0.0
    if not moves:
        return
    clock[AT.marker] += 1.0
    clock[AT.watched] = 0.0
    n = int(clock[AT.marker])
    for i in range(int(clock[AT.top])):
        if bank.table[ROW.ends, i] < n:
            bank.table[ROW.alive, i] = 0.0
    k, length, rest = 0, 1, n
    while rest % 2 == 0:
        if rule.cover == DENSE:
            bear(bank, rule, k, n, n + length - 1)
        rest //= 2
        k, length = k + 1, 2 * length
    if rule.cover == HISTORY:
        bear(bank, rule, 3 * k + (rest // 2) % 3, n, n + 4 * length)
    else:
        bear(bank, rule, k, n, n + length - 1)


@njit(cache=True)
def bear(bank: Bank, rule: Rule, i: int, first: int, last: int) -> None:
    """Put a new base learner into place i, for the markers from `first` to `last`."""
    bank.table[ROW.kind, i], bank.table[ROW.step, i] = rule.base, rule.step
    bank.table[ROW.alive, i], bank.table[ROW.born, i], bank.table[ROW.ends, i] = 1.0, first, last
    bank.table[ROW.prior, i] = 0.0
    if rule.meta == COIN:  # π ∝ 1/(n²(1 + ⌊log₂ n⌋)) (Jun et al. 2017)
        bank.table[ROW.prior, i] = -math.log(first * first * (1.0 + math.floor(math.log2(first))))
    begin(bank, rule, i)
    enter(bank, rule, i)
    bank.clock[AT.latest] = i
    bank.clock[AT.top] = max(bank.clock[AT.top], i + 1.0)
