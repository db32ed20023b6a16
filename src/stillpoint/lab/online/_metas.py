"""Meta learners, compiled: from what the base learners have lost to their weights."""

import math

from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.lab.online._bank import AT, ROW, Bank, Rule

HEDGE = 0  # p ∝ π exp(−ε_t(Σℓ + m)); loss: Σ(ℓ − mean)
SHARE = 1  # p ∝ p·exp(−εℓ), a share 1/t for those born; loss: ln p
PROD = 2  # p ∝ w, w ← w(1 + ηr); loss: ln w, spread: η
NORMAL = 3  # AdaNormalHedge; loss: Σr, spread: Σ|r|
COIN = 4  # KT bets on r; loss: Σ of coins, spread: what bets have won


@njit(cache=True)
def enter(bank: Bank, rule: Rule, i: int) -> None:
    """Forget what was in place i; its base learner has just been born."""
    table = bank.table
    table[ROW.loss, i], table[ROW.spread, i], table[ROW.hint, i] = 0.0, 0.0, 0.0
    if rule.meta == PROD:
        # the paper's η = min{½, 1/√|I|}, which is the weight at birth, too
        length = (table[ROW.ends, i] - table[ROW.born, i] + 1.0) * max(rule.every, 1.0)
        table[ROW.spread, i] = min(0.5, 1.0 / math.sqrt(length))
        table[ROW.loss, i] = math.log(table[ROW.spread, i])


@njit(cache=True)
def learn(bank: Bank, rule: Rule, losses: Array, mean: float) -> None:
    """Take in the losses of the base learners that are alive, and that of the play."""
    clock, table, top = bank.clock, bank.table, int(bank.clock[AT.top])
    loss, spread = table[ROW.loss], table[ROW.spread]
    if rule.meta == HEDGE:
        low, high = math.inf, -math.inf
        for i in range(top):
            surprise = losses[i] - table[ROW.hint, i]
            low, high = min(low, surprise), max(high, surprise)
            loss[i] += losses[i] - mean  # only differences count; sums stay small
        clock[AT.cost] += clock[AT.rate] * (high - low) * (high - low) / 8.0
        clock[AT.variance] += (high - low) * (high - low)
        return
    for i in range(top):
        if table[ROW.alive, i] == 0.0:
            continue
        regret = (mean - losses[i]) / rule.range
        if rule.meta == SHARE:
            loss[i] += rule.rate * (mean - losses[i])
        elif rule.meta == PROD:
            loss[i] += math.log1p(spread[i] * min(max(regret, -1.0), 1.0))
        elif rule.meta == NORMAL:
            loss[i] += regret
            spread[i] += abs(regret)
        else:
            stake = bet(loss[i], spread[i], table[ROW.age, i])
            coin = min(max(regret, -1.0 if stake > 0.0 else 0.0), 1.0)
            loss[i] += coin
            spread[i] += coin * stake


@njit(cache=True)
def weigh(bank: Bank, rule: Rule) -> None:
    """Write the weights of the coming round; base learners of age 0 are new in it."""
    clock, table, top = bank.clock, bank.table, int(bank.clock[AT.top])
    if rule.meta == SHARE:
        _share(table, top, clock[AT.round])
        return
    alive, prior, loss = table[ROW.alive], table[ROW.prior], table[ROW.loss]
    weight = table[ROW.weight]
    if rule.meta == HEDGE:
        clock[AT.rate] = rule.rate
        if rule.numerator > 0.0:
            scale = math.hypot(rule.range, math.sqrt(clock[AT.variance]))
            clock[AT.rate] = min(rule.rate, rule.numerator / scale)
        for i in range(top):
            weight[i] = prior[i] - clock[AT.rate] * (loss[i] + table[ROW.hint, i])
        _normalise(weight, top)
        return
    some = False
    for i in range(top):
        weight[i] = -math.inf
        if alive[i] > 0.0:
            if rule.meta == PROD:
                weight[i] = loss[i]
            elif rule.meta == NORMAL:
                weight[i] = prior[i] + normal(loss[i], table[ROW.spread, i])
            else:
                stake = bet(loss[i], table[ROW.spread, i], table[ROW.age, i])
                weight[i] = prior[i] + math.log(stake) if stake > 0.0 else -math.inf
            some = some or weight[i] > -math.inf
    if not some:
        for i in range(top):
            weight[i] = prior[i] if alive[i] > 0.0 else -math.inf
    _normalise(weight, top)


@njit(cache=True)
def bet(coins: float, won: float, age: float) -> float:
    """Coin betting's stake: the mean of past coins, times the wealth."""
    return coins / (age + 1.0) * (1.0 + won)


@njit(cache=True)
def normal(regret: float, spread: float) -> float:
    """ln of ½(Φ(R + 1, C + 1) − Φ(R − 1, C + 1)), Φ(R, C) = exp(max(R, 0)²/(3C))."""
    up = max(regret + 1.0, 0.0) ** 2 / (3.0 * (spread + 1.0))
    down = max(regret - 1.0, 0.0) ** 2 / (3.0 * (spread + 1.0))
    if up <= down:
        return -math.inf
    return up + math.log(-0.5 * math.expm1(down - up))


@njit(cache=True)
def _share(table: Array, top: int, t: float) -> None:
    """Follow the leading history: those born get 1/t of the weight, the others the rest."""
    alive, age, loss, weight = table[ROW.alive], table[ROW.age], table[ROW.loss], table[ROW.weight]
    born, high, total = 0, -math.inf, 0.0
    for i in range(top):
        if alive[i] > 0.0:
            if age[i] == 0.0:
                born += 1
            else:
                high = max(high, loss[i])
    for i in range(top):
        if alive[i] > 0.0 and age[i] > 0.0:
            total += math.exp(loss[i] - high)
    part = 0.0
    if born > 0:
        part = 1.0 / t if total > 0.0 else 1.0
    for i in range(top):
        weight[i] = 0.0
        if alive[i] > 0.0:
            if age[i] == 0.0:
                loss[i] = math.log(part / born)
            else:
                loss[i] += math.log1p(-part) - high - math.log(total)
            weight[i] = math.exp(loss[i])


@njit(cache=True)
def _normalise(weight: Array, top: int) -> None:
    """Turn logarithms of weights into weights that sum to 1."""
    high, total = -math.inf, 0.0
    for i in range(top):
        high = max(high, weight[i])
    for i in range(top):
        weight[i] = math.exp(weight[i] - high)
        total += weight[i]
    for i in range(top):
        weight[i] /= total
