"""Kernels on contexts: which functions of the features are cheap, for `TrackingVAW(context=...)`.

Any callable from (n, dim) and (m, dim) to an (n, m) positive definite matrix will do, such as
scikit-learn's Gaussian-process kernels; the one here can be saved.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from stillpoint.core.validation import Array, finite, positive


@dataclass(frozen=True)
class GaussianContext:
    """Smooth functions of the features: κ(x, z) = exp(−‖x − z‖²/(2·width²)).

    Parameters
    ----------
    width : float
        The distance over which contexts resemble each other.
    """

    width: float

    def __post_init__(self) -> None:
        positive("width", self.width, "give the distance over which contexts resemble each other")

    def __call__(self, X: ArrayLike, Z: ArrayLike) -> Array:
        """The matrix (κ(x_i, z_j))_ij of the rows of X (n, dim) and of Z (m, dim)."""
        with np.errstate(over="ignore"):  # e^−∞ is the right answer to it
            # before the square: that of a width may be 0
            distances = cdist(finite("X", X), finite("Z", Z)) / self.width
            return np.asarray(np.exp(-0.5 * distances**2))
