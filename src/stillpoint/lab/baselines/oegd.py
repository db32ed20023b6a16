"""Online extra-gradient descent: Chiang, Yang, Lee, Mahdavi, Lu, Jin & Zhu (2012), "Online
optimization with gradual variations"; against moving comparators Zhao et al. (2020), Theorem 3.

y_{t+1} = Π(y_t − η∇f_t(w_t)), w_{t+1} = Π(y_{t+1} − η∇f_t(y_{t+1})).
"""

import math
from typing import ClassVar

from stillpoint.core.validation import nonnegative
from stillpoint.lab.baselines.single import Single
from stillpoint.lab.online.bases import ExtraDescent, OptimisticDescent


class OEGD(Single):
    """Extra-gradient descent: loses O((1 + P)/η + ηV), V = Σ sup‖∇f_t − ∇f_{t−1}‖².

    It queries two gradients a round, so it must be shown the losses (`update_loss`, `sp.play`).
    What it has lost at most, from what it has measured, is `bound(path_length)`. The arguments are
    those of `Single`; for `variation_bound` the step must be at most 1/(√2·L), L the Lipschitz
    constant of gradients (the paper: 1/(4L)).
    """

    _base: ClassVar[type[OptimisticDescent | ExtraDescent]] = ExtraDescent

    def variation_bound(self, path_length: float, variation: float, first: float) -> float:
        """The published form: (r² + 2R·P)/(2η) + ηV + ηfirst²/2.

        Parameters
        ----------
        path_length
            P = Σ‖u_t − u_{t−1}‖.
        variation
            V = Σ_{t≥2} sup‖∇f_t(x) − ∇f_{t−1}(x)‖² over the domain.
        first
            ‖∇f_1(w_1)‖, for which the paper has a term GD.

        Notes
        -----
        A round loses at most (η/2)‖∇f_t(w_t) − ∇f_{t−1}(y_t)‖² − ‖w_t − y_t‖²/(2η) beyond what
        `bound` sums up. The first square is at most 2 sup‖∇f_t − ∇f_{t−1}‖² + 2L²‖w_t −
        y_t‖², and ηL² ≤ 1/(2η).
        """
        path, V, g = (
            nonnegative("path_length", path_length),
            nonnegative("variation", variation),
            nonnegative("first", first),
        )
        reach = self._bounded_reach()
        start = float(math.hypot(*self._rule.start)) + reach
        return self.schedule.kinds[0].dynamic(path, 2.0 * V + g * g, start, reach)
