"""Baselines: learners that one would run instead.

Each says what it `assumes`, and returns its guarantee from `bound(...)`.
"""

from stillpoint.lab.baselines import conformal
from stillpoint.lab.baselines.ada_normal_hedge import AdaNormalHedge
from stillpoint.lab.baselines.ader import Ader
from stillpoint.lab.baselines.cocob import COCOB, COCOBBackprop
from stillpoint.lab.baselines.discounted_ftrl import DiscountedFTRL
from stillpoint.lab.baselines.free_grad import FreeGrad
from stillpoint.lab.baselines.hedge import Hedge
from stillpoint.lab.baselines.hindsight_ogd import HindsightOGD, hindsight_ogd
from stillpoint.lab.baselines.kt import KT
from stillpoint.lab.baselines.ogd import OGD
from stillpoint.lab.baselines.sparse_haar import SparseHaar

__all__ = [
    "COCOB",
    "KT",
    "OGD",
    "AdaNormalHedge",
    "Ader",
    "COCOBBackprop",
    "DiscountedFTRL",
    "FreeGrad",
    "Hedge",
    "HindsightOGD",
    "SparseHaar",
    "conformal",
    "hindsight_ogd",
]
