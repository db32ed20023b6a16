"""Prequential comparison on real streams: ours, the best filter in hindsight, river and Vowpal
Wabbit.
"""

from stillpoint.lab.real.bench import RealBench, real_bench
from stillpoint.lab.real.prequential import Score, compete, prequential

__all__ = ["RealBench", "Score", "compete", "prequential", "real_bench"]
