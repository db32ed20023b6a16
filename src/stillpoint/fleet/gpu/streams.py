"""Streams: the states of all streams of a fleet, as columns on a device, and rounds of them."""

from typing import Any

import numpy as np

from stillpoint.core.validation import counted, stored
from stillpoint.fleet.gpu import triton
from stillpoint.fleet.gpu.programs import Program
from stillpoint.fleet.gpu.tensors import Tensor, torch_module, zeros

_PAD = 128  # streams; rows that start at multiples of it are read in the widest loads


class Streams:
    """States of streams 0, 1, … under one program, float32, a row a number of the state.

    Parameters
    ----------
    program : Program
        The learner, as it is before the first round. Programs have more columns once a stream has
        had more rounds.
    count : int
        How many streams.
    device : torch.device
        Where they are.

    Attributes
    ----------
    program : Program
        The learner, for as many rounds as any stream has had and one more.
    state : Tensor of shape (columns, n)
        The states; n is the number of streams, rounded up to a multiple of 128.
    rounds, rejected : Tensor of shape (streams,)
        Rounds so far, and how many of them had feedback that could not be used.
    plays : Tensor of shape (streams, outputs)
        What each stream plays next.
    most : int
        Rounds of the stream that has had the most.
    """

    def __init__(self, program: Program, count: int, device: Any) -> None:
        torch = torch_module()
        self.program, self.count, self.device, self.most = program, count, device, 0
        self.engine = triton.with_triton if device.type == "cuda" else triton.with_torch
        self.state = self._blank(program, count)
        self.rounds, self.rejected = (zeros(count, torch.int32, device) for _ in range(2))
        self.plays = zeros((count, program.outputs), torch.float32, device).fill_(program.first)

    def play(
        self,
        at: Any,
        most: int,
        fed: Tensor,
        *,
        loss: triton.Loss | None = None,
        out: Tensor | None = None,
    ) -> None:
        """Play rounds, after which no stream has had more than so many.

        Parameters
        ----------
        at : slice or Tensor
            Which streams.
        most : int
            The most rounds a stream has had afterwards.
        fed : Tensor of shape (rounds, streams, inputs)
            Feedback.
        loss : tuple, optional
            Code and parameter of the loss that makes gradients of it; None where it is as learnt.
        out : Tensor of shape (rounds, streams, outputs), optional
            Where the plays go.
        """
        # the round that is opened at the end is one more
        program = self.program.for_rounds(most + 1)
        if program.columns != self.program.columns:
            state = self._blank(program, self.count)
            places = {name: c for c, name in enumerate(program.columns)}
            for c, name in enumerate(self.program.columns):
                state[places[name]] = self.state[c]
            self.program, self.state = program, state
        self.most = most
        own = self.state, self.rounds, self.plays, self.rejected
        self.engine(self.program, loss, triton.Call(*own, at, fed, out))

    @property
    def width(self) -> int:
        """Bytes of a stream now."""
        return 4 * len(self.program.columns) + 4

    def add(self, count: int) -> None:
        """Let so many new streams join at the end."""
        before, after = self.count, self.count + count
        state = self._blank(self.program, after)
        state[:, :before] = self.state[:, :before]
        rounds, rejected, plays = (
            lengthened(old, after) for old in (self.rounds, self.rejected, self.plays)
        )
        plays[before:] = self.program.first
        self.count, self.state = after, state
        self.rounds, self.rejected, self.plays = rounds, rejected, plays

    def forget(self, at: Any) -> None:
        """Let these streams begin anew."""
        self.state[:, at] = self._blank(self.program, 1)[:, :1]
        self.rounds[at] = self.rejected[at] = 0
        self.plays[at] = self.program.first

    def arrays(self) -> dict[str, Any]:
        """The states, for saving."""
        return {
            "columns": list(self.program.columns),
            "most": self.most,
            "state": self.state[:, : self.count].cpu().numpy(),
            "rounds": self.rounds.cpu().numpy(),
            "rejected": self.rejected.cpu().numpy(),
        }

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state that an older version saved as one of this version: without the columns that are
        no longer kept, and with new ones as streams begin with them.
        """
        columns, gone = list(state["columns"]), self.program.gone
        if not any(name in gone for name in columns):
            return state
        counted("most", state["most"], 2**31 - 2)
        program = self.program.for_rounds(state["most"] + 1)
        values = stored(state, "state", len(columns), self.count, dtype=np.float32)
        rows = {name: row for name, row in zip(columns, values, strict=True) if name not in gone}
        for name in program.come:
            begins = np.float32(program.begin.get(name, 0.0))
            rows.setdefault(name, np.full(self.count, begins))
        names = [name for name in program.columns if name in rows]
        names += [name for name in rows if name not in program.columns]  # which `restore` refuses
        return {**state, "columns": names, "state": np.stack([rows[name] for name in names])}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`; nothing changes where it raises ValueError."""
        state = self.migrated(state)
        torch, n, most = torch_module(), self.count, state["most"]
        counted("most", most, 2**31 - 2)
        program = self.program.for_rounds(most + 1)
        if tuple(state["columns"]) != program.columns:
            raise ValueError(
                f"state 'columns' must be those of {most} rounds: got {state['columns']}; save the"
                " fleet again"
            )
        rounds, rejected = (
            stored(state, name, n, dtype=np.int32) for name in ("rounds", "rejected")
        )
        if rounds.min() < 0 or rounds.max() > most:
            raise ValueError(
                f"state 'rounds' must be from 0 to {most}: got {rounds.min()} to {rounds.max()};"
                " save the fleet again"
            )
        columns = stored(state, "state", len(program.columns), n, dtype=np.float32)
        self.program = program
        self.state = self._blank(program, n)
        self.state[:, :n] = torch.as_tensor(columns)
        self.rounds, self.rejected = (
            torch.as_tensor(own).to(self.device) for own in (rounds, rejected)
        )
        nothing = torch.zeros((0, n, program.inputs), device=self.device)
        self.play(slice(0, n), most, nothing)  # what they play next

    def _blank(self, program: Program, streams: int) -> Tensor:
        """Columns of new streams."""
        state = zeros(
            (len(program.columns), -(-streams // _PAD) * _PAD), torch_module().float32, self.device
        )
        for name, value in program.begin.items():
            state[program.columns.index(name)] = value
        return state


def lengthened(old: Tensor, length: int) -> Tensor:
    """A copy with zeros at the end, where there is memory for it."""
    longer = zeros((length, *old.shape[1:]), old.dtype, old.device)
    longer[: len(old)] = old
    return longer
