"""The figures of the reproduction, in order."""

from stillpoint.lab.reproduce.norm_figures import ORDER, SPECTRUM, TRADEOFF
from stillpoint.lab.reproduce.paper_figures import BUMP, DIMENSION, INTERPOLATION, KERNEL
from stillpoint.lab.reproduce.pictures import Picture
from stillpoint.lab.reproduce.run_figures import COST, REGRET

PICTURES: list[Picture] = [
    INTERPOLATION,
    BUMP,
    KERNEL,
    REGRET,
    DIMENSION,
    TRADEOFF,
    SPECTRUM,
    ORDER,
    COST,
]
