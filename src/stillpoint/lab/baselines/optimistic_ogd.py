"""Optimistic gradient descent: Rakhlin & Sridharan (2013), "Online learning with predictable
sequences", with the last gradient as the prediction; Chiang et al. (2012).

y_{t+1} = Π(y_t − ηg_t), w_{t+1} = Π(y_{t+1} − ηg_t).
"""

from typing import ClassVar

from stillpoint.lab.baselines.single import Single
from stillpoint.lab.online.bases import ExtraDescent, OptimisticDescent


class OptimisticOGD(Single):
    """Gradient descent that expects the last gradient again: loses little where they change little.

    (r² + 2R·P)/(2η) + (η/2)Σ‖g_t − g_{t−1}‖², g_0 = 0, is `bound(path_length)`. The arguments are
    those of `Single`.
    """

    _base: ClassVar[type[OptimisticDescent | ExtraDescent]] = OptimisticDescent
