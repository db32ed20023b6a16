"""What learners with one base learner share: a step and a domain."""

from typing import ClassVar

from stillpoint.core.validation import positive
from stillpoint.domains import Domain
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.bases import ExtraDescent, OptimisticDescent
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool


class Single(Named):
    """One base learner with a constant step, which is all there is to weigh.

    Parameters
    ----------
    dim
        The dimension of plays.
    step
        η.
    domain
        Where plays may lie (default: everywhere, where nothing is promised).
    """

    assumes: tuple[str, ...] = ("step",)
    _given: ClassVar[tuple[str, ...]] = ("step", "domain")
    _base: ClassVar[type[OptimisticDescent | ExtraDescent]]

    def __init__(self, dim: int, *, step: float = 1.0, domain: Domain | None = None) -> None:
        self.step = positive("step", step)
        super().__init__(
            dim,
            schedule=Pool([self._base(self.step)]),
            meta=ExponentialWeights(1.0),
            domain=domain,
            gradients="own" if self._base.queries else "play",
        )
