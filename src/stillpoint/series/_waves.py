"""Sixteen random waves of the last two values: a kernel on the past (Rahimi & Recht, Random
features for large-scale kernel machines, 2007).
"""

import math

import numpy as np

from stillpoint.core.jit import njit

# (a, b, c) of ψ(a u₁ + b u₂ + c): a, b ~ N(0, 1)/2π, c uniform. Drawn once and written down:
# saved forecasters go on with the same waves whatever the generator of the day.
WAVES = np.array(
    [
        (0.02001058618305043, -0.021025141999289766, 0.13509650502241122),
        (0.10192643048606134, 0.016695372175825188, 0.7214883401940817),
        (-0.08525442860152786, 0.05754964038642982, 0.5253543224757259),
        (0.20753805297451594, 0.15073261679025196, 0.31024187555895566),
        (-0.11200294140662345, -0.20139808221159697, 0.4858353588317891),
        (-0.09919721161576395, 0.0065772338912273975, 0.8894878343490003),
        (-0.37004014062454904, -0.034821774822165405, 0.9340435159562497),
        (-0.198292885907631, -0.11654396916588058, 0.35779519670907023),
        (-0.086621507443908, -0.050340733386890386, 0.5715298307297609),
        (0.06551303459151146, 0.16592115598618942, 0.32186939107594215),
        (-0.020456926966193723, 0.21747941589248906, 0.5943000301996968),
        (-0.10586902040379388, 0.05594456520188269, 0.33791122550713326),
        (0.14379174534601794, 0.014962521900070311, 0.39161900052816123),
        (-0.11833158071977228, -0.14669714980476456, 0.8902743520047923),
        (-0.07284932773577617, 0.03504514234498858, 0.22715759353337972),
        (-0.16068572454565025, -0.033291326714921986, 0.6231871446860424),
    ]
)


@njit(cache=True)
def fill(one: float, two: float, out: np.ndarray) -> None:
    """ψ of all waves at the last value and the one before it.

    ψ(v) is a cosine of period 1 made of parabolas: any smooth wave will do, cosines cost more.
    """
    for j in range(WAVES.shape[0]):
        u = WAVES[j, 0] * one + WAVES[j, 1] * two + WAVES[j, 2]
        v = abs(u - math.floor(u + 0.5))
        out[j] = 1.0 - 8.0 * v * v if v < 0.25 else 8.0 * (0.5 - v) * (0.5 - v) - 1.0
