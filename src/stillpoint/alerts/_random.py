"""Random numbers by their index, so that a saved state draws on where it was."""

import numpy as np

from stillpoint.core.jit import njit

_ODD, _ONE, _TWO = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


@njit(cache=True)
def random(index: int) -> float:
    """The number in (0, 1) of an index in SplitMix64 (Steele et al. 2014)."""
    bits = np.uint64(index) * _ODD
    bits = (bits ^ (bits >> np.uint64(30))) * _ONE
    bits = (bits ^ (bits >> np.uint64(27))) * _TWO
    bits ^= bits >> np.uint64(31)
    return (float(bits >> np.uint64(12)) + 0.5) * 2.0**-52
