"""Blocks of rounds, as the compiled loops of the baselines take them."""

from typing import NamedTuple

from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.losses import _pointwise as losses


class Block(NamedTuple):
    """The losses of a block of n rounds, and where their results go."""

    code: int  # the family of losses
    parameter: float  # of the family, 0 where it has none
    mode: int  # how a play predicts
    y: Array  # (n, k), targets
    x: Array  # (n, d), features; (0, d) where there are none
    plays: Array  # (n, d)
    values: Array  # (n,), losses
    gradients: Array  # (n, d)


@njit(cache=True)
def evaluate(block: Block, n: int, w: Array, g: Array) -> float:
    """Return the loss of the play `w` in round n, and write its gradient."""
    y = block.y[n]
    x = block.x[n] if block.x.shape[0] > 0 else y
    return losses.evaluate(block.code, block.parameter, block.mode, y, x, w, g)
