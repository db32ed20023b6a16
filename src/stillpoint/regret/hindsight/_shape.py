"""What the losses look like to the solvers: their slopes and their minimisers."""

from math import inf
from typing import Any

import numpy as np

from stillpoint.core.array import Array
from stillpoint.losses import Hinge, Huber, Loss, LossStream, Pinball, Squared
from stillpoint.regret.hindsight import _paths


def as_stream(losses: Any) -> LossStream:
    """Return the argument `losses`, made sure to be a stream of the losses that solvers know."""
    if not isinstance(losses, LossStream):
        raise ValueError(
            f"losses must be a stream of sp.losses: got {type(losses).__name__}; build one, such as"
            " Absolute().on(y)"
        )
    return losses


def slopes(loss: Loss) -> tuple[float, float, float]:
    """(down, up, width) of a loss.

    The slope runs from −down to up while p − y, or y·p − 1 for Hinge, runs from −width to width.
    """
    if isinstance(loss, Pinball):
        return loss.level, 1.0 - loss.level, 0.0
    if isinstance(loss, Huber):
        return loss.width, loss.width, loss.width
    if isinstance(loss, Squared):
        return inf, inf, inf
    return 1.0, 0.0 if isinstance(loss, Hinge) else 1.0, 0.0


def centre(loss: Loss, y: Array) -> float:
    """A minimiser of Σ_t ℓ(p, y_t)."""
    if isinstance(loss, Squared):
        return float(y.mean())
    if isinstance(loss, Pinball):
        return float(np.quantile(y, loss.level, method="inverted_cdf"))
    if isinstance(loss, Huber):
        u = np.empty_like(y)
        _paths.total_variation(y, *slopes(loss), inf, u)
        return float(u[0])
    return float(np.median(y))
