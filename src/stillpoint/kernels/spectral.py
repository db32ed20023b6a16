"""Translation-invariant kernels from a spectral density: k(s, t) = ∫ Q(ω) e^{−2πiω(s−t)} dω."""

import warnings
from dataclasses import dataclass, field
from math import inf, pi

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.kernels.base import StationaryKernel
from stillpoint.kernels.path_length import (
    Density,
    PathLengthConditions,
    integrable,
    path_length_conditions,
)


@dataclass(frozen=True)
class SpectralDensity(StationaryKernel):
    """The kernel of a spectral density: k(s, t) = 2∫_0^∞ q(ω) cos(2πω(s−t)) dω.

    Parameters
    ----------
    q : function of an array
        An even density, 0 or more, at frequencies ω > 0.

    Notes
    -----
    Dense memory only. `path_length_conditions(T, order=m)` reports whether Theorem rkhs-to-pl
    applies to it at order m.
    """

    q: Density
    _known: dict[float, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.q):
            raise ValueError(
                f"q must be a function of frequency: got {self.q!r}; pass lambda w: ..."
            )
        probe = self._density(np.logspace(-6, 6, 241))
        if not np.isfinite(probe).all() or probe.min() < 0.0:
            worst = probe[~np.isfinite(probe)][0] if not np.isfinite(probe).all() else probe.min()
            raise ValueError(
                f"q must be finite and not negative at every frequency above 0: got {worst}; "
                "a negative density is not positive definite"
            )
        if not integrable(self._density):
            raise ValueError(
                "q must be integrable: its mass keeps growing towards 0 or infinity; taper it there"
            )

    def _density(self, w: Array) -> Array:
        with np.errstate(all="ignore"):  # a user's formula may overflow far out on its way to 0
            return np.asarray(self.q(w), dtype=np.float64) * np.ones(w.shape)

    def path_length_conditions(self, horizon: float, order: int = 1) -> PathLengthConditions:
        """Whether Theorem rkhs-to-pl of order m applies to this density, and its c_m(T)."""
        return path_length_conditions(self._density, horizon, order)

    def _lag(self, r: Array) -> Array:
        unique, where = np.unique(r, return_inverse=True)
        values = np.array([self._transform(float(lag)) for lag in unique])
        return values[where].reshape(r.shape)

    def _transform(self, lag: float) -> float:
        """Integrate in log-frequency up to a quarter period, by QUADPACK's Fourier rule beyond."""
        from scipy.integrate import IntegrationWarning, quad  # a fifth of a second to import

        if lag not in self._known:
            split = 1.0 if lag == 0.0 else 0.25 / lag

            def one(w: float) -> float:
                return float(self._density(np.array([w]))[0])

            def head(x: float) -> float:
                w = np.exp(x)
                return float(one(w) * w * np.cos(2.0 * pi * w * lag))

            with warnings.catch_warnings():
                warnings.simplefilter("error", IntegrationWarning)
                try:
                    low = sum(
                        quad(head, np.log(split) - b, np.log(split) - a, epsabs=1e-13)[0]
                        for a, b in ((0.0, 20.0), (20.0, 80.0), (80.0, 600.0))
                    )
                    if lag == 0.0:
                        high = (
                            quad(head, 0.0, 40.0, epsabs=1e-13)[0]
                            + quad(head, 40.0, 600.0, epsabs=1e-13)[0]
                        )
                    else:
                        high = quad(
                            one, split, inf, weight="cos", wvar=2.0 * pi * lag, epsabs=1e-11
                        )[0]
                except IntegrationWarning as error:
                    raise ValueError(
                        f"q cannot be integrated at lag {lag} ({error}); give a smoother density"
                    ) from None
            self._known[lag] = 2.0 * (low + high)
        return self._known[lag]
