"""Conformal baselines: radii for a stream of scores, in place of IntervalTracker."""

from stillpoint.lab.baselines.conformal.base import RadiusTracker
from stillpoint.lab.baselines.conformal.empirical import WindowACI
from stillpoint.lab.baselines.conformal.saocp import SAOCP
from stillpoint.lab.baselines.conformal.steps import ACI, SFOGD, Betting, DecayingStep

__all__ = ["ACI", "SAOCP", "SFOGD", "Betting", "DecayingStep", "RadiusTracker", "WindowACI"]
