"""Online extra-gradient descent: Chiang, Yang, Lee, Mahdavi, Lu, Jin & Zhu (2012), "Online
optimization with gradual variations"; against moving comparators Zhao et al. (2020), Theorem 3.

y_{t+1} = Π(y_t − η∇f_t(w_t)), w_{t+1} = Π(y_{t+1} − η∇f_t(y_{t+1})).
"""

import math
from typing import ClassVar

from stillpoint.core.validation import nonnegative, positive
from stillpoint.domains import Domain
from stillpoint.lab.baselines.named import Named
from stillpoint.lab.online.bases import ExtraDescent
from stillpoint.lab.online.metas import ExponentialWeights
from stillpoint.lab.online.schedules import Pool


class OEGD(Named):
    """Extra-gradient descent: loses O((1 + P)/η + ηV), V = Σ sup‖∇f_t − ∇f_{t−1}‖².

    It queries two gradients a round, so it must be shown the losses (`update_loss`, `sp.play`).
    What it has lost at most, from what it has measured, is `bound(path_length)`.

    Parameters
    ----------
    dim
        The dimension of plays.
    step
        η, at most 1/(√2·L) for losses with L-Lipschitz gradients (the paper: 1/(4L)).
    domain
        Where plays may lie (default: everywhere, where nothing is promised).
    """

    assumes: tuple[str, ...] = ("step",)
    _given: ClassVar[tuple[str, ...]] = ("step", "domain")

    def __init__(self, dim: int, *, step: float = 1.0, domain: Domain | None = None) -> None:
        self.step = positive("step", step)
        super().__init__(
            dim,
            schedule=Pool([ExtraDescent(self.step)]),
            meta=ExponentialWeights(1.0),
            domain=domain,
            gradients="own",
        )

    def variation_bound(self, path_length: float, variation: float, first: float) -> float:
        """The published form: (r² + 2D·P)/(2η) + ηV + ηfirst²/2.

        Parameters
        ----------
        path_length
            P = Σ‖u_t − u_{t−1}‖.
        variation
            V = Σ_{t≥2} sup‖∇f_t(x) − ∇f_{t−1}(x)‖² over the domain.
        first
            ‖∇f_1(w_1)‖, for which the paper has a term GD.
        """
        reach = self.domain.reach(self.dim)
        start = float(math.hypot(*self._rule.start)) + reach
        path, V, g = (
            nonnegative("path_length", path_length),
            nonnegative("variation", variation),
            nonnegative("first", first),
        )
        return (start * start + 4.0 * reach * path) / (2.0 * self.step) + self.step * (
            V + 0.5 * g * g
        )
