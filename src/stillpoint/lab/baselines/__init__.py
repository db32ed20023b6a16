"""Baselines: learners that one would run instead.

Each says what it `assumes`, and returns its guarantee from `bound(...)`.
"""

from stillpoint.lab.baselines import conformal
from stillpoint.lab.baselines.ada_normal_hedge import AdaNormalHedge
from stillpoint.lab.baselines.ader import Ader
from stillpoint.lab.baselines.bandit import Bandit
from stillpoint.lab.baselines.bgd import BGD, PBGD
from stillpoint.lab.baselines.cbce import CBCE
from stillpoint.lab.baselines.cocob import COCOB, COCOBBackprop
from stillpoint.lab.baselines.discounted_ftrl import DiscountedFTRL
from stillpoint.lab.baselines.flh import AFLH, FLH
from stillpoint.lab.baselines.flh_vaw import FLHVAW
from stillpoint.lab.baselines.free_grad import FreeGrad
from stillpoint.lab.baselines.hedge import Hedge
from stillpoint.lab.baselines.hindsight_ogd import HindsightOGD, hindsight_ogd
from stillpoint.lab.baselines.kt import KT
from stillpoint.lab.baselines.msmwc import MSMWC
from stillpoint.lab.baselines.oegd import OEGD
from stillpoint.lab.baselines.ogd import OGD
from stillpoint.lab.baselines.optimistic_hedge import OptimisticHedge
from stillpoint.lab.baselines.optimistic_ogd import OptimisticOGD
from stillpoint.lab.baselines.prod import AdaptMLProd, Prod
from stillpoint.lab.baselines.sacs import PSACS, SACS
from stillpoint.lab.baselines.saol import SAOL
from stillpoint.lab.baselines.scream import Scream
from stillpoint.lab.baselines.sparse_haar import SparseHaar
from stillpoint.lab.baselines.sword import SwordBest, SwordSmallLoss, SwordVariation
from stillpoint.lab.baselines.sword_pp import SwordPP

__all__ = [
    "AFLH",
    "BGD",
    "CBCE",
    "COCOB",
    "FLH",
    "FLHVAW",
    "KT",
    "MSMWC",
    "OEGD",
    "OGD",
    "PBGD",
    "PSACS",
    "SACS",
    "SAOL",
    "AdaNormalHedge",
    "AdaptMLProd",
    "Ader",
    "Bandit",
    "COCOBBackprop",
    "DiscountedFTRL",
    "FreeGrad",
    "Hedge",
    "HindsightOGD",
    "OptimisticHedge",
    "OptimisticOGD",
    "Prod",
    "Scream",
    "SparseHaar",
    "SwordBest",
    "SwordPP",
    "SwordSmallLoss",
    "SwordVariation",
    "conformal",
    "hindsight_ogd",
]
