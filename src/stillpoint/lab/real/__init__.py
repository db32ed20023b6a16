"""Prequential comparison on real streams with river, Vowpal Wabbit and hindsight."""

from stillpoint.lab.real.bench import RealBench, real_bench
from stillpoint.lab.real.prequential import Score, compete, prequential

__all__ = ["RealBench", "Score", "compete", "prequential", "real_bench"]
