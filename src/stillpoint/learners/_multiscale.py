"""MultiScale's round, compiled: one level a time scale, each with its own Erfi potential."""

import math

import numpy as np

from stillpoint.core.arithmetic import assign, norm, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.learners import _constrained as constrained
from stillpoint.learners._constrained import AT, Rule, State
from stillpoint.losses import _pointwise as losses
from stillpoint.memory import _levels as memory
from stillpoint.potentials import _magnitudes as potentials


@njit(cache=True, forceinline=True)
def propose(
    scalars: Array,
    z: Array,
    fixed: bool,
    levels: memory.State,
    factors: Array,
    parameters: Array,
    coefficients: Array,
) -> bool:
    """Decay the levels and set z = −Σ_j (m(S_j, V_j)/S_j)·θ_j(t).

    Returns whether a magnitude saturated; coefficients receives m(S_j, V_j)/S_j.
    """
    constrained.raise_hint(scalars, fixed, 1.0)
    states, squares, variances = levels.states, levels.squares, levels.variances
    memory.decay(states, factors)
    z[:] = 0.0
    saturated = False
    h = scalars[AT.hint]
    for j in range(squares.size):
        S = math.sqrt(max(squares[j], 0.0))
        if j == 0 and squares[0] < 0.01 * variances[0]:
            # constants do not fade: θ_0(t) is θ_0, of which no digit is lost where gradients cancel
            S = norm(states[0])
        elif squares[j] < 1e-8 * variances[j]:
            # S² has lost its digits; ‖θ_j‖ ≥ ‖θ_j(t)‖ holds in every RKHS
            S = max(S, norm(states[j]))
        m = potentials.magnitude(potentials.ERFI, parameters, S, variances[j], h, 0.0)
        saturated = saturated or m >= potentials.CAP
        coefficients[j] = c = m / S if m != 0.0 else 0.0
        if c != 0.0:
            row = states[j]
            for i in range(z.size):
                z[i] -= c * row[i]
    return saturated


@njit(cache=True)
def play_rounds(
    state: State,
    rule: Rule,
    levels: memory.State,
    decays: memory.Decays,
    parameters: Array,
    coefficients: Array,
    rounds: losses.Rounds,
    out: losses.Outputs,
    squared_norms: Array,
) -> tuple[int, bool]:
    """Play a block of rounds in which no level starts; returns how many, and whether one saturated.

    Stops early at a round whose gradient is not finite or above the limit: that round is predicted,
    not learnt from. squared_norms receives Σ_j ‖θ_j‖² after each round.
    """
    state, rule, levels, decays = bare(state), bare(rule), bare(levels), bare(decays)
    rounds, out = bare(rounds), bare(out)
    d = state.proposal.size
    g, fed, ball = np.empty(d), np.empty(d), np.zeros(1 + d)
    projected = rule.ball or rule.domain.kind != domains.EVERYWHERE
    saturated = False
    for t in range(squared_norms.size):
        factors = decays.factors[decays.which[t]]
        full = propose(
            state.scalars, state.proposal, rule.fixed, levels, factors, parameters, coefficients
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
        squared_norms[t] = memory.add(levels, fed)
        constrained.observe(state.scalars, rule.fixed, rule.scale_free, 0.0, g)
    return squared_norms.size, saturated
