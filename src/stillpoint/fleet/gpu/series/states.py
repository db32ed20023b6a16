"""States of streams of forecasters on a device, and rounds of those of one age."""

from typing import Any

from stillpoint.fleet.gpu.series import kernel
from stillpoint.fleet.gpu.series.kernel import LANES, Call
from stillpoint.fleet.gpu.series.machine import OnTensors
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.tensors import Tensor, torch_module, zeros

_AHEAD = 64  # rounds that tables are made for at least
_MOST = 1 << 26  # numbers of tables at a time


class States:
    """States of streams 0, 1, … and how many of their values could not be used.

    Parameters
    ----------
    plan : Plan
        What they share.
    count : int
        How many streams.
    device : torch.device
        Where they are.
    """

    def __init__(self, plan: Plan, count: int, device: Any) -> None:
        torch = torch_module()
        self.plan, self.count, self.device = plan, count, device
        self.engine = kernel.with_triton if device.type == "cuda" else kernel.with_torch
        self.new = torch.as_tensor(plan.blank(), device=device)
        # one stream more than there are, at least: kernels let idle threads work on the last
        shape = count // LANES + 1, plan.size, LANES
        self.tiles = zeros(shape, torch.float32, device)
        self.tiles += self.new[None, :, None]
        self.rejected = zeros(count, torch.int32, device)
        self._tables: tuple[int, int, dict[str, Any]] = (0, 0, {})

    def columns(self, which: Tensor) -> Tensor:
        """All numbers (places, streams) of some streams."""
        return self.tiles[which // LANES, :, which % LANES].T.contiguous()

    def put(self, which: Tensor, columns: Tensor) -> None:
        """Set all numbers of some streams."""
        self.tiles[which // LANES, :, which % LANES] = columns.T

    def get(self, which: Tensor, name: str, i: int = 0) -> Tensor:
        """A number of each of some streams."""
        return self.tiles[which // LANES, self.plan.places[name][0] + i, which % LANES]

    def centres(self, which: Tensor) -> Tensor:
        """The values that states count from, float64."""
        return self.get(which, "centre").double() + self.get(which, "centre~").double()

    def centre(self, which: Tensor, values: Tensor) -> None:
        """Let new streams count from these values."""
        for name, part in (
            ("centre", values.float()),
            ("centre~", (values - values.float().double()).float()),
        ):
            self.tiles[which // LANES, self.plan.places[name][0], which % LANES] = part

    def machine(self, which: Tensor, tables: dict[str, Any] | None = None) -> OnTensors:
        """Some streams, to compute with."""
        return OnTensors(self.plan.places, self.columns(which), tables or {})

    def launch(
        self,
        which: Tensor,
        feed: Tensor,
        out: Tensor | None,
        ends: Tensor | None,
        now: int,
        clock: int,
        live: bool = True,
    ) -> None:
        """Rounds of streams of one age; tables are made for many of them at a time.

        Parameters
        ----------
        which : Tensor of shape (streams,)
            Which streams.
        feed, out, ends : Tensor
            As in `kernel.Call`.
        now, clock : int
            The age of the experts, and of the intervals.
        live : bool, default True
            Whether intervals go along.
        """
        most = max(1, _MOST // sum(self.plan.widths().values()))
        for t in range(0, feed.shape[0], most):
            part = slice(t, min(t + most, feed.shape[0]))
            tables, skip = self.tables(now + t, part.stop - t)
            said, told = (None if x is None else x[part] for x in (out, ends))
            call = Call(
                which, feed[part], said, told, self.rejected, tables, skip, now + t, clock + t, live
            )
            self.engine(self.plan, self.tiles, call)

    def tables(self, now: int, count: int) -> tuple[dict[str, Any], int]:
        """Tables that have these rounds, and at which row."""
        start, size, tables = self._tables
        if not (start <= now and now + count <= start + size):
            torch, size = torch_module(), max(count, _AHEAD)
            tables = {
                name: torch.as_tensor(table, dtype=torch.float32).contiguous().to(self.device)
                for name, table in self.plan.tables(now, size).items()
            }
            start, self._tables = now, (now, size, tables)
        return tables, now - start
