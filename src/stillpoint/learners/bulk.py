"""KernelFTRL over a whole stream of built-in losses in compiled code: the same numbers as predict and update, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stillpoint._validate import Array
from stillpoint.learners import _hot
from stillpoint.losses import LossStream
from stillpoint.memory import StreamingMemory
from stillpoint.potentials import Potential

if TYPE_CHECKING:
    from stillpoint.learners.kernel_ftrl import KernelFTRL

_BLOCK = 4096  # rounds a compiled call: bounds the tables that irregular times need


def can_compile(learner: KernelFTRL) -> bool:
    """Whether kernel, potential and domain all have a compiled form, and no round is open."""
    return (
        isinstance(learner.memory, StreamingMemory)
        and isinstance(learner.potential, Potential)
        and learner.potential.code is not None
        and learner.domain.hot(learner.dim) is not None
        and learner._play is None
    )


def play_block(learner: KernelFTRL, losses: LossStream, times: Array, first: int, out: dict[str, Array]) -> int:
    """Play up to a block of rounds from `first` on, writing into `out`; returns how many.

    A round whose gradient is refused is left open, as the interactive calls would leave it, and raises.
    """
    memory, true, potential = learner.memory, learner.ledger.memory, learner.potential
    compiled_domain = learner.domain.hot(learner.dim)
    assert isinstance(memory, StreamingMemory)
    assert isinstance(true, StreamingMemory)
    assert isinstance(potential, Potential)
    assert potential.code is not None
    assert compiled_domain is not None
    rows = slice(first, min(first + _BLOCK, times.size))
    when = times[rows]
    learner._check_diagonal(when)

    space, stats = memory.space, learner._stats
    gaps = np.diff(when, prepend=memory.time)
    unique, which = np.unique(gaps, return_inverse=True)
    if np.isfinite(memory.time):
        transitions = np.stack([memory.transition(float(gap)) for gap in unique])
    else:  # nothing to move before the very first round
        unique, which = unique[:-1], np.append(-1, which[1:])
        transitions = np.stack([memory.transition(float(gap)) for gap in unique] or [memory.space.transition(1.0)])
    diagonals, gains = memory.diagonals(when), space.gains(when)
    code, parameter, Y, X, mode = losses.compiled
    stats[_hot.SQUARED_NORM], stats[_hot.TRUE_SQUARED_NORM] = memory.squared_norm, true.squared_norm
    stats[_hot.LINEAR_LOSS] = learner.ledger.linear_loss
    n, saturated = _hot.play_rounds(
        stats, learner._fixed, learner._scale_free, learner.radius_scale, learner._ball_on, learner.ledger.shared,
        learner._limit, memory.state, memory.pull, true.state, true.pull, space.h, memory.scratch,
        transitions, which, gains, diagonals,
        potential.code, potential.parameters, potential.offset, *compiled_domain, learner._ball,
        code, parameter, mode, Y[rows], X[rows], learner._proposal, learner._inner,
        *(out[key][rows] for key in ("plays", "losses", "gradients", "linear", "norms")),
    )  # fmt: skip
    memory.squared_norm, true.squared_norm = float(stats[_hot.SQUARED_NORM]), float(stats[_hot.TRUE_SQUARED_NORM])
    learner.ledger.linear_loss = float(stats[_hot.LINEAR_LOSS])
    last = min(n, when.size - 1)
    memory.time = true.time = learner.time = float(when[last])
    memory.diagonal = true.diagonal = float(diagonals[last])
    learner.rounds += n
    learner._started = True
    if saturated:
        learner._warn()
    if n < when.size:
        learner._play = out["plays"][first + n].copy()
        learner.update(out["gradients"][first + n])  # raises, naming what is wrong with it
    return int(n)
