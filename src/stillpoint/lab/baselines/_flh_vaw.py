"""Rounds of FLH over VAW, compiled: interactive calls and the loop over rounds share them bit for
bit.

Of a base learner the bank's `matrix` is P = (λI + Σxx')⁻¹ and its `y` b = Σyx, sums over the rounds
since its birth.
"""

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.lab.online import _covers, _metas
from stillpoint.lab.online._bank import AT, ROW, Bank, Rule


@njit(cache=True)
def forecast(bank: Bank, reach: float, x: Array, forecasts: Array, q: Array) -> float:
    """Write each base learner's forecast x'(P⁻¹ + xx')⁻¹b, clipped, and return their mean."""
    mean = 0.0
    for i in range(int(bank.clock[AT.top])):
        if bank.table[ROW.alive, i] > 0.0:
            variance = _spread(bank, i, x, q)
            value = dot(q, bank.y[i]) / (1.0 + variance)
            forecasts[i] = min(max(value, -reach), reach)
            mean += bank.table[ROW.weight, i] * forecasts[i]
    return mean


@njit(cache=True)
def learn(
    bank: Bank, rule: Rule, x: Array, y: float, forecasts: Array, mean: float, q: Array
) -> None:
    """Close a round with what was forecast in it."""
    top, losses = int(bank.clock[AT.top]), np.zeros(bank.table.shape[1])
    for i in range(top):
        losses[i] = 0.5 * (y - forecasts[i]) ** 2
    _metas.learn(bank, rule, losses, 0.5 * (y - mean) ** 2)
    for i in range(top):
        if bank.table[ROW.alive, i] > 0.0:
            variance = _spread(bank, i, x, q)
            for j in range(x.size):
                bank.y[i, j] += y * x[j]
                for k in range(x.size):
                    bank.matrix[i, j, k] -= q[j] * q[k] / (1.0 + variance)
            bank.table[ROW.age, i] += 1.0
    advance(bank, rule)


@njit(cache=True)
def advance(bank: Bank, rule: Rule) -> None:
    """Go on to the next round: who lives in it, and their weights."""
    _covers.advance(bank, rule)
    _metas.weigh(bank, rule)


@njit(cache=True)
def _spread(bank: Bank, i: int, x: Array, q: Array) -> float:
    """Write Px into `q`; returns x'Px."""
    for j in range(x.size):
        q[j] = dot(bank.matrix[i, j], x)
    return max(dot(q, x), 0.0)


@njit(cache=True)
def play(
    bank: Bank, rule: Rule, reach: float, X: Array, y: Array, forecasts: Array, out: Array
) -> None:
    """Forecast and learn rows, one after the other."""
    bank, rule = bare(bank), bare(rule)
    q = np.empty(X.shape[1])
    for t in range(y.size):
        out[t] = forecast(bank, reach, X[t], forecasts, q)
        learn(bank, rule, X[t], y[t], forecasts, out[t], q)
