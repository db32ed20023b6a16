"""Parts of learners for changing environments: base learners, meta learners, schedules.

`Ensemble(dim, schedule=Pool([Descent(step) for step in grid(0.01, 1.0)]),
meta=ExponentialWeights(rate=0.1), domain=…)` is one; those of the literature are in
`stillpoint.lab.baselines`.
"""

from stillpoint.lab.online._bank import Bank, Rule
from stillpoint.lab.online._covers import bear
from stillpoint.lab.online.bases import (
    Base,
    Descent,
    ExtraDescent,
    FadingDescent,
    NewtonStep,
    OptimisticDescent,
    ScaleFree,
    StronglyConvexDescent,
)
from stillpoint.lab.online.ensemble import Ensemble
from stillpoint.lab.online.metas import (
    CoinBetting,
    ExponentialWeights,
    FixedShare,
    Meta,
    NormalHedge,
    Prod,
)
from stillpoint.lab.online.schedules import (
    CompactCover,
    Cover,
    DenseCover,
    LeadingHistories,
    LossCover,
    Pool,
    Schedule,
    grid,
)

__all__ = [
    "Bank",
    "Base",
    "CoinBetting",
    "CompactCover",
    "Cover",
    "DenseCover",
    "Descent",
    "Ensemble",
    "ExponentialWeights",
    "ExtraDescent",
    "FadingDescent",
    "FixedShare",
    "LeadingHistories",
    "LossCover",
    "Meta",
    "NewtonStep",
    "NormalHedge",
    "OptimisticDescent",
    "Pool",
    "Prod",
    "Rule",
    "ScaleFree",
    "Schedule",
    "StronglyConvexDescent",
    "bear",
    "grid",
]
