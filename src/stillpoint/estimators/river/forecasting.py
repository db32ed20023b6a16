"""Forecaster with the interface of river's time series models."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from river import conf, time_series

from stillpoint.core.learner import Configured, not_finite_in
from stillpoint.core.validation import Array, shown
from stillpoint.estimators.ahead import Ahead
from stillpoint.estimators.cells import date64, is_date, missing, moment, number
from stillpoint.estimators.losses import loss_named
from stillpoint.forecasters.aggregation import target_number
from stillpoint.losses import Absolute, Pinball, Squared
from stillpoint.series import Forecaster as Core

_ORDER = "the value comes first, then the features: learn_one(y, x), y None for a missing one"


class Forecaster(time_series.base.Forecaster, Configured):
    """Forecast a series any number of steps ahead, with intervals and nothing to tune.

    `stillpoint.Forecaster` for river: level, trend, seasons, memory and jumps. `forecast` changes
    nothing. A missing value is learnt as None or NaN.

    Parameters
    ----------
    horizon : int, default 12
        The largest number of steps ahead that can be forecast.
    season : "auto", None, float or list of float, default "auto"
        Periods in rounds; "auto" finds them, None is for none.
    coverage : float, default 0.9
        The share of values that intervals are to cover.
    features : tuple of names, optional
        Which features to use; None takes those of the first row that is learnt. Others are ignored.
    time : hashable, optional
        The feature that holds the time, a number or a date (without a zone: UTC). None takes the
        date of the first row, if it has one.
    known_ahead : bool, default True
        Whether `forecast` is given features of the rounds to come, so that they count many steps
        ahead. Such a forecast costs up to `horizon` rounds.
    pool : {"full", "middle", "small"}, default "full"
        How many experts forecast.
    loss : Squared, Absolute or Pinball, or a name, optional
        What forecasts aim at: the mean (None), the median, or another quantile.

    Examples
    --------
    >>> from river import datasets
    >>> from stillpoint.estimators.river import Forecaster
    >>> model = Forecaster(horizon=12)
    >>> for x, y in datasets.AirlinePassengers():
    ...     model.learn_one(y, x)
    >>> len(model.forecast(horizon=12))
    12
    >>> model.forecast(1, with_interval=True)[0].lower < model.forecast(1)[0]
    True
    """

    def __init__(
        self,
        horizon: int = 12,
        season: Any = "auto",
        coverage: float = 0.9,
        features: Sequence[Hashable] | None = None,
        time: Hashable | None = None,
        known_ahead: bool = True,
        pool: str = "full",
        loss: Squared | Absolute | Pinball | str | None = None,
    ) -> None:
        self.horizon, self.season, self.coverage = horizon, season, coverage
        self.features, self.time, self.known_ahead = features, time, known_ahead
        self.pool, self.loss = pool, loss
        self._names: list[Hashable] | None = None
        if features is not None:
            self._names = [name for name in features if time is None or name != time]
        self._clock = time
        if np.ndim(coverage):
            raise ValueError(f"coverage must be one number: got {coverage!r}; choose one")
        self._ahead = self._build(len(self._names or ()))
        self._started = False

    def _build(self, features: int) -> Ahead:
        core = Core(
            self.horizon,
            season=self.season,
            coverage=self.coverage,
            features=features,
            pool=self.pool,
            loss=loss_named(self.loss),
        )
        return Ahead(core, waits=self.known_ahead)

    def learn_one(self, y: float, x: dict[Hashable, Any] | None = None) -> None:
        """Learn the value of the coming round, with features x; None or NaN for a missing one."""
        value = math.nan if missing(y) else target_number(y, _ORDER)
        known = {} if x is None else self._mapping(x)
        names, clock = self._names, self._clock
        if not self._started:
            clock = self._found_clock(known)
            names = [name for name in known if name != clock] if names is None else names
        row, when = self._row(known, names or [], clock), self._when(known, clock)
        ahead = self._ahead if self._started else self._build(len(names or ()))
        ahead.learn([value], row[None], [when])
        self._ahead, self._names, self._clock, self._started = ahead, names, clock, True

    def forecast(
        self,
        horizon: int,
        xs: Sequence[dict[Hashable, Any]] | None = None,
        with_interval: bool = False,
    ) -> list[Any]:
        """Forecast the coming values.

        Parameters
        ----------
        horizon
            How many; at most what the model was built for.
        xs
            The features of those rounds, one dict each. Where they have times, the first says when
            the first of these rounds is.
        with_interval
            Whether to return intervals, `river.conf.Interval`, instead of numbers.

        Returns
        -------
        list of float, or of river.conf.Interval
        """
        steps = self._ahead.core._steps(horizon)
        known = [] if xs is None else [self._mapping(x) for x in xs]
        if known and len(known) != steps:
            raise ValueError(
                f"xs must have one row a step: got {len(known)} for {steps}; pass as many"
            )
        names = self._names or []
        rows = np.empty((len(known), len(names)))
        for step, x in enumerate(known):
            rows[step] = self._row(x, names, self._clock)
        core, _ = self._ahead.ready(rows)
        first = known[0] if known and self._clock in known[0] else None
        when = None if first is None else self._when(first, self._clock)
        given = rows if rows.size else None
        if not with_interval:
            forecasts: list[float] = core.predict(given, horizon=steps, time=when).tolist()
            return forecasts
        ends = zip(*core.interval(given, horizon=steps, time=when), strict=True)
        return [conf.Interval(float(lo), float(hi)) for lo, hi in ends]

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew, for saving."""
        names = "horizon season coverage features time known_ahead pool loss"
        return {name: getattr(self, name) for name in names.split()}

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("core.", self._ahead.core) | {"values", "rows"}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving: names of features, rounds that wait, and the forecaster's."""
        own = {"names": self._names, "clock": self._clock, "started": self._started}
        return own | self._ahead.arrays()

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        names = state["names"]
        ahead = self._build(len(names or ()))
        ahead.restore(state)
        self._ahead, self._names, self._clock = ahead, names, state["clock"]
        self._started = bool(state["started"])

    def _mapping(self, x: Any) -> Mapping[Hashable, Any]:
        if not isinstance(x, Mapping):
            raise ValueError(
                f"x must be a dict of features by name: got {shown(x)}; give x.to_dict(), or"
                " dict(zip(names, x))"
            )
        return x

    def _found_clock(self, x: Mapping[Hashable, Any]) -> Hashable | None:
        dates = [name for name, value in x.items() if is_date(value)]
        if self.time is not None or not dates:
            return self.time
        if self.features is not None:
            dates = [name for name in dates if name not in self.features]
        if len(dates) > 1:
            raise ValueError(
                f"x must have one date, the time of the round: got {dates}; name it, as"
                f" time={dates[0]!r}, and leave the others out"
            )
        return dates[0] if dates else None

    def _row(
        self, x: Mapping[Hashable, Any], names: Sequence[Hashable], clock: Hashable | None
    ) -> Array:
        return np.array([number(name, x.get(name)) for name in names if name != clock], dtype=float)

    def _when(self, x: Mapping[Hashable, Any], clock: Hashable | None) -> Any:
        """The time of a row: a number, or a date without a zone."""
        if clock is None:
            return None
        if clock not in x:
            raise ValueError(
                f"x must hold the time {clock!r}: got {sorted(map(str, x))}; give every row its"
                " time"
            )
        when = moment(clock, x[clock])
        return date64(x[clock]) if is_date(x[clock]) else when
