"""Streams of forecasters: their states on a device, and their ages.

Streams of one age share a launch. A fleet whose streams all have the same age, as they do when all
get their values together, is played without asking the device about any.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillpoint.core.validation import stored
from stillpoint.fleet.gpu.series.nursery import Nursery
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.series.states import States
from stillpoint.fleet.gpu.tensors import Tensor, torch_module, zeros
from stillpoint.series._knots import ISSUE

_TOGETHER = 1 << 19  # young streams that are played at a time


class SeriesStreams(States):
    """Streams 0, 1, … of forecasters with a small pool.

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
    now, past : Tensor of shape (streams,)
        The age of the experts, −1 where there are none yet, and rounds since the first value; up to
        date after `write_ages`.
    """

    def __init__(self, plan: Plan, count: int, device: Any) -> None:
        super().__init__(plan, count, device)
        torch = torch_module()
        self.past, self.now = (zeros(count, torch.int32, device) for _ in range(2))
        self.now -= 1
        self.everyone = torch.arange(count, device=device)
        self.nursery = Nursery(self)
        self._common: tuple[int, int] | None = None  # `now` and `past` of all

    @property
    def rounds(self) -> Tensor:
        """Rounds of each stream since its first value."""
        self.write_ages()
        return self.past

    @property
    def width(self) -> int:
        """Bytes of a stream, but for the values that are kept of young ones."""
        return 4 * self.plan.size + 4 * 3 + 8 + 1

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
        if not feed.numel():
            return
        if self._common is not None and isinstance(at, slice):
            now, past = self._common
            self.launch(which, feed, out, ends, now, past - 1)
            self._common = now + feed.shape[0], past + feed.shape[0]
            return
        self.write_ages()
        self._common = None
        columns = torch_module().arange(which.numel(), device=self.device)
        for t in range(feed.shape[0]):
            columns = self._grown(which, columns, t, feed, out, ends)
            for some in columns.split(_TOGETHER) if columns.numel() else ():
                own = which[some]
                if out is not None:
                    out[t, some] = self.forecasts(own).to(out.dtype)
                if ends is not None:
                    ends[t, some] = self.radii(own)
                self.nursery.play(own, feed[t, some].double())
            if not columns.numel():
                break
        self._find_common()

    def _grown(
        self, which: Tensor, columns: Tensor, t: int, feed: Tensor, out: Any, ends: Any
    ) -> Tensor:
        """Play the rounds from t on of those that are not young; returns the others."""
        young = self.nursery.young[which[columns]]
        grown = columns[~young]
        if grown.numel() == feed.shape[1]:
            said, told = (None if x is None else x[t:] for x in (out, ends))
            self.by_age(which, feed[t:], said, told)
        elif grown.numel():
            self._some(which, grown, feed[t:], *(None if x is None else x[t:] for x in (out, ends)))
        return columns[young]

    def _some(self, which: Tensor, part: Tensor, feed: Tensor, out: Any, ends: Any) -> None:
        """`by_age` of some columns."""
        torch = torch_module()
        own = feed[:, part].contiguous()
        said = None if out is None else torch.empty_like(own)
        told = None if ends is None else ends[:, part].contiguous()
        self.by_age(which[part], own, said, told)
        if out is not None:
            out[:, part] = said
        if ends is not None:
            ends[:, part] = told

    def by_age(self, which: Tensor, feed: Tensor, out: Any, ends: Any) -> None:
        """Rounds of streams with experts, those of each age together."""
        groups = list(self.groups(which))
        for now, past, part in groups:
            if len(groups) == 1:
                self.launch(which, feed, out, ends, now, past - 1)
                self.now[which] += feed.shape[0]
                self.past[which] += feed.shape[0]
            else:
                self._some(which, part, feed, out, ends)

    def groups(self, which: Tensor) -> Iterator[tuple[int, int, Tensor]]:
        """Ages and rounds, and which of these streams have them."""
        torch = torch_module()
        ages = torch.stack([self.now[which], self.past[which]], 1)
        kinds, of = torch.unique(ages, dim=0, return_inverse=True)
        order = torch.argsort(of, stable=True)
        ends = torch.cumsum(torch.bincount(of, minlength=len(kinds)), 0).tolist()
        for (now, past), first, last in zip(kinds.tolist(), [0, *ends], ends, strict=False):
            yield now, past, order[first:last]

    def forecasts(self, which: Tensor) -> Tensor:
        """Forecasts of the coming round, float64."""
        torch, q = torch_module(), self.plan
        said = self.get(which, "waiting.0", q.experts + ISSUE.forecast)
        value = self.centres(which) + (said * self.get(which, "unit")).double()
        if self._common is not None:
            return value
        return torch.where(self.now[which] >= 0, value, self.nursery.last[which])

    def radii(self, which: Tensor) -> Tensor:
        """Radii of the intervals of the knots, (streams, knots)."""
        unit = self.get(which, "unit")
        own = [self.get(which, f"now:{k}") * unit for k, _ in enumerate(self.plan.knots)]
        return torch_module().stack(own, 1)

    def add(self, count: int) -> None:
        """Let so many new streams join at the end."""
        torch, before = torch_module(), self.count
        grown, fresh = (SeriesStreams(self.plan, n, self.device) for n in (before + count, count))
        self.write_ages()
        grown.put(grown.everyone[:before], self.columns(self.everyone))
        self.tiles, self.count, self.everyone = grown.tiles, grown.count, grown.everyone
        for name in ("past", "now", "rejected"):
            setattr(self, name, torch.cat([getattr(self, name), getattr(fresh, name)]))
        self.nursery.join(fresh.nursery)
        self._common = None

    def forget(self, at: Any) -> None:
        """Let these streams begin anew."""
        which = self.everyone if isinstance(at, slice) else at
        self.write_ages()
        self._common = None
        self.put(which, self.new[:, None].repeat(1, which.numel()))
        self.past[which], self.rejected[which], self.now[which] = 0, 0, -1
        self.nursery.forget(which)

    def arrays(self) -> dict[str, Any]:
        """The states, for saving."""
        self.write_ages()
        own = {"rounds": self.past, "now": self.now, "rejected": self.rejected}
        own |= {"state": self.columns(self.everyone)}
        return {name: value.cpu().numpy() for name, value in own.items()} | self.nursery.arrays()

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; nothing changes where it raises ValueError."""
        torch, n, q = torch_module(), self.count, self.plan
        columns = stored(state, "state", q.size, n, dtype=np.float32)
        past, now, rejected = (
            stored(state, name, n, dtype=np.int32) for name in ("rounds", "now", "rejected")
        )
        if (past < 0).any() or (now < -1).any() or (now > past).any():
            raise ValueError(
                f"state 'now' must be within the rounds of each stream: got {now} with {past};"
                " save the fleet again"
            )
        self.nursery.restore(state, (now >= 0) & (past >= q.gathered))
        self.put(self.everyone, torch.as_tensor(columns).to(self.device))
        self.past, self.now, self.rejected = (
            torch.as_tensor(own).to(self.device) for own in (past, now, rejected)
        )
        self._common = None
        self._find_common()

    def write_ages(self) -> None:
        """Write down the ages that all have in common."""
        if self._common is not None:
            self.now[:], self.past[:] = self._common

    def _find_common(self) -> None:
        """See whether all streams are of one age, and none is young."""
        if self.nursery.leave():
            both = [self.now.min(), self.past.min(), self.now.max(), self.past.max()]
            now, past, *most = torch_module().stack(both).tolist()
            self._common = (now, past) if [now, past] == most else None
