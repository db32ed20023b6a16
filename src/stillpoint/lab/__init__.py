"""Research: streams with known truth, baselines, benchmarks, sweeps, and the paper as a run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
