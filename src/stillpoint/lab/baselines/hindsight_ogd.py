"""OGD with the best constant step in hindsight (OGD*): a cheating yardstick that no one can run."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite
from stillpoint.domains import Ball
from stillpoint.lab.baselines import _ogd
from stillpoint.lab.baselines.ogd import OGD
from stillpoint.lab.online.base import BLOCK
from stillpoint.lab.streams.base import hindsight_steps
from stillpoint.losses import LossStream


@dataclass(frozen=True, eq=False)
class HindsightOGD:
    """What `hindsight_ogd` found.

    Parameters
    ----------
    step
        The step with the least total loss, the first of equals.
    totals
        The total loss of every step tried, in their order.
    plays, losses
        The rounds of the best step, shapes (T, dim) and (T,).
    """

    assumes: ClassVar[tuple[str, ...]] = ("the future",)
    step: float
    totals: Array
    plays: Array
    losses: Array

    @property
    def total(self) -> float:
        """The least total loss; subtract a comparator's to get the regret."""
        return float(self.totals.min())


def hindsight_ogd(
    losses: LossStream, *, steps: ArrayLike | None = None, radius: float = 30.0
) -> HindsightOGD:
    """Run projected OGD from 0 with every step, and keep the one that turned out best.

    Parameters
    ----------
    losses
        A stream, such as `sp.losses.Absolute().on(y)`.
    steps
        Default: 2^−14, 2^−13¾, …, 2^2.
    radius
        Of the ball for plays.
    """
    if not isinstance(losses, LossStream):
        raise ValueError(
            f"losses must be a stream: got {type(losses).__name__}; build one with sp.losses,"
            " .on(y)"
        )
    tried = hindsight_steps(1.0, 1.0) if steps is None else np.atleast_1d(finite("steps", steps))
    if tried.ndim != 1 or tried.size == 0 or (tried <= 0.0).any():
        raise ValueError(
            f"steps must be positive, one or more: got {steps!r}; give a grid such as 2.0 **"
            " np.arange(-14, 3)"
        )
    ball, totals = Ball(radius), np.empty(tried.size)
    _ogd.hindsight_totals(np.array(tried), ball._compiled(losses.dim)[1], losses.compiled, totals)
    best = float(tried[int(np.argmin(totals))])

    learner, times = OGD(losses.dim, step=best, domain=ball), np.arange(1.0, len(losses) + 1.0)
    out: dict[str, Array] = {
        key: np.empty((len(losses), losses.dim)) for key in ("plays", "gradients")
    }
    out["losses"] = np.empty(len(losses))
    for first in range(0, len(losses), BLOCK):
        learner._play_block(losses, times, first, out)
    return HindsightOGD(best, totals, out["plays"], out["losses"])
