"""KernelVAW: squared loss on time."""

from stillpoint.filters.vaw.forecaster import KernelVAW

__all__ = ["KernelVAW"]
