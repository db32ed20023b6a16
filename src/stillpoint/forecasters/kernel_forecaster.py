"""KernelForecaster: squared loss on time, nothing to tune: VAW forecasters on a grid of ridges,
aggregated (KALMAN section 8).
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core import learner
from stillpoint.core.allocation import full, zeros
from stillpoint.core.validation import Array, finite, positive, stored, under
from stillpoint.forecasters import _kernel_forecaster
from stillpoint.forecasters import aggregation as rules
from stillpoint.forecasters._kernel_forecaster import (
    EXPERTS,
    FORECAST,
    OPEN,
    RESIDUAL,
    ROUNDS,
    SEEN,
    TIME,
)
from stillpoint.forecasters.series import SeriesForecaster, feedback_number
from stillpoint.forecasters.vaw import KernelVAW
from stillpoint.kernels import Kernel

MOST = 32  # ridges; the widest window, 2³¹ rounds, is longer than any stream
FIXED = 15  # ridges for each kernel when kernels are given and ridges are not


class KernelForecaster(SeriesForecaster):
    """Forecast y_t, then see it: KernelVAW forecasters on a grid, aggregated. No horizon, range,
    ridge or rate is asked for.

    kernels: None for the spline with offset λ, whose start is cheap, in compiled code; or kernels,
    each taken with each ridge (4^i, i < 15, unless given) as a KernelVAW: those without a state
    space are dense, O(t²) a round.
    ridges: λ; None for 4^i, whose windows are about 2^i rounds when rounds are about 1 apart. With
    neither given, ridge i joins the aggregate once t > 2^(i−1), t the larger of rounds and time
    elapsed, as one that had forecast what the aggregate did; its filter has run from the first
    round. All 32 filters always run; what is aggregated grows like log t.
    aggregation: "vovk", "exponential" or "ml-poly" (see `stillpoint.forecasters.aggregation`);
    "auto" is ml-poly, which measured best on smooth and jumping signals, or vovk where `share` is
    given. share: fixed share over experts, for jumps; not with ml-poly.
    """

    _places = (ROUNDS, TIME, OPEN, FORECAST)

    def __init__(
        self,
        kernels: Kernel | Iterable[Kernel] | None = None,
        ridges: ArrayLike | None = None,
        aggregation: str = "auto",
        share: float = 0.0,
    ) -> None:
        self.kernels = None if kernels is None else _kernels(kernels)
        self._given = None if ridges is None else _ridges(ridges)
        self.aggregation, self.aggregator = aggregation, rules.aggregator(aggregation, share)
        self.share = self.aggregator.share
        self._grows = self.kernels is None and self._given is None
        grid = (
            4.0 ** np.arange(MOST if self._grows else FIXED)
            if self._given is None
            else np.array(self._given)
        )
        self._members = [
            KernelVAW(kernel, ridge) for kernel in self.kernels or () for ridge in grid
        ]
        self._lam = np.array(
            np.tile(grid, len(self.kernels)) if self.kernels else grid, dtype=np.float64
        )
        size = self._lam.size
        self._m, self._C, self._v, self._p = (
            zeros(size),
            full(size, self._lam),
            zeros(size),
            zeros(size),
        )
        self._c = zeros(8)
        self.aggregator.reserve(size)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {
            "kernels": self.kernels,
            "ridges": self._given,
            "aggregation": self.aggregation,
            "share": self.share,
        }

    @property
    def ridges(self) -> Array:
        """λ of each expert that takes part, kernel by kernel."""
        return self._lam[: int(self._c[EXPERTS])].copy()

    @property
    def forecasts(self) -> Array:
        """What each of them forecast for the open round, or the last one."""
        return self._p[: int(self._c[EXPERTS])].copy()

    @property
    def weights(self) -> Array:
        """Their weights in the open round, or in the coming one as far as they take part
        already.
        """
        return self.aggregator.weights

    @property
    def variance(self) -> float:
        """Variance of the signal at the open round, or the last one: s²·Σ w_i v_i/λ_i.

        v_i/λ_i is expert i's posterior variance in units of the noise's, w_i its weight, and s² the
        mean of (y − ŷ)² so far, which stands for the noise's variance and is a little above it. An
        estimate, no guarantee; 0 before anything is seen.
        """
        experts = int(self._c[EXPERTS])
        return (
            float(self._c[RESIDUAL] * (self.weights @ (self._v[:experts] / self._lam[:experts])))
            if experts
            else 0.0
        )

    def bound(self, index: int) -> float:
        """Loss so far, Σ½(y − ŷ)², less that of expert `index` since it joined, is at most this:
        see the aggregator's `bound`.
        """
        return self.aggregator.bound(index)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        state: dict[str, Any] = {key: value.copy() for key, value in self._own().items()}
        state |= {f"aggregator.{key}": value for key, value in self.aggregator.arrays().items()}
        for i, member in enumerate(self._members):
            state |= {f"member{i}.{key}": np.array(value) for key, value in member.arrays().items()}
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name, mine in self._own().items():
            mine[:] = stored(state, name, mine.size)
        self.aggregator.restore(under(state, "aggregator."))
        stored(state, "aggregator.R", self._lam.size)
        for i, member in enumerate(self._members):
            member.restore(under(state, f"member{i}."))

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state saved by an older version, as this one would."""
        parts = {f"member{i}.": member for i, member in enumerate(self._members)}
        if any(name.startswith("member") and name.endswith("._trace") for name in state):
            return state
        return {
            **{
                name: np.array(value) for name, value in learner.migrate_parts(parts, state).items()
            },
            **state,
        }

    def _own(self) -> dict[str, Array]:
        return {
            "mean": self._m,
            "covariance": self._C,
            "variance": self._v,
            "forecasts": self._p,
            "clock": self._c,
        }

    def _filters(self) -> tuple[Array, Array, Array, Array, Array]:
        return self._lam, self._m, self._C, self._v, self._p

    def _sums(self) -> tuple[Array, Array, Array]:
        return self.aggregator.R, self.aggregator.V, self.aggregator.s

    def _admit(self, first: float, last: float) -> None:
        if not self._members and first < -self._lam.min():
            raise ValueError(
                f"time must be at least −{self._lam.min():g} for the spline: got {first}; shift"
                " the times to start near 0"
            )
        for kernel in self.kernels or ():
            kernel.markov().diagonal(np.array([first, last]))

    def _open(self, when: float, x: None) -> float:
        c, own = self._c, self.aggregator
        if self._members:
            for i, member in enumerate(self._members):
                self._p[i], self._v[i] = member.predict(when), member.variance
            c[TIME], c[OPEN], c[EXPERTS] = when, 1.0, len(self._members)
            c[FORECAST] = own.combine(self._p)
        else:
            _kernel_forecaster.begin(
                when, own.rule, self._grows, *self._filters(), *self._sums(), own.w, c
            )
        own.experts = int(c[EXPERTS])
        return float(c[FORECAST])

    def _rounds(self, y: Array, times: Array, out: Array) -> None:
        own = self.aggregator
        if self._members:
            for t, (moment, target) in enumerate(zip(times.tolist(), y.tolist(), strict=True)):
                out[t] = self._open(moment, None)
                self._close(target)
            return
        _kernel_forecaster.stream(
            y,
            times,
            out,
            own.rule,
            own.share,
            self._grows,
            *self._filters(),
            *self._sums(),
            own.w,
            self._c,
        )
        own.experts = int(self._c[EXPERTS])

    def _close(self, feedback: float | None) -> None:
        y = feedback_number(feedback)
        c, own = self._c, self.aggregator
        if not self._members:
            _kernel_forecaster.finish(y, own.rule, own.share, *self._filters(), *self._sums(), c)
            return
        if math.isnan(y):
            for member in self._members:
                member.skip()
        else:
            own.learn(self._p, c[FORECAST], y)
            for member in self._members:
                member.update(y)
            c[SEEN] += 1.0
            c[RESIDUAL] += ((y - c[FORECAST]) ** 2 - c[RESIDUAL]) / c[SEEN]
        c[ROUNDS] += 1.0
        c[OPEN] = 0.0


def _kernels(kernels: Kernel | Iterable[Kernel]) -> tuple[Kernel, ...]:
    """One or more kernels as a tuple."""
    given = (
        (kernels,)
        if isinstance(kernels, Kernel)
        else tuple(kernels)
        if isinstance(kernels, Iterable)
        else ()
    )
    if not (given and all(isinstance(kernel, Kernel) for kernel in given)):
        raise ValueError(
            f"kernels must be kernels: got {kernels!r}; use one or more of sp.kernels, or None for"
            " splines"
        )
    return given


def _ridges(ridges: ArrayLike) -> tuple[float, ...]:
    """Ridges as a tuple of positive floats, so that a configuration can be written down."""
    values = np.atleast_1d(finite("ridges", ridges, "give numbers above 0, such as [1, 4, 16]"))
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"ridges must be one or more numbers: got shape {values.shape}; give a list such as [1,"
            " 4, 16]"
        )
    return tuple(
        positive("ridges", value, "give numbers above 0, such as [1, 4, 16]")
        for value in values.tolist()
    )
