"""KernelFTRL's round, compiled: interactive calls and the loop over rounds share it bit for bit."""

import math

import numpy as np

from stillpoint.core.arithmetic import assign, norm, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.learners import _constrained as constrained
from stillpoint.learners._constrained import AT, Rule, State
from stillpoint.losses import _pointwise as losses
from stillpoint.memory import _streaming as memory
from stillpoint.potentials import _magnitudes as potentials


@njit(cache=True)
def true_size(squared_norm: float, pull: Array, diagonal: float) -> float:
    """S = ‖θ‖, at least ‖θ(t)‖/√k(t,t): true of every RKHS, so it only undoes rounding in S²."""
    size = math.sqrt(max(squared_norm, 0.0))
    return max(size, norm(pull) / math.sqrt(diagonal)) if diagonal > 0.0 else size


@njit(cache=True, forceinline=True)
def propose(
    scalars: Array,
    z: Array,
    fixed: bool,
    squared_norm: float,
    pull: Array,
    diagonal: float,
    formula: potentials.Formula,
) -> bool:
    """z = −(m(S, V)/S)·pull; returns whether the magnitude saturated."""
    constrained.raise_hint(scalars, fixed, diagonal)
    S = true_size(squared_norm, pull, diagonal)
    h = scalars[AT.hint]
    V = formula.offset * h * h + scalars[AT.variance]
    count = 0.0 if fixed else 4.0 + scalars[AT.scaled]
    m = potentials.magnitude(formula.code, formula.parameters, S, V, h, count)
    coefficient = m / S if m != 0.0 else 0.0
    for i in range(z.size):
        z[i] = 0.0 - coefficient * pull[i]  # 0 − 0 is 0, −0 would print as -0
    return m >= potentials.CAP


@njit(cache=True)
def propose_round(
    scalars: Array,
    z: Array,
    fixed: bool,
    squared_norm: float,
    pull: Array,
    diagonal: float,
    code: int,
    parameters: Array,
    offset: float,
) -> bool:
    """`propose` with the formula's fields: from Python they are passed faster than a tuple."""
    formula = potentials.Formula(code, parameters, offset)
    return propose(scalars, z, fixed, squared_norm, pull, diagonal, formula)


@njit(cache=True)
def play_rounds(
    state: State,
    rule: Rule,
    sums: memory.State,
    tables: memory.Tables,
    formula: potentials.Formula,
    rounds: losses.Rounds,
    out: losses.Outputs,
    squared_norm: float,
    squared_norms: Array,
) -> tuple[int, bool]:
    """Play a block of rounds; returns how many, and whether an unconstrained play saturated.

    Stops early at a round whose gradient is not finite or above the limit: that round is predicted,
    not learnt from. squared_norm is ‖θ‖² before; squared_norms receives it after each round.
    """
    state, rule, sums, tables = bare(state), bare(rule), bare(sums), bare(tables)
    formula, rounds, out = bare(formula), bare(rounds), bare(out)
    d = state.proposal.size
    g, fed, ball = np.empty(d), np.empty(d), np.zeros(1 + d)
    projected = rule.ball or rule.domain.kind != domains.EVERYWHERE
    saturated = False
    for t in range(squared_norms.size):
        diagonal = tables.diagonals[t]
        memory.advance_round(sums, tables, t)
        full = propose(
            state.scalars, state.proposal, rule.fixed, squared_norm, sums.pull, diagonal, formula
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
        rise, square = memory.growth(fed, sums.pull, diagonal)
        memory.add_round(sums, tables, t, fed)
        squared_norm += rise
        squared_norms[t] = squared_norm
        constrained.observe(state.scalars, rule.fixed, rule.scale_free, square, g)
    return squared_norms.size, saturated
