"""Conformal baselines: radii for a stream of scores, by what one would run instead of IntervalTracker."""

from stillpoint.baselines.conformal.base import RadiusTracker
from stillpoint.baselines.conformal.empirical import WindowACI
from stillpoint.baselines.conformal.saocp import SAOCP
from stillpoint.baselines.conformal.steps import ACI, SFOGD, Betting, DecayingStep

__all__ = ["ACI", "SAOCP", "SFOGD", "Betting", "DecayingStep", "RadiusTracker", "WindowACI"]
