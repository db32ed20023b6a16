"""KernelForecaster: squared loss on time with nothing to tune, VAW forecasters aggregated."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core import learner
from stillpoint.core.allocation import full, zeros
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import Array, counted, finite, positive, stored, under
from stillpoint.forecasters import _kernel_forecaster
from stillpoint.forecasters import aggregation as rules
from stillpoint.forecasters._kernel_forecaster import AT, CENTRE, Rule, State
from stillpoint.forecasters.series import SeriesForecaster, feedback_number
from stillpoint.forecasters.vaw import KernelVAW
from stillpoint.kernels import Kernel

MOST = 32  # ridges; the widest window, 2³¹ rounds, is longer than any stream
FIXED = 15  # ridges for each kernel when kernels are given and ridges are not
CENTRE_BEFORE = np.array([0.0, 1.0])  # what version 0.1 counted from


class KernelForecaster(SeriesForecaster):
    """Forecast a series one step ahead by KernelVAW forecasters on a grid of ridges, aggregated.

    No horizon, range, ridge or rate is asked for. Forecasts of a + b·y are a + b times those of y:
    the first value, `centre`, is taken off all targets. Before that one the forecast is 0.

    Parameters
    ----------
    kernels : Kernel or iterable of Kernel, optional
        None for the spline with offset λ, whose start is cheap, in compiled code. Kernels are each
        taken with each ridge as a KernelVAW: those without a state space are dense, O(t²) a round.
    ridges : array of floats, optional
        λ; None for 4^i, whose windows are about 2^i rounds when rounds are about 1 apart (i < 15
        where kernels are given).
    aggregation : str, default "auto"
        "vovk", "exponential" or "ml-poly" (see `stillpoint.forecasters.aggregation`); "auto" is
        ml-poly, which did best on smooth and on jumping signals, or vovk where `share` is given.
    share : float, default 0
        Fixed share over experts, for jumps; not with ml-poly.

    Notes
    -----
    With neither kernels nor ridges given, ridge i joins the aggregate once t > 2^(i−1), t the
    larger of rounds and time elapsed, as one that had forecast what the aggregate did; its filter
    has run from the first round. All 32 filters always run; what is aggregated grows like log t.

    VAW shrinks its forecasts towards 0, here towards the centre. Forecasters saved by version 0.1
    have the centre 0 and keep it.
    """

    def __init__(
        self,
        kernels: Kernel | Iterable[Kernel] | None = None,
        *,
        ridges: ArrayLike | None = None,
        aggregation: str = "auto",
        share: float = 0.0,
    ) -> None:
        super().__init__()
        self.kernels = None if kernels is None else _kernels(kernels)
        self._given = None if ridges is None else _ridges(ridges)
        self.aggregation, self.aggregator = aggregation, rules.aggregator(aggregation, share)
        self.share = self.aggregator.share
        grows = self.kernels is None and self._given is None
        grid = (
            4.0 ** np.arange(MOST if grows else FIXED)
            if self._given is None
            else np.array(self._given)
        )
        self._members = [
            KernelVAW(kernel, ridge=ridge) for kernel in self.kernels or () for ridge in grid
        ]
        lam = np.array(np.tile(grid, len(self.kernels)) if self.kernels else grid, dtype=np.float64)
        self._least = float(lam.min())  # before minus this a spline's variance would be below 0
        self._rule = Rule(self.aggregator.rule, self.share, grows, lam)
        self.aggregator.reserve(lam.size)
        means, variances, forecasts = (zeros(lam.size) for _ in range(3))
        own = means, full(lam.size, lam), variances, forecasts, zeros(len(AT)), zeros(len(CENTRE))
        self._put_together(own)

    def _put_together(self, own: tuple[Any, ...]) -> None:
        """Join the filters' arrays and the aggregator's."""
        self._state = State._make((*own, self.aggregator.state))
        self._flat: tuple[Any, ...] = (*self._rule, *own, *self.aggregator.state)

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
    def centre(self) -> float:
        """The first value, which is taken off all targets; 0 before it."""
        return float(self._state.centre[CENTRE.value])

    @property
    def _experts(self) -> int:
        return int(self._state.scalars[AT.experts])

    @property
    def ridges(self) -> Array:
        """λ of each expert that takes part, kernel by kernel."""
        return self._rule.ridges[: self._experts].copy()

    @property
    def forecasts(self) -> Array:
        """The forecast of each of these experts for the open round, or the last one."""
        return self.centre + self._state.forecasts[: self._experts]

    @property
    def weights(self) -> Array:
        """The weights of these experts in the open round, or in the coming one."""
        return self.aggregator.weights

    @property
    def variance(self) -> float:
        """Variance of the signal at the open round, or the last one: s²·Σ w_i v_i/λ_i.

        v_i/λ_i is expert i's posterior variance in units of the noise's, w_i its weight, and s² the
        mean of (y − ŷ)² from the second value on, which stands for the noise's variance and is a
        little above it. An estimate, no guarantee; 0 before two values are seen.
        """
        n = self._experts
        if not n:
            return 0.0
        units = self._state.variances[:n] / self._rule.ridges[:n]
        return float(self._state.scalars[AT.residual] * (self.weights @ units))

    def bound(self, index: int) -> float:
        """Bound the loss so far, Σ½(y − ŷ)², less that of expert `index` since it joined.

        See the aggregator's `bound`, which is that of y less the centre. The round of the first
        value, which the aggregate and every expert forecast as 0, adds nothing.
        """
        return self.aggregator.bound(index)

    def _parts(self) -> dict[str, Array]:
        """The arrays that are saved, by their names in files; the aggregator saves its own."""
        state = self._state
        return {
            "mean": state.means,
            "covariance": state.covariances,
            "variance": state.variances,
            "forecasts": state.forecasts,
            "clock": state.scalars,
            "centre": state.centre,
        }

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        state = saved(self._parts())
        state |= {f"aggregator.{key}": value for key, value in self.aggregator.arrays().items()}
        for i, member in enumerate(self._members):
            state |= {f"member{i}.{key}": np.array(value) for key, value in member.arrays().items()}
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        put_back(self._parts(), state)
        counted("centre", self._state.centre[CENTRE.known], 1.0)
        stored(state, "aggregator.R", self._rule.ridges.size)
        self.aggregator.restore(under(state, "aggregator."))
        self._put_together(self._state[:6])
        for i, member in enumerate(self._members):
            member.restore(under(state, f"member{i}."))
        self._follow()

    @property
    def _not_finite(self) -> frozenset[str]:
        parts = (learner.not_finite_in(f"member{i}.", m) for i, m in enumerate(self._members))
        return frozenset().union(*parts)

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state saved by an older version, as this one would: of a centre it had 0."""
        state = {"centre": CENTRE_BEFORE.copy(), **state}
        parts = {f"member{i}.": member for i, member in enumerate(self._members)}
        if any(name.startswith("member") and name.endswith("._trace") for name in state):
            return state
        return {
            **{
                name: np.array(value) for name, value in learner.migrate_parts(parts, state).items()
            },
            **state,
        }

    def _admit(self, first: float, last: float) -> None:
        if not self._members and first < -self._least:
            raise ValueError(
                f"time must be at least −{self._least:g} for the spline: got {first}; shift the"
                " times to start near 0"
            )
        for kernel in self.kernels or ():
            kernel.markov().diagonal(np.array([first, last]))

    def _clock(self) -> tuple[float, float, float, float]:
        s = self._state.scalars
        forecast = self.centre + float(s[AT.forecast])
        return float(s[AT.rounds]), float(s[AT.time]), float(s[AT.open]), forecast

    def _open(self, when: float, x: None) -> float:
        if not self._members:
            forecast = _kernel_forecaster.one(True, when, *self._flat)
            self.aggregator.experts = self._experts
            return forecast
        s, forecasts = self._state.scalars, self._state.forecasts
        for i, member in enumerate(self._members):
            forecasts[i], self._state.variances[i] = member.predict(when), member.variance
        s[AT.time], s[AT.open], s[AT.experts] = when, 1.0, len(self._members)
        s[AT.forecast] = self.aggregator.combine(forecasts)
        return self.centre + float(s[AT.forecast])

    def _close(self, feedback: float | None) -> None:
        y = feedback_number(feedback)
        if not self._members:
            _kernel_forecaster.one(False, y, *self._flat)
            return
        s = self._state.scalars
        if math.isnan(y):
            for member in self._members:
                member.skip()
        else:
            first = self._state.centre[CENTRE.known] == 0.0
            y = _kernel_forecaster.from_centre(y, self._state.centre)
            self.aggregator.learn(self._state.forecasts, s[AT.forecast], y)
            for member in self._members:
                member.update(y)
            if not first:
                s[AT.seen] += 1.0
                s[AT.residual] += ((y - s[AT.forecast]) ** 2 - s[AT.residual]) / s[AT.seen]
        s[AT.rounds] += 1.0
        s[AT.open] = 0.0

    def _rounds(self, y: Array, times: Array, delay: int, first: int) -> Array:
        out = np.empty(y.size - first)
        if self._members:
            moments, targets = times.tolist(), y.tolist()
            for t in range(first, y.size):
                if delay > 0:
                    out[t - first] = copy.deepcopy(self)._open(moments[t], None)
                if t >= delay:
                    forecast = self._open(moments[t - delay], None)
                    if delay == 0:
                        out[t - first] = forecast
                    self._close(targets[t - delay])
        else:
            _kernel_forecaster.track(y, times, delay, first, self._rule, self._state, out)
            self.aggregator.experts = self._experts
        return out


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
