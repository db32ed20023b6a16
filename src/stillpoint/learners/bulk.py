"""KernelFTRL over a whole stream of built-in losses in compiled code: the same numbers as predict and update, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stillpoint._validate import Array
from stillpoint.learners import _hot
from stillpoint.losses import LossStream
from stillpoint.memory.streaming import BLOCK, StreamingMemory
from stillpoint.potentials import CAP, Potential

if TYPE_CHECKING:
    from stillpoint.learners.kernel_ftrl import KernelFTRL


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
    """Play up to a block of rounds from `first` on, writing into `out`; see `GradientLearner.play_block`."""
    memory, potential = learner.memory, learner.potential
    compiled_domain = learner.domain.hot(learner.dim)
    assert isinstance(memory, StreamingMemory)
    assert isinstance(potential, Potential)
    assert potential.code is not None
    assert compiled_domain is not None
    rows = slice(first, min(first + BLOCK, times.size))
    when = times[rows]
    learner._check_diagonal(when)
    transitions, which, gains, diagonals = memory.tables(when)
    code, parameter, Y, X, mode = losses.compiled
    squared_norms = np.empty(when.size)
    n, saturated = _hot.play_rounds(
        learner._stats, learner._fixed, learner._scale_free, learner.radius_scale, learner._ball_on, learner._unbounded,
        learner._limit,
        memory.state, memory.pull, memory.space.h, memory.scratch, transitions, which, gains, diagonals,
        potential.code, potential.parameters, potential.offset, *compiled_domain, learner._ball,
        code, parameter, mode, Y[rows], X[rows], learner._proposal, learner._inner, memory.squared_norm,
        out["plays"][rows], out["losses"][rows], out["gradients"][rows], squared_norms,
    )  # fmt: skip
    if n:
        memory.squared_norm = float(squared_norms[n - 1])
        if learner.ledger.shared:
            out["norms"][first : first + n] = np.sqrt(np.maximum(squared_norms[:n], 0.0))
    last = min(n, when.size - 1)  # the round that stopped the block has been predicted, so the memory stands there
    memory.time, memory.diagonal = float(when[last]), float(diagonals[last])
    if saturated:
        learner._warn_saturated(CAP)
    return learner._finish_block(times, first, int(n), when.size, out)
