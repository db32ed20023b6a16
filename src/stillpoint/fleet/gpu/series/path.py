"""Forecasts of all horizons, and intervals of them, on a device; through torch operations."""

import math
from typing import Any

import numpy as np

from stillpoint.fleet.gpu.series import filters, knots, regressions
from stillpoint.fleet.gpu.series.machine import OnTensors
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.series.values import Ring, limits
from stillpoint.fleet.gpu.tensors import Tensor, torch_module
from stillpoint.fleet.gpu.trace import Number, dot
from stillpoint.series.light.bands import ALONE, STEEPEST


def path(m: OnTensors, q: Plan, now: int, horizon: int) -> list[Number]:
    """Forecasts of the rounds now, now + 1, … in units, from experts of this age."""
    said = _experts(m, q, now, horizon)
    near, out = knots.weights(m, 0), []
    far = knots.weights(m, 1) if q.far else near
    for h, p in enumerate(said):
        k, part = int(q.lower[h]), float(q.fraction[h])
        a, b = (far if k else near), far

        def mix(name: str, a: Any = a, b: Any = b, part: float = part) -> list[Number]:
            pairs = zip(getattr(a, name), getattr(b, name), strict=True)
            return [(1.0 - part) * x + part * y for x, y in pairs] if part else getattr(a, name)

        sd = (1.0 - part) * a.sd + part * b.sd
        f = dot(mix("blend"), p)
        g = knots.stacked(f, p, mix("theta"), sd)
        out.append(dot(mix("two_blend"), [f, g]))
    return out


def _experts(m: OnTensors, q: Plan, now: int, horizon: int) -> list[list[Number]]:
    """What each expert says to each horizon."""
    torch, ring, range_ = torch_module(), Ring(m, q, now - 1), limits(m)
    ratio = m.get("ratio")
    logs, over = ratio > 0.0, 1.0 / ratio.clamp(min=1e-30)
    last = ring[0]
    said: list[list[Number]] = [[last] for _ in range(horizon)]
    for period in q.lagged:
        for h in range(1, horizon + 1):
            back = (h + period - 1) // period * period
            said[h - 1].append(ring[back - h] if now >= back - h + 1 else last)
    rows = torch.as_tensor(q.rows(now, horizon), dtype=torch.float32, device=last.device)
    seasons = []
    for f, _ in enumerate(q.filters):
        if q.columns:
            parts = rows @ torch.stack(m.row(f"means{f}"))
        else:
            parts = last.new_zeros((horizon, last.shape[0]))
        seasons.append(parts)
        for h in range(1, horizon + 1):
            part = m.get(f"part{f}") if h == 1 else parts[h - 1]
            said[h - 1].append(filters.forecast(m, q, f, h, part, logs, over, range_))
    parts = [m.get("season", 0), m.get("season", 1), *seasons[0]]
    for a, r in enumerate(q.regressions):
        ahead: list[Number] = []

        def back(lag: int, ahead: list[Number] = ahead) -> Number:
            """The value so many rounds before the next one to be forecast."""
            return ahead[-lag] if lag <= len(ahead) else ring[lag - len(ahead) - 1]

        for h in range(horizon):
            season = [parts[h + 2 - i] for i in range(3)]
            v = regressions.forecast(m, q, a, back, season, range_) if now >= r.start else last
            ahead.append(v)
            said[h].append(v)
    return said


def radii(q: Plan, tracked: Tensor, horizon: int) -> Tensor:
    """Radii of horizons 1, 2, … from those of the knots, the last axis of `tracked`.

    Their logarithms are on lines in log h; beyond the last, the line goes on, neither falling nor
    steeper than a half. What lies beside an infinite one is infinite.
    """
    torch = torch_module()
    logs = tracked.double().log()
    h = np.log(np.arange(1.0, horizon + 1.0))
    if not q.far:
        out = logs[..., :1] + torch.as_tensor(ALONE * h, device=logs.device)
        return _finished(tracked, out, 0)
    gap = math.log(q.far)
    part = torch.as_tensor(np.minimum(h / gap, 1.0), device=logs.device)
    near, far = logs[..., :1], logs[..., 1:]
    inside = torch.where(
        part == 0.0, near, torch.where(part == 1.0, far, (1.0 - part) * near + part * far)
    )
    slope = ((far - near) / gap).clamp(0.0, STEEPEST)
    slope = torch.where(slope.isfinite(), slope, 0.0)
    beyond = torch.as_tensor(np.maximum(h - gap, 0.0), device=logs.device)
    return _finished(tracked, inside + slope * beyond, q.far - 1)


def _finished(tracked: Tensor, logs: Tensor, far: int) -> Tensor:
    torch = torch_module()
    out = torch.where(logs.isnan(), torch.inf, logs.exp())
    out[..., 0] = tracked[..., 0].double()
    if far and far < out.shape[-1]:
        out[..., far] = tracked[..., 1].double()
    return out
