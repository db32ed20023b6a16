"""Fleets on a GPU: float32 states in torch tensors, a round or a whole replay of all streams in one
Triton kernel.
"""

from stillpoint.fleet.gpu.fleet import DeviceFleet

__all__ = ["DeviceFleet"]
