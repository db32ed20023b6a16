"""DeviceFleet: numbered streams, one learner each, with their states on a GPU."""

from typing import Any

import numpy as np

from stillpoint.core.validation import count, counted, stored
from stillpoint.fleet.gpu import triton
from stillpoint.fleet.gpu.feedback import supports
from stillpoint.fleet.gpu.programs import PROGRAMS, Program
from stillpoint.fleet.gpu.tensors import (
    Tensor,
    numbers,
    on_device,
    shaped,
    stream_numbers,
    torch_module,
    zeros,
)
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.losses import Loss
from stillpoint.losses._pointwise import LINEAR

_NAMES = {kind.__name__: kind for kind in PROGRAMS}
_PAD = 128  # streams; rows that start at multiples of it are read in the widest loads
_MOST_DIM = 16


class DeviceFleet:
    """One learner a stream, of one class and configuration, on a device: tensors in, tensors out.

    learner: Tracker, MultiScale, IntervalTracker or QuantileTracker, as a class or by name; config:
    its arguments (one coverage or level, dim up to 16, no domain but a ball around 0 for Tracker).
    streams: how many; they go by their numbers 0, 1, ….
    device: where states live, as torch names it; None takes the GPU where there is one. On a GPU a
    round of all streams is one launch of a fused Triton kernel; elsewhere the same arithmetic runs
    through torch operations, far slower.

    States are float32, sums over all rounds in pairs of them: plays follow the float64 learners
    within about 1e-5 of their scale for nearly all streams, until rounding decides a comparison
    (docs/bench/gpu.md). A stream whose feedback is NaN, above 1e30 or above a lipschitz that was
    told skips that round, counted in `rejected`. Loaded from a file, a fleet is on the GPU where
    there is one.
    """

    _class_names = ("learner",)  # of the configuration, which files have under names of their own

    def __init__(
        self, learner: type[Any] | str, streams: int, *, device: Any = None, **config: Any
    ) -> None:
        torch = torch_module()
        kind = _NAMES.get(learner) if isinstance(learner, str) else learner
        if kind not in PROGRAMS:
            raise ValueError(
                f"learner must be one of {sorted(_NAMES)}: got {learner!r}; pass one of them, as a"
                " class or by name"
            )
        self._kind, self.streams, self.device = kind, count("streams", streams), on_device(device)
        built = kind(**config)
        self._config = dict(built.config)
        if self._config.get("dim", 1) > _MOST_DIM:
            raise ValueError(
                f"dim must be at most {_MOST_DIM} on a device: got {built.dim}; use a Fleet on"
                " the CPU"
            )
        self._run = triton.with_triton if self.device.type == "cuda" else triton.with_torch
        self._program: Program = PROGRAMS[kind](built).for_rounds(1)
        self._most = 0  # rounds of the stream that has had the most
        self._state = self._blank(self._program, self.streams)
        self._rounds, self._rejected = (
            zeros(self.streams, torch.int32, self.device) for _ in range(2)
        )
        self._plays = zeros(
            (self.streams, self._program.outputs), torch.float32, self.device
        ).fill_(self._program.first)
        # forecasts of open rounds, NaN where none is open; after a round of all streams they are
        # stale, and not `_told`
        self._forecasts = (
            zeros(self.streams, torch.float32, self.device) if kind is IntervalTracker else None
        )
        self._told = False

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this fleet anew, on the GPU where there is one."""
        return {"learner": self._kind.__name__, "streams": self.streams, **self._config}

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"forecasts"})  # NaN where no round is open

    def __len__(self) -> int:
        return self.streams

    @property
    def bytes_per_stream(self) -> int:
        """State of one stream now; experts and levels that join later add to it."""
        return 4 * len(self._program.columns) + 4

    @property
    def rounds(self) -> Tensor:
        """Rounds of each stream so far."""
        return self._rounds.clone()

    @property
    def rejected(self) -> Tensor:
        """Rounds of each stream so far whose feedback could not be used."""
        return self._rejected.clone()

    def predict(self, forecasts: Any = None, *, which: Any = None) -> Any:
        """Plays (n, dim), quantiles (n,), or for IntervalTracker ends (lo, hi) around the
        forecasts; of all streams or some.
        """
        at = self._at(which)
        plays = self._plays[at].clone() if isinstance(at, slice) else self._plays[at]
        if self._forecasts is None:
            self._no_forecasts(forecasts)
            return plays[:, 0] if self._kind is QuantileTracker else plays
        if forecasts is None:
            raise ValueError("forecasts must be given: got None; pass one forecast a stream")
        centres = shaped("forecasts", forecasts, (plays.shape[0],), self.device)
        if isinstance(at, slice):
            self._forecasts = centres.clone()
        else:
            torch = torch_module()
            dtype = torch.promote_types(self._forecasts.dtype, centres.dtype)
            stale = torch.full_like(self._forecasts, np.nan)
            self._forecasts = (self._forecasts if self._told else stale).to(dtype, copy=True)
            self._forecasts[at] = centres.to(dtype)
        self._told = True
        return centres - plays[:, 0], centres + plays[:, 0]

    def update(self, feedback: Any, *, which: Any = None) -> None:
        """Close the round of all streams, or of some, with a gradient (n, dim) or a target (n,)
        each, and open the next.
        """
        torch = torch_module()
        at = self._at(which)
        n = self.streams if isinstance(at, slice) else at.numel()
        if self._forecasts is None:
            fed = shaped("feedback", feedback, (n, self._program.inputs), self.device, flat=True)
        else:
            if not self._told:
                raise ValueError(
                    "feedback must belong to open rounds: got some and none is open; call"
                    " predict(forecasts) first"
                )
            fed = shaped("feedback", feedback, (n,), self.device) - self._forecasts[at]
        fed = fed.to(torch.float32).reshape(1, n, self._program.inputs)
        if n:
            rounds = self._most if isinstance(at, slice) else int(self._rounds[at].max())
            self._rounds_of(at, max(self._most, rounds + 1), fed, None, None)
        if self._forecasts is not None:
            if isinstance(at, slice):
                self._told = False
            else:
                self._forecasts[at] = np.nan

    def track(self, targets: Any, forecasts: Any = None, *, loss: Loss | None = None) -> Any:
        """Many rounds of all streams in one launch: what predict would have said before each
        (rounds, n[, dim]).

        targets: (rounds, n), or (rounds, n, dim); for learners of gradients turned into them under
        `loss`, left out where they are gradients already. forecasts: (rounds, n), for
        IntervalTracker. A NaN is a missing target.
        """
        torch, code = torch_module(), self._code(loss)
        given = numbers("targets", targets, self.device)
        if given.ndim < 2:
            raise ValueError(
                f"targets must have shape (rounds, {self.streams}): got {tuple(given.shape)}; pass"
                " one row a round"
            )
        shape = given.shape[0], self.streams, self._program.inputs
        if self._forecasts is None:
            self._no_forecasts(forecasts)
            fed = shaped("targets", given, shape, self.device, flat=True)
        else:
            if forecasts is None:
                raise ValueError("forecasts must be given: got None; pass one forecast a target")
            centres = shaped("forecasts", forecasts, shape[:2], self.device)
            fed = shaped("targets", given, shape[:2], self.device) - centres
        out = torch.empty(
            (*shape[:2], self._program.outputs), dtype=torch.float32, device=self.device
        )
        self._rounds_of(
            self._at(None), self._most + shape[0], fed.to(torch.float32).reshape(shape), code, out
        )
        if self._forecasts is not None:
            self._told = False
            return centres - out[..., 0], centres + out[..., 0]
        return out if "dim" in self._config else out[..., 0]

    def add(self, streams: int) -> range:
        """New streams; returns their numbers."""
        before, after = self.streams, self.streams + count("streams", streams)
        state = self._blank(self._program, after)
        state[:, :before] = self._state[:, :before]
        grown = {}
        for name in ("_rounds", "_rejected", "_plays", "_forecasts"):
            old = getattr(self, name)
            if old is not None:
                grown[name] = zeros((after, *old.shape[1:]), old.dtype, self.device)
                grown[name][:before] = old
        grown["_plays"][before:] = self._program.first
        if self._forecasts is not None:
            grown["_forecasts"][before:] = np.nan
        self.streams, self._state = after, state
        for name, value in grown.items():
            setattr(self, name, value)
        return range(before, after)

    def retire(self, which: Any) -> None:
        """Forget these streams: their numbers begin anew."""
        if which is None:
            raise ValueError("which must name the streams to forget: got None; pass their numbers")
        at = self._at(which)
        self._state[:, at] = self._blank(self._program, 1)[:, :1]
        self._rounds[at] = self._rejected[at] = 0
        self._plays[at] = self._program.first
        if self._forecasts is not None:
            self._forecasts[at] = np.nan

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        state = {
            "state": self._state[:, : self.streams],
            "rounds": self._rounds,
            "rejected": self._rejected,
        }
        if self._forecasts is not None:
            state["forecasts"] = self._forecasts
        plain = {name: value.cpu().numpy() for name, value in state.items()}
        return {
            "columns": list(self._program.columns),
            "most": self._most,
            "told": self._told,
            **plain,
        }

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state that an older version saved as one of this version: without the columns that are
        no longer kept.
        """
        columns = list(state["columns"])
        kept = [i for i, name in enumerate(columns) if name not in self._program.gone]
        if len(kept) == len(columns):
            return state
        values = stored(state, "state", len(columns), self.streams, dtype=np.float32)
        return {**state, "columns": [columns[i] for i in kept], "state": values[kept]}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`, in a fleet built from the same `config`."""
        state = self.migrated(state)
        torch, n, most = torch_module(), self.streams, state["most"]
        counted("most", most, 2**31 - 2)
        program = self._program.for_rounds(most + 1)
        if tuple(state["columns"]) != program.columns:
            raise ValueError(
                f"state 'columns' must be those of {most} rounds: got {state['columns']}; save the"
                " fleet again"
            )
        given = {name: stored(state, name, n, dtype=np.int32) for name in ("rounds", "rejected")}
        if given["rounds"].min() < 0 or given["rounds"].max() > most:
            raise ValueError(
                f"state 'rounds' must be from 0 to {most}: got {given['rounds'].max()}; save the"
                " fleet again"
            )
        columns = stored(state, "state", len(program.columns), n, dtype=np.float32)
        if self._forecasts is not None:
            double = (
                isinstance(state["forecasts"], np.ndarray)
                and state["forecasts"].dtype == np.float64
            )
            given["forecasts"] = stored(
                state, "forecasts", n, dtype=np.float64 if double else np.float32
            )
        self._program, self._most, self._told = program, most, bool(state["told"])
        self._state = self._blank(program, n)
        self._state[:, :n] = torch.as_tensor(columns)
        for name, value in given.items():
            setattr(self, f"_{name}", torch.as_tensor(value).to(self.device))
        self._rounds_of(
            self._at(None),
            most,
            torch.zeros((0, n, program.inputs), device=self.device),
            None,
            None,
        )

    def _rounds_of(
        self, at: Any, most: int, fed: Tensor, loss: triton.Loss | None, out: Tensor | None
    ) -> None:
        """Play rounds, after which no stream has had more than so many."""
        program = self._program.for_rounds(
            most + 1
        )  # the round that is opened at the end is one more
        if program.columns != self._program.columns:
            state = self._blank(program, self.streams)
            places = {name: c for c, name in enumerate(program.columns)}
            for c, name in enumerate(self._program.columns):
                state[places[name]] = self._state[c]
            self._program, self._state = program, state
        self._most = most
        self._run(
            self._program,
            loss,
            self._state,
            self._rounds,
            self._plays,
            self._rejected,
            at,
            fed,
            out,
        )

    def _blank(self, program: Program, streams: int) -> Tensor:
        """Columns of new streams."""
        state = zeros(
            (len(program.columns), -(-streams // _PAD) * _PAD), torch_module().float32, self.device
        )
        for name, value in program.begin.items():
            state[program.columns.index(name)] = value
        return state

    def _no_forecasts(self, forecasts: Any) -> None:
        if forecasts is not None:
            raise ValueError(
                f"forecasts must be left out for {self._kind.__name__}: got some; it makes its own"
            )

    def _code(self, loss: Loss | None) -> triton.Loss | None:
        if loss is None:
            return None
        if "dim" not in self._config:
            raise ValueError(
                f"loss must be left out for {self._kind.__name__}: got {loss!r}; it has its own"
            )
        if not isinstance(loss, Loss):
            raise ValueError(
                f"loss must be one of sp.losses: got {loss!r}; pass an object, such as"
                " sp.losses.Absolute()"
            )
        if not supports(loss.code, self._program.inputs):
            raise ValueError(
                f"loss must have gradients at targets of {self._program.inputs} numbers: got"
                f" {loss!r}; pass gradients"
            )
        return None if loss.code == LINEAR else (loss.code, float(loss.parameter))

    def _at(self, which: Any) -> Any:
        """All streams, or the numbers of some, each once."""
        return (
            slice(0, self.streams)
            if which is None
            else stream_numbers(which, self.streams, self.device)
        )
