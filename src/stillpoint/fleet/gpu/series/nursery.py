"""Young streams of forecasters: how they begin.

Experts are built from the first values, in units told by these: after 3 values, 10 rounds, and as
many as are gathered (see `series.light`). Until then the values are kept.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import stored
from stillpoint.fleet.gpu.programs.base import LARGEST
from stillpoint.fleet.gpu.series import bands, rounds
from stillpoint.fleet.gpu.series.plan import ISSUED
from stillpoint.fleet.gpu.series.typos import believable
from stillpoint.fleet.gpu.series.values import Ring
from stillpoint.fleet.gpu.tensors import Tensor, torch_module, zeros
from stillpoint.series.light._row import AGAIN, START

if TYPE_CHECKING:
    from stillpoint.fleet.gpu.series.streams import SeriesStreams

# what an estimate of intervals has learnt, but for hits and misses
ESTIMATE = ("scale", "number", "multiple", "multiple~", "square", "product", "before", "learnt")
_LEAST = 1e-37  # of a unit: a stream that varies by less does not vary, to float32
# of the unit over the first value, for logarithms: 1e15 units times it are within float32
_RATIO = 1e22


class Nursery:
    """The young ones of some streams.

    Parameters
    ----------
    streams : SeriesStreams
        All of them, new.

    Attributes
    ----------
    young : Tensor of shape (streams,)
        Which are.
    last : Tensor of shape (streams,)
        The last value of each stream that has no experts, 0 before the first.
    nests : Tensor of shape (streams, gathered) or None
        The values of young streams; None where there are none.
    """

    def __init__(self, streams: "SeriesStreams") -> None:
        torch, n = torch_module(), streams.count
        self._streams = streams
        self.young = torch.ones(n, dtype=torch.bool, device=streams.device)
        self.last = zeros(n, torch.float64, streams.device)
        self.nests: Any = None
        self._enter()

    def play(self, which: Tensor, y: Tensor) -> None:
        """A round of young streams; y: values, float64, NaN where one is missing."""
        torch, s = torch_module(), self._streams
        seen = y.abs() <= LARGEST  # not so for NaN
        s.rejected[which[~seen & (s.now[which] < 0)]] += 1
        has = seen | (s.past[which] > 0)  # before the first value there is nothing
        which, y, seen = which[has], y[has], seen[has]
        if not which.numel():
            return
        y = torch.where(seen, y, torch.nan)
        new, experts = s.past[which] == 0, s.now[which] >= 0
        s.centre(which[new], y[new])
        ended = experts & (y <= 0.0) & (s.get(which, "ratio") > 0.0)
        if bool(experts.any()):
            s.by_age(which[experts], y[experts][None], None, None)
        self._settle(which[~experts & ~new], y[~experts & ~new])
        s.past[which[~experts]] += 1
        s.now[which[ended]] = -1  # logarithms that end so soon are built anew without
        self.last[which] = torch.where(seen, y, self.last[which])
        self._gather(which, y)
        due = self._build(which)
        self._issue(which[due], True)
        self._issue(which[s.now[which] < 0], False)
        self.young[which] = (s.now[which] < 0) | (s.past[which] < s.plan.gathered)

    def _settle(self, which: Tensor, y: Tensor) -> None:
        """Intervals of streams without experts learn."""
        s = self._streams
        for _, past, part in s.groups(which):
            own = which[part]
            m = s.machine(own)
            u = (y[part] - s.centres(own)).float() / m.get("unit")
            bands.settle(m, s.plan, past - 1, u.nan_to_num(), ~u.isnan())
            s.put(own, m.state)

    def _gather(self, which: Tensor, y: Tensor) -> None:
        """Keep a value; the first goes where there is no room."""
        s = self._streams
        at = s.past[which].long() - 1
        full = which[at >= s.plan.gathered]
        if full.numel():
            self.nests[full, :-1] = self.nests[full, 1:]
        self.nests[which, at.clamp(max=s.plan.gathered - 1)] = y

    def _build(self, which: Tensor) -> Tensor:
        """Build experts where that is due; returns where it was."""
        torch, s = torch_module(), self._streams
        past, most = s.past[which], s.plan.gathered
        kept, values = past.clamp(max=most).long(), self.nests[which]
        places = torch.arange(most, device=s.device)
        values = torch.where(places < kept[:, None], values, torch.nan)
        below, above = believable(values)
        last = places == kept[:, None] - 1
        before = believable(torch.where(last, torch.nan, values))
        strange = (values < below[:, None]) | (values > above[:, None])
        doubts = (strange & last).any(1) | (below.isinf() != before[0].isinf())
        doubts |= above.isinf() != before[1].isinf()
        due = doubts | (s.now[which] < 0) | (past == AGAIN) | (past == most)
        if not bool(due.any()):
            return due
        values = torch.where(strange, torch.nan, values)
        good = ~values.isnan()
        low = torch.where(good, values, torch.inf).amin(1)
        high = torch.where(good, values, -torch.inf).amax(1)
        due &= (good.sum(1) >= START) & (low < high)
        first = good.int().argmax(1)
        sizes = kept - first
        for size in torch.unique(sizes[due]).tolist():
            part = due & (sizes == size)
            steps = first[part, None] + torch.arange(size, device=s.device)
            self._begin(which[part], values[part].gather(1, steps))
        self._forget(which[due & doubts], values[due & doubts])
        return due

    def _begin(self, which: Tensor, values: Tensor) -> None:
        """Build experts from values (streams, rounds), the first of which is not missing."""
        torch, s = torch_module(), self._streams
        good = ~values.isnan()
        n = good.sum(1)
        mean = torch.where(good, values, 0.0).sum(1) / n
        square = torch.where(good, (values - mean[:, None]) ** 2, 0.0).sum(1) / n
        unit = square.sqrt()
        unit = torch.where(unit > _LEAST, unit, 1.0)
        logs = torch.where(good, values, 1.0).amin(1) > 0.0
        logs &= unit < _RATIO * values[:, 0]
        state = s.new[:, None].repeat(1, which.numel())
        state[s.plan.banded :] = self._moved(s.columns(which), values[:, 0], unit)
        state[s.plan.places["unit"][0]] = unit.float()
        ratio = torch.where(logs, (unit / values[:, 0]).float(), 0.0)
        state[s.plan.places["ratio"][0]] = ratio
        s.put(which, state)
        s.centre(which, values[:, 0])
        s.launch(which, values.T.contiguous(), None, None, 0, 0, live=False)
        s.now[which] = values.shape[1]

    def _forget(self, which: Tensor, values: Tensor) -> None:
        """Intervals forget what they learnt of values that are not believed any longer.

        values (streams, rounds) are those that are; see `series.light._estimates.forget`.
        """
        torch, s, q = torch_module(), self._streams, self._streams.plan
        if not which.numel():
            return
        state, places = s.columns(which), torch.arange(values.shape[1], device=s.device)
        place = torch.where(values.isnan(), -1, places).amax(1)
        last = values.gather(1, place[:, None])[:, 0]
        u = ((last - s.centres(which)) / state[q.places["unit"][0]].double()).float()
        for name, (start, count) in q.places.items():
            kind, part = name.partition(":")[0], state[start : start + count]
            if kind in ESTIMATE:
                part[:] = 0.0
            elif kind == "issued":
                part[:: len(ISSUED)], part[2 :: len(ISSUED)] = bands.NOTHING, u
        s.put(which, state)

    def _moved(self, old: Tensor, centre: Tensor, unit: Tensor) -> Tensor:
        """What intervals know, in new units."""
        torch, q = torch_module(), self._streams.plan
        was = old[q.places["centre"][0]].double() + old[q.places["centre~"][0]].double()
        times = (old[q.places["unit"][0]].double() / unit).float()
        shift = ((was - centre) / unit).float()
        for name, (start, count) in q.places.items():
            kind, part = name.partition(":")[0], old[start : start + count]
            if kind in ("scale", "before", "now"):
                part *= times
            elif kind == "issued":
                said, radius, around = (part[i :: len(ISSUED)] for i in range(len(ISSUED)))
                said *= torch.where(said >= 0.0, times, 1.0)
                radius *= times
                around.mul_(times).add_(shift)
        return old[q.banded :]

    def _issue(self, which: Tensor, experts: bool) -> None:
        """Issue intervals of the coming round, around what is forecast now."""
        s, q = self._streams, self._streams.plan
        for now, past, part in s.groups(which):
            own, clock = which[part], past - 1
            tables, skip = s.tables(max(now - 1, 0), 1)
            m = s.machine(own, tables)
            if experts:
                rounds.open_(m, q, skip, now - 1, Ring(m, q, now - 1), clock - 1)
            else:
                u = (self.last[own] - s.centres(own)).float() / m.get("unit")
                bands.issue(m, q, u)
                if q.far and clock % q.stride == 0:
                    bands.issue_far(m, q, clock, u)
            s.put(own, m.state)

    # who is young

    def _enter(self) -> None:
        s = self._streams
        if self.nests is None:
            shape = s.count, s.plan.gathered
            self.nests = zeros(shape, torch_module().float64, s.device)

    def leave(self) -> bool:
        """Whether none is young; then there is no room for values."""
        if bool(self.young.any()):
            return False
        self.nests = None
        return True

    def join(self, fresh: "Nursery") -> None:
        """Take in the young ones of streams that were added."""
        torch = torch_module()
        own = zeros((self.young.numel(), fresh.nests.shape[1]), torch.float64, fresh.nests.device)
        self.nests = torch.cat([own if self.nests is None else self.nests, fresh.nests])
        self.young = torch.cat([self.young, fresh.young])
        self.last = torch.cat([self.last, fresh.last])

    def forget(self, which: Tensor) -> None:
        """Let these streams begin anew."""
        self._enter()
        self.last[which], self.young[which] = 0.0, True

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        none = np.zeros((0, self._streams.plan.gathered))
        nests = none if self.nests is None else self.nests[self.young].cpu().numpy()
        return {"young": self.young.cpu().numpy(), "last": self.last.cpu().numpy(), "nests": nests}

    def restore(self, state: dict[str, Any], grown: NDArray[np.bool_]) -> None:
        """Inverse of `arrays`, where these have grown up."""
        torch, s = torch_module(), self._streams
        young = stored(state, "young", s.count, dtype=np.bool_)
        if (young == grown).any():
            raise ValueError(
                f"state 'young' must be the streams that have few rounds: got {young}; save the"
                " fleet again"
            )
        nests = stored(state, "nests", int(young.sum()), s.plan.gathered)
        last = stored(state, "last", s.count)
        self.young, self.last = (torch.as_tensor(own).to(s.device) for own in (young, last))
        self.nests = None
        self._enter()
        self.nests[self.young] = torch.as_tensor(nests).to(s.device)
