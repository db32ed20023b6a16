"""Forecasters in device fleets."""

from typing import Any

import numpy as np

from stillpoint.fleet.gpu.series.path import path, radii
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.series.streams import SeriesStreams
from stillpoint.fleet.gpu.tensors import Tensor, numbers, shaped, torch_module
from stillpoint.series.forecaster import Forecaster

_TOGETHER = 1 << 17  # streams whose paths are computed at a time


class Forecasters:
    """Streams of forecasters, as a fleet asks them.

    Parameters
    ----------
    learner : Forecaster
        One of them, new.
    count : int
        How many streams.
    device : torch.device
        Where they are.
    """

    def __init__(self, learner: Forecaster, count: int, device: Any) -> None:
        config = learner.config
        if config["pool"] != "small":
            raise ValueError(
                f'pool must be "small" on a device: got {config["pool"]!r}; use a Fleet on the CPU'
            )
        if learner._engine.periods is None:
            raise ValueError(
                'season must be told on a device: got "auto"; pass a list such as [24, 168], or'
                " None for none"
            )
        if config["features"]:
            raise ValueError(
                f"features must be 0 on a device: got {config['features']}; use a Fleet on the CPU"
            )
        self.plan = Plan(learner)
        self.streams = SeriesStreams(self.plan, count, device)

    def predict(self, at: Any, horizon: int | None) -> Tensor:
        """Forecasts (n,) of the coming round, or (n, horizon) of the coming rounds."""
        which = self._which(at)
        if horizon is None:
            return self.streams.forecasts(which)
        h = self._horizon(horizon)
        torch = torch_module()
        out = torch.empty((which.numel(), h), dtype=torch.float64, device=which.device)
        out[:] = self.streams.forecasts(which)[:, None]
        self.streams.write_ages()
        for now, _, part in self.streams.groups(which) if h > 1 else ():
            for some in part.split(_TOGETHER) if now >= 0 else ():
                own = which[some]
                m = self.streams.machine(own)
                said = torch.stack(path(m, self.plan, now, h)[1:], 1)
                unit, centre = m.get("unit")[:, None], self.streams.centres(own)[:, None]
                out[some, 1:] = centre + (said * unit).double()
        return out

    def interval(self, at: Any, horizon: int | None) -> tuple[Tensor, Tensor]:
        """Ends of the intervals of the coming round, or rounds."""
        said, which = self.predict(at, horizon), self._which(at)
        tracked = self.streams.radii(which)
        if horizon is None:
            radius = tracked[:, 0].double()
        else:
            radius = radii(self.plan, tracked, said.shape[1])
        return said - radius, said + radius

    def update(self, at: Any, feedback: Any, n: int) -> None:
        """Close rounds with values, NaN where one is missing."""
        fed = shaped("feedback", feedback, (n,), self.streams.device)
        self.streams.play(at, fed.reshape(1, n), None, None)

    def track(self, targets: Any, intervals: bool) -> Any:
        """Forecasts (rounds, n) of many rounds of all streams, and ends of intervals if asked."""
        torch, streams = torch_module(), self.streams
        given = numbers("targets", targets, streams.device)
        if given.ndim != 2:
            raise ValueError(
                f"targets must have shape (rounds, {streams.count}): got {tuple(given.shape)};"
                " pass one row a round"
            )
        fed = shaped("targets", given, (given.shape[0], streams.count), streams.device)
        out = torch.empty_like(fed)
        ends = None
        if intervals:
            shape = (*fed.shape, len(self.plan.knots))
            ends = torch.empty(shape, dtype=torch.float32, device=streams.device)
        streams.play(slice(None), fed, out, ends)
        if ends is None:
            return out
        radius = ends[..., 0].to(out.dtype)
        return out, out - radius, out + radius

    def _which(self, at: Any) -> Tensor:
        return self.streams.everyone if isinstance(at, slice) else at

    def _horizon(self, horizon: Any) -> int:
        most = self.plan.horizon
        whole = isinstance(horizon, int | np.integer) and not isinstance(horizon, bool)
        if not whole or not 1 <= horizon <= most:
            raise ValueError(
                f"horizon must be from 1 to {most}: got {horizon!r}; build the fleet with a longer"
                " one"
            )
        return int(horizon)
