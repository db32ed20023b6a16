"""Learners that follow a moving target, with a live certificate of how much they can have lost.

`Forecaster` forecasts a series any number of steps ahead, with intervals; `TrackingForecaster` is
regression on features that drifts, `IntervalTracker` puts intervals around any forecasts, `Tracker`
follows the minimiser of a loss by its gradients, and `Fleet` is many of them at once.

Public names are listed in `__init__.pyi` and found when they are first asked for: importing
compiled code takes most of a second, and neither `stillpoint --help` nor a program that needs one
part of this should wait for all of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"
