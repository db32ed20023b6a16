"""Steps of base learners, compiled."""

import math

import numpy as np

from stillpoint.core.arithmetic import assign, dot
from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.domains._sets import project
from stillpoint.lab.online._bank import ROW, Bank, Rule

DESCENT = 0  # x ← Π(x − ηg)
SQRT = 1  # the same with η/√age
SCALE_FREE = 2  # with η/√(δ + Σ‖g‖²)
STRONG = 3  # with 1/(H·age)
OPTIMISTIC = 4  # y ← Π(y − ηg), x ← Π(y − ηg)
EXTRA = 5  # y ← Π(y − ηg), x ← Π(y − η∇f(y))
NEWTON = 6  # A ← A + gg', x ← Π_A(x − A⁻¹g/γ)
HALVINGS = 200  # of an interval that holds a multiplier: floats have no more


@njit(cache=True)
def begin(bank: Bank, rule: Rule, i: int) -> None:
    """Put a new base learner into place i."""
    assign(bank.x[i], rule.start)
    assign(bank.y[i], rule.start)
    bank.table[ROW.age, i], bank.table[ROW.square, i] = 0.0, 0.0
    bank.table[ROW.penalty, i], bank.table[ROW.penalties, i] = 0.0, 0.0
    for j in range(rule.start.size):
        bank.guess[i, j] = 0.0
        if bank.matrix.shape[0] > 0:
            for k in range(rule.start.size):
                bank.matrix[i, j, k] = rule.step if j == k else 0.0


@njit(cache=True, forceinline=True)
def step(bank: Bank, rule: Rule, i: int, g: Array, z: Array) -> None:
    """Let base learner i step along g; of EXTRA this is the first half. `z`, (2, d), is scratch."""
    kind, eta = int(bank.table[ROW.kind, i]), bank.table[ROW.step, i]
    bank.table[ROW.age, i] += 1.0
    for j in range(g.size):
        bank.table[ROW.square, i] += (g[j] - bank.guess[i, j]) ** 2
    if kind in (OPTIMISTIC, EXTRA):
        y = bank.y[i]
        for j in range(g.size):
            z[0, j] = y[j] - eta * g[j]
        project(rule.kind, rule.domain, z[0], y)
        if kind == OPTIMISTIC:
            second_step(bank, rule, i, g, z)
        return
    if kind == NEWTON:
        _newton(bank, rule, i, g, z)
        return
    if kind == SQRT:
        eta /= math.sqrt(bank.table[ROW.age, i])
    elif kind == STRONG:
        eta = 1.0 / (rule.curvature * bank.table[ROW.age, i])
    elif kind == SCALE_FREE:
        root = math.sqrt(rule.offset + bank.table[ROW.square, i])
        eta = eta / root if root > 0.0 else 0.0
    for j in range(g.size):
        z[0, j] = bank.x[i, j] - eta * g[j]
    _move(bank, rule, i, z)


@njit(cache=True, forceinline=True)
def second_step(bank: Bank, rule: Rule, i: int, guess: Array, z: Array) -> None:
    """Let base learner i step from its second iterate along the gradient it expects."""
    for j in range(guess.size):
        bank.guess[i, j] = guess[j]
        z[0, j] = bank.y[i, j] - bank.table[ROW.step, i] * guess[j]
    _move(bank, rule, i, z)


@njit(cache=True, forceinline=True)
def _move(bank: Bank, rule: Rule, i: int, z: Array) -> None:
    """Move x_i to Π(z[0])."""
    assign(z[1], bank.x[i])
    project(rule.kind, rule.domain, z[0], bank.x[i])
    _charge(bank, rule, i, z)


@njit(cache=True, forceinline=True)
def _charge(bank: Bank, rule: Rule, i: int, z: Array) -> None:
    """Note what the move of x_i from z[1] costs: λ‖move‖^order."""
    if rule.penalty > 0.0:
        square = 0.0
        for j in range(rule.start.size):
            square += (bank.x[i, j] - z[1, j]) ** 2
        bank.table[ROW.penalty, i] = rule.penalty * (
            square if rule.order == 2 else math.sqrt(square)
        )


@njit(cache=True)
def _newton(bank: Bank, rule: Rule, i: int, g: Array, z: Array) -> None:
    """Online Newton step with P = A⁻¹: P ← P − Pgg'P/(1 + g'Pg), x ← Π_A(x − Pg/γ)."""
    P, x, dim = bank.matrix[i], bank.x[i], g.size
    assign(z[1], x)
    for j in range(dim):
        z[0, j] = dot(P[j], g)
    gain = 1.0 + dot(z[0], g)
    for j in range(dim):
        for k in range(dim):
            P[j, k] -= z[0, j] * z[0, k] / gain
    for j in range(dim):
        z[0, j] /= gain  # P⁺g = Pg/(1 + g'Pg)
    for j in range(dim):
        z[0, j] = x[j] - z[0, j] / rule.curvature
    if dim == 1:
        project(rule.kind, rule.domain, z[0], x)
    else:
        nearest_in_ball(P, rule.domain[0], z[0], x)
    _charge(bank, rule, i, z)


@njit(cache=True)
def nearest_in_ball(P: Array, radius: float, z: Array, x: Array) -> None:
    """Write argmin (x − z)'P⁻¹(x − z) over ‖x‖ ≤ radius into `x`.

    That is x = (I + μP)⁻¹z with the μ ≥ 0 for which ‖x‖ = radius, found by halving.
    """
    assign(x, z)
    if dot(x, x) <= radius * radius:
        return
    system = np.empty((z.size, z.size))
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        _solve(P, high, z, x, system)
        if dot(x, x) <= radius * radius:
            break
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        _solve(P, middle, z, x, system)
        if dot(x, x) > radius * radius:
            low = middle
        else:
            high = middle
    _solve(P, high, z, x, system)


@njit(cache=True)
def _solve(P: Array, mu: float, z: Array, x: Array, system: Array) -> None:
    """Write (I + μP)⁻¹z into `x`, by elimination: the matrix is positive definite."""
    n = z.size
    for j in range(n):
        x[j] = z[j]
        for k in range(n):
            system[j, k] = mu * P[j, k] + (1.0 if j == k else 0.0)
    for j in range(n):
        for k in range(j + 1, n):
            factor = system[k, j] / system[j, j]
            for m in range(j, n):
                system[k, m] -= factor * system[j, m]
            x[k] -= factor * x[j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            x[j] -= system[j, k] * x[k]
        x[j] /= system[j, j]
