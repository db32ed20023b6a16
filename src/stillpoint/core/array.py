"""The type of arrays: apart from all else, so that compiled code depends on nothing but it."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
