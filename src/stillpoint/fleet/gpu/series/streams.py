"""Streams of forecasters: their states on a device, their ages, and how they begin.

Experts are built from the first values, in units told by these: after 3, 10, and as many as are
gathered (`series.light`). Until then a stream is young, and its values are kept; then its rounds
are a kernel's alone. Streams of one age share a launch.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillpoint.core.validation import stored
from stillpoint.fleet.gpu.series import bands, kernel, rounds
from stillpoint.fleet.gpu.series.kernel import LANES, Call
from stillpoint.fleet.gpu.series.machine import OnTensors
from stillpoint.fleet.gpu.series.plan import ISSUED, Plan
from stillpoint.fleet.gpu.series.values import Ring
from stillpoint.fleet.gpu.tensors import Tensor, torch_module, zeros
from stillpoint.series._knots import ISSUE
from stillpoint.series.light._keys import AGAIN, START

_AHEAD = 64  # rounds that tables are made for at least
_MOST = 1 << 28  # numbers of a table at a time


class SeriesStreams:
    """States of streams 0, 1, … of forecasters with a small pool.

    Parameters
    ----------
    plan : Plan
        What they share.
    count : int
        How many streams.
    device : torch.device
        Where they are.

    Attributes
    ----------
    rejected : Tensor of shape (streams,)
        How many values could not be used.
    last : Tensor of shape (streams,)
        The last value, 0 before the first.
    nests : Tensor of shape (streams, gathered) or None
        The values of young streams; None where there are none.
    """

    def __init__(self, plan: Plan, count: int, device: Any) -> None:
        torch = torch_module()
        self.plan, self.count, self.device = plan, count, device
        self.engine = kernel.with_triton if device.type == "cuda" else kernel.with_torch
        self._begin = torch.as_tensor(plan.blank(), device=device)
        self.state = self._blank(count)
        self._rounds, self._now, self.rejected = (zeros(count, torch.int32, device) for _ in range(3))
        self._now -= 1
        self.last = zeros(count, torch.float64, device)
        self.nests: Tensor = zeros((count, plan.gathered), torch.float64, device)
        self.young = torch.ones(count, dtype=torch.bool, device=device)
        # rounds since the first value, and the age of the experts; −1: there are none yet
        self._common: tuple[int, int] | None = None  # age and rounds, where all have the same
        self._tables: tuple[int, int, dict[str, Any]] = (0, 0, {})
        self.everyone = torch.arange(count, device=device)

    # rounds

    def play(self, at: Any, feed: Tensor, out: Tensor | None, ends: Tensor | None) -> None:
        """Close rounds with values, and open the next.

        Parameters
        ----------
        at : slice or Tensor
            Which streams, each once.
        feed : Tensor of shape (rounds, streams)
            Values, NaN where one is missing.
        out : Tensor of shape (rounds, streams), optional
            Where the forecasts of them go.
        ends : Tensor of shape (rounds, streams, knots), optional
            Where the radii of the intervals go.
        """
        which = self.everyone if isinstance(at, slice) else at
        if not feed.shape[0] or not which.numel():
            return
        if self._common is not None and isinstance(at, slice):
            self._launch(which, feed, out, ends, *self._common)
            now, count = self._common
            self._common = now + feed.shape[0], count + feed.shape[0]
            return
        torch = torch_module()
        self._settle_ages()
        self._common = None
        columns = torch.arange(which.numel(), device=self.device)
        columns = self._grown(which, columns, 0, feed, out, ends)
        t = 0
        while columns.numel() and t < feed.shape[0]:
            own = which[columns]
            if out is not None:
                out[t, columns] = self.forecasts(own).to(out.dtype)
            if ends is not None:
                ends[t, columns] = self.radii(own)
            self._raise(own, feed[t, columns].double())
            t += 1
            columns = self._grown(which, columns, t, feed, out, ends)
        self._find_common()

    def _grown(
        self, which: Tensor, columns: Tensor, t: int, feed: Tensor, out: Any, ends: Any
    ) -> Tensor:
        """Play the rest of those that are not young; returns the others."""
        young = self.young[which[columns]]
        rest = columns[~young]
        if rest.numel() and t < feed.shape[0]:
            if rest.numel() == feed.shape[1]:
                self._by_age(which, feed[t:], None if out is None else out[t:],
                             None if ends is None else ends[t:])
            else:
                own = feed[t:, rest].contiguous()
                said = None if out is None else torch_module().empty_like(own)
                told = None if ends is None else ends[t:, rest].contiguous()
                self._by_age(which[rest], own, said, told)
                if out is not None:
                    out[t:, rest] = said
                if ends is not None:
                    ends[t:, rest] = told
        return columns[young]

    def _by_age(
        self, which: Tensor, feed: Tensor, out: Any, ends: Any, live: bool = True
    ) -> None:
        """Launch those of each age together."""
        groups = list(self._groups(which))
        for now, count, part in groups:
            if len(groups) == 1:
                self._launch(which, feed, out, ends, now, count, live)
                continue
            own = feed[:, part].contiguous()
            said = None if out is None else torch_module().empty_like(own)
            told = None if ends is None else ends[:, part].contiguous()
            self._launch(which[part], own, said, told, now, count, live)
            if out is not None:
                out[:, part] = said
            if ends is not None:
                ends[:, part] = told
        self._now[which] += feed.shape[0]
        self._rounds[which] += feed.shape[0]

    def _groups(self, which: Tensor) -> Iterator[tuple[int, int, Tensor]]:
        """Ages, rounds, and which of these streams have them."""
        torch = torch_module()
        ages = torch.stack([self._now[which], self._rounds[which]], 1)
        kinds, of = torch.unique(ages, dim=0, return_inverse=True)
        if len(kinds) == 1:
            now, count = kinds[0].tolist()
            yield now, count, torch.arange(which.numel(), device=self.device)
            return
        order = torch.argsort(of, stable=True)
        ends = torch.cumsum(torch.bincount(of, minlength=len(kinds)), 0).tolist()
        for (now, count), first, last in zip(kinds.tolist(), [0, *ends], ends, strict=False):
            yield now, count, order[first:last]

    def _launch(
        self,
        which: Tensor,
        feed: Tensor,
        out: Tensor | None,
        ends: Tensor | None,
        now: int,
        count: int,
        live: bool = True,
    ) -> None:
        """Rounds of streams of one age; tables are made for some of them at a time."""
        n = max(1, _MOST // sum(self.plan.widths().values()))
        for t in range(0, feed.shape[0], n):
            part = slice(t, t + n)
            rows = min(n, feed.shape[0] - t)
            tables, skip = self._cover(now + t, rows)
            call = Call(
                which,
                feed[part],
                None if out is None else out[part],
                None if ends is None else ends[part],
                self.rejected,
                tables,
                skip,
                now + t,
                count - 1 + t,
                live,
            )
            self.engine(self.plan, self.state, call)

    def _cover(self, now: int, count: int) -> tuple[dict[str, Any], int]:
        """Tables that have these rounds, and at which row."""
        start, size, tables = self._tables
        if not (start <= now and now + count <= start + size):
            torch, size = torch_module(), max(count, _AHEAD)
            made = self.plan.tables(now, size)
            tables = {
                name: torch.as_tensor(table, dtype=torch.float32).contiguous().to(self.device)
                for name, table in made.items()
            }
            start, self._tables = now, (now, size, tables)
        return tables, now - start

    # the young

    def _raise(self, which: Tensor, y: Tensor) -> None:
        """A round of young streams."""
        torch, q = torch_module(), self.plan
        seen = y.abs() < torch.inf
        self.rejected[which[~seen & (self._now[which] < 0)]] += 1
        has = seen | (self._rounds[which] > 0)  # before the first value there is nothing
        which, y, seen = which[has], y[has], seen[has]
        if not which.numel():
            return
        y = torch.where(seen, y, torch.nan)
        new = self._rounds[which] == 0
        self._set(which[new], "centre", y[new].float())
        self._set(which[new], "centre~", (y[new] - y[new].float().double()).float())
        ended = (self._now[which] >= 0) & (y <= 0.0) & (self._get(which, "ratio") > 0.0)
        with_experts = self._now[which] >= 0
        for own, values, play in (
            (which[with_experts], y[with_experts], self._play_once),
            (which[~with_experts & ~new], y[~with_experts & ~new], self._play_last),
        ):
            if own.numel():
                play(own, values)
        left = which[~with_experts]
        self._rounds[left] += 1
        self._now[which[ended]] = -1
        self.last[which] = torch.where(seen, y, self.last[which])
        self._gather(which, y)
        kept = self._rounds[which].clamp(max=q.gathered).long()
        values = self.nests[which]
        inside = torch.arange(q.gathered, device=self.device) < kept[:, None]
        good = inside & ~values.isnan()
        low = torch.where(good, values, torch.inf).amin(1)
        high = torch.where(good, values, -torch.inf).amax(1)
        count = self._rounds[which]
        due = (self._now[which] < 0) | (count == AGAIN) | (count == q.gathered)
        due &= (good.sum(1) >= START) & (low < high)
        first = good.int().argmax(1)
        for size in torch.unique((kept - first)[due]).tolist():
            part = due & (kept - first == size)
            self._build(which[part], values[part], first[part], size)
        self._issue(which[due], True)
        self._issue(which[self._now[which] < 0], False)
        old = which[(self._now[which] >= 0) & (self._rounds[which] >= q.gathered)]
        self.young[old] = False

    def _play_once(self, which: Tensor, y: Tensor) -> None:
        self._by_age(which, y[None].contiguous(), None, None)

    def _play_last(self, which: Tensor, y: Tensor) -> None:
        """Intervals of streams without experts learn."""
        for _, count, part in self._groups(which):
            own = which[part]
            m = self.machine(own)
            u = (y[part] - self.centres(own)).float() / m.get("unit")
            seen = ~u.isnan()
            bands.settle(m, self.plan, count - 1, u.nan_to_num(), seen)
            self._keep(own, m)

    def _issue(self, which: Tensor, experts: bool) -> None:
        """Issue intervals of the coming round anew, around what is forecast now."""
        if not which.numel():
            return
        q = self.plan
        for now, count, part in self._groups(which):
            own, clock = which[part], count - 1
            tables, skip = self._cover(max(now - 1, 0), 1)
            m = self.machine(own, tables)
            if experts:
                rounds.open_(m, q, skip, now - 1, Ring(m, q, now - 1), clock - 1)
            else:
                u = (self.last[own] - self.centres(own)).float() / m.get("unit")
                bands.issue(m, q, u)
                if q.far and clock % q.stride == 0:
                    bands.issue_far(m, q, clock, u)
            self._keep(own, m)

    def _gather(self, which: Tensor, y: Tensor) -> None:
        """Add a value to those of young streams; the first goes where there is no room."""
        at = self._rounds[which].long() - 1
        full = at >= self.plan.gathered
        if bool(full.any()):
            self.nests[which[full], :-1] = self.nests[which[full], 1:]
        self.nests[which, at.clamp(max=self.plan.gathered - 1)] = y

    def _build(self, which: Tensor, values: Tensor, first: Tensor, size: int) -> None:
        """Build experts from the values so far, `size` of them from `first` on."""
        torch, q = torch_module(), self.plan
        steps = first[:, None] + torch.arange(size, device=self.device)
        values = values.gather(1, steps)
        good = ~values.isnan()
        n = good.sum(1)
        mean = torch.where(good, values, 0.0).sum(1) / n
        square = torch.where(good, (values - mean[:, None]) ** 2, 0.0).sum(1) / n
        unit = torch.where(square > 0.0, square.sqrt(), 1.0)
        centre = values[:, 0]
        logs = torch.where(good, values, 1.0).amin(1) > 0.0
        old = self._columns(which)
        state = self._begin[:, None].repeat(1, which.numel())
        state[q.banded :] = self._moved(old, centre, unit)
        places = q.places
        state[places["centre"][0]] = centre.float()
        state[places["centre~"][0]] = (centre - centre.float().double()).float()
        state[places["unit"][0]] = unit.float()
        state[places["ratio"][0]] = torch.where(logs, (unit / centre).float(), 0.0)
        self._put(which, state)
        feed = values.T.contiguous()
        self._launch(which, feed, None, None, 0, 1, live=False)
        self._now[which] = size

    def _moved(self, old: Tensor, centre: Tensor, unit: Tensor) -> Tensor:
        """What intervals know, in new units."""
        q, moved = self.plan, old[self.plan.banded :].clone()
        was = old[q.places["centre"][0]].double() + old[q.places["centre~"][0]].double()
        before = old[q.places["unit"][0]].double()
        times = (before / unit).float()
        shift = ((was - centre) / unit).float()
        for name, (start, count) in q.places.items():
            if ":" not in name:
                continue
            part = moved[start - q.banded : start - q.banded + count]
            kind = name.partition(":")[0]
            if kind in ("scale", "before", "now"):
                part *= times
            elif kind == "issued":
                part[0 :: len(ISSUED)] = (
                    part[0 :: len(ISSUED)] * times.where(part[0 :: len(ISSUED)] >= 0.0, times * 0 + 1)
                )
                part[1 :: len(ISSUED)] *= times
                part[2 :: len(ISSUED)] = part[2 :: len(ISSUED)] * times + shift
        return moved

    # what is read

    @property
    def rounds(self) -> Tensor:
        """Rounds of each stream since its first value."""
        self._settle_ages()
        return self._rounds

    @property
    def width(self) -> int:
        """Bytes of a stream, but for values of young ones."""
        return 4 * self.plan.size + 4 * 3 + 8 + 1

    def forecasts(self, which: Tensor) -> Tensor:
        """Forecasts of the coming round, float64."""
        torch, q = torch_module(), self.plan
        said = self._get(which, "waiting.0", q.experts + ISSUE.forecast)
        value = self.centres(which) + (said * self._get(which, "unit")).double()
        if self._common is not None:
            return value
        return torch.where(self._now[which] >= 0, value, self.last[which])

    def radii(self, which: Tensor) -> Tensor:
        """Radii of the intervals of the knots, (streams, knots)."""
        torch, q = torch_module(), self.plan
        unit = self._get(which, "unit")
        return torch.stack(
            [self._get(which, f"now:{k}") * unit for k, _ in enumerate(q.knots)], 1
        )

    def ages(self, which: Tensor) -> list[tuple[int, Tensor]]:
        """Ages of experts among these streams, and which have them."""
        self._settle_ages()
        found: dict[int, list[Tensor]] = {}
        for now, _, part in self._groups(which):
            found.setdefault(now, []).append(part)
        return [(now, torch_module().cat(parts)) for now, parts in found.items()]

    def machine(self, which: Tensor, tables: dict[str, Any] | None = None) -> OnTensors:
        """States of some streams, to compute with."""
        return OnTensors(self.plan.places, self._columns(which), tables or {})

    # streams

    def add(self, count: int) -> None:
        """Let so many new streams join at the end."""
        torch = torch_module()
        fresh = SeriesStreams(self.plan, count, self.device)
        self._settle_ages()
        before, after = self.count, self.count + count
        state = self._blank(after)
        self.count, own = after, self._columns(self.everyone)
        self.state, self.everyone = state, torch.arange(after, device=self.device)
        self._put(self.everyone[:before], own)
        if self.nests is None:
            self.nests = zeros((before, self.plan.gathered), torch.float64, self.device)
        for name in ("_rounds", "_now", "rejected", "last", "nests", "young"):
            setattr(self, name, torch.cat([getattr(self, name), getattr(fresh, name)]))
        self._common = None

    def forget(self, at: Any) -> None:
        """Let these streams begin anew."""
        torch = torch_module()
        which = self.everyone if isinstance(at, slice) else at
        self._settle_ages()
        self._put(which, self._begin[:, None].repeat(1, which.numel()))
        self._rounds[which], self.rejected[which], self._now[which] = 0, 0, -1
        self.last[which], self.young[which] = 0.0, True
        if self.nests is None:
            size = self.count, self.plan.gathered
            self.nests = zeros(size, torch.float64, self.device)
        self._common = None

    def arrays(self) -> dict[str, Any]:
        """The states, for saving."""
        self._settle_ages()
        saved = {
            "state": self._columns(self.everyone).cpu().numpy(),
            "nests": np.zeros((0, self.plan.gathered)),
            "young": self.young.cpu().numpy(),
        }
        if self.nests is not None:
            saved["nests"] = self.nests[self.young].cpu().numpy()
        saved |= {"rounds": self._rounds.cpu().numpy(), "now": self._now.cpu().numpy()}
        saved |= {"rejected": self.rejected.cpu().numpy(), "last": self.last.cpu().numpy()}
        return saved

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; nothing changes where it raises ValueError."""
        torch, n, q = torch_module(), self.count, self.plan
        columns = stored(state, "state", q.size, n, dtype=np.float32)
        young = stored(state, "young", n, dtype=np.bool_)
        nests = stored(state, "nests", int(young.sum()), q.gathered)
        rounds_, now, rejected = (
            stored(state, name, n, dtype=np.int32) for name in ("rounds", "now", "rejected")
        )
        last = stored(state, "last", n)
        grown = (now >= 0) & (rounds_ >= q.gathered)
        if (rounds_ < 0).any() or (now < -1).any() or (now > rounds_).any() or (young & grown).any():
            raise ValueError(
                f"state 'now' must be within the rounds of each stream: got {now} with {rounds_};"
                " save the fleet again"
            )
        self._put(self.everyone, torch.as_tensor(columns, device=self.device))
        for name, own in (
            *(("_rounds", rounds_), ("_now", now), ("rejected", rejected)),
            *(("last", last), ("young", young)),
        ):
            setattr(self, name, torch.as_tensor(own).to(self.device))
        self.nests = zeros((n, q.gathered), torch.float64, self.device)
        self.nests[self.young] = torch.as_tensor(nests).to(self.device)
        self._common = None
        self._find_common()

    def _settle_ages(self) -> None:
        """Write down the ages that all have in common."""
        if self._common is not None:
            self._now[:], self._rounds[:] = self._common

    def _find_common(self) -> None:
        """See whether all streams are of one age, and none is young."""
        if bool(self.young.any()):
            return
        self.nests = None
        low, high = (torch_module().stack([f(self._now), f(self._rounds)]).tolist() for f in _ENDS)
        if low == high:
            self._common = (low[0], low[1])

    # states

    def _blank(self, streams: int) -> Tensor:
        """Tiles of new streams, one stream more than there are at least."""
        shape = streams // LANES + 1, self.plan.size, LANES
        state = zeros(shape, torch_module().float32, self.device)
        state += self._begin[None, :, None]
        return state

    def _columns(self, which: Tensor) -> Tensor:
        return self.state[which // LANES, :, which % LANES].T.contiguous()

    def _put(self, which: Tensor, columns: Tensor) -> None:
        self.state[which // LANES, :, which % LANES] = columns.T

    def _get(self, which: Tensor, name: str, i: int = 0) -> Tensor:
        return self.state[which // LANES, self.plan.places[name][0] + i, which % LANES]

    def _set(self, which: Tensor, name: str, values: Tensor) -> None:
        self.state[which // LANES, self.plan.places[name][0], which % LANES] = values

    def centres(self, which: Tensor) -> Tensor:
        """The first values, from which states count."""
        return self._get(which, "centre").double() + self._get(which, "centre~").double()

    def _keep(self, which: Tensor, m: OnTensors) -> None:
        self._put(which, m.state)


def _least(x: Tensor) -> Tensor:
    return x.min()


def _largest(x: Tensor) -> Tensor:
    return x.max()


_ENDS = (_least, _largest)
