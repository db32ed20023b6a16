"""Baselines: what one would run instead. Each says what it must be `told`, and gives its guarantee as `bound(...)`."""

from stillpoint.baselines import conformal
from stillpoint.baselines.ada_normal_hedge import AdaNormalHedge
from stillpoint.baselines.ader import Ader
from stillpoint.baselines.cocob import COCOB, COCOBBackprop
from stillpoint.baselines.discounted_ftrl import DiscountedFTRL
from stillpoint.baselines.free_grad import FreeGrad
from stillpoint.baselines.hedge import Hedge
from stillpoint.baselines.hindsight_ogd import HindsightOGD, hindsight_ogd
from stillpoint.baselines.kt import KT
from stillpoint.baselines.ogd import OGD
from stillpoint.baselines.sparse_haar import SparseHaar

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
