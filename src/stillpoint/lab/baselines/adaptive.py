"""What learners with small regret on every interval share: their arguments."""

from typing import ClassVar

from stillpoint.core.validation import positive
from stillpoint.domains import Ball
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.metas import Meta
from stillpoint.lab.online.schedules import Cover


class Adaptive(Named):
    """A learner with small regret on every interval of rounds: `interval_bound(first, last)`.

    Parameters
    ----------
    dim
        The dimension of plays.
    lipschitz
        G ≥ ‖g_t‖ in the ball.
    radius
        Of the ball that holds plays and comparators; its diameter is D.
    surrogate
        True: everybody sees the linear loss ⟨g_t, · − w_t⟩, one gradient a round (Wang, Zhao &
        Zhang 2018). False: base learners step along gradients at their own plays, and the meta
        learner sees f_t there; it must be shown the loss itself, by `update_loss` or `sp.play`.
    """

    assumes: tuple[str, ...] = ("G", "D")
    _given: ClassVar[tuple[str, ...]] = ("lipschitz", "radius", "surrogate")

    def __init__(
        self, dim: int, schedule: Cover, meta: Meta, G: float, radius: float, surrogate: bool
    ) -> None:
        self.radius, self.surrogate = radius, bool(surrogate)
        super().__init__(
            dim,
            schedule=schedule,
            meta=meta,
            domain=Ball(radius),
            lipschitz=G,
            gradients="play" if surrogate else "own",
            losses="linear" if surrogate else "values",
        )


def sizes(lipschitz: float, radius: float) -> tuple[float, float]:
    """G and D, checked."""
    G = positive("lipschitz", lipschitz, "give the largest gradient norm")
    return G, 2.0 * positive("radius", radius)
