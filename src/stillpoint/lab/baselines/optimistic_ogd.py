"""Optimistic gradient descent: Rakhlin & Sridharan (2013), "Online learning with predictable
sequences", with the last gradient as the prediction; Chiang et al. (2012).

y_{t+1} = Π(y_t − ηg_t), w_{t+1} = Π(y_{t+1} − ηg_t).
"""

from typing import ClassVar

from stillpoint.core.validation import positive
from stillpoint.domains import Domain
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.bases import OptimisticDescent
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool


class OptimisticOGD(Named):
    """Gradient descent that expects the last gradient again: loses little where they change little.

    (r² + 2D·P)/(2η) + (η/2)Σ‖g_t − g_{t−1}‖², g_0 = 0, is `bound(path_length)`.

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

    def __init__(self, dim: int, *, step: float = 1.0, domain: Domain | None = None) -> None:
        self.step = positive("step", step)
        super().__init__(
            dim,
            schedule=Pool([OptimisticDescent(self.step)]),
            meta=ExponentialWeights(1.0),
            domain=domain,
        )
