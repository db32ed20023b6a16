"""Alerts on a stream of numbers: rows that do not fit, and changes, each with a rate of its own.

Names are found when they are asked for: `Forecaster` looks for changes, and `Anomalies` forecasts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
