"""DeviceFleet: numbered streams, one learner each, with their states on a GPU."""

from typing import Any

import numpy as np

from stillpoint._validate import count, counted, stored
from stillpoint.estimators.intervals import IntervalTracker
from stillpoint.fleet.gpu import kernels
from stillpoint.fleet.gpu.feedback import supports
from stillpoint.fleet.gpu.plans import PLANS, Plan
from stillpoint.losses import Loss
from stillpoint.losses._hot import LINEAR

Tensor = Any  # torch is optional: it is imported where a fleet is built
_NAMES = {kind.__name__: kind for kind in PLANS}
_PAD = 128  # streams; rows that start at multiples of it are read in the widest loads
_MOST_DIM = 16


class DeviceFleet:
    """One learner a stream, of one class and configuration, on a device: tensors in, tensors out.

    learner: Tracker, MultiScale, IntervalTracker or QuantileTracker, as a class or by name; config: its arguments (one coverage
    or level, dim up to 16, no domain but a ball around 0 for Tracker). streams: how many; they go by their numbers 0, 1, ….
    device: where states live, as torch names it; None takes the GPU where there is one. On a GPU a round of all streams is one
    launch of a fused Triton kernel; elsewhere the same arithmetic runs through torch operations, far slower.

    States are float32, sums over all rounds in pairs of them: plays follow the float64 learners within about 1e-5 of their scale
    as long as both are fed the same. A stream whose feedback is NaN, above 1e30 or above a lipschitz that was told skips that
    round, counted in `rejected`.
    """

    def __init__(self, learner: type[Any] | str, streams: int, *, device: Any = None, **config: Any) -> None:
        torch = _torch()
        kind = _NAMES.get(learner) if isinstance(learner, str) else learner
        if kind not in PLANS:
            raise ValueError(f"learner must be one of {sorted(_NAMES)}: got {learner!r}; pass the class, not an instance")
        self._kind, self.streams = kind, count("streams", streams)
        built = kind(**config)
        if config.get("dim", 1) > _MOST_DIM:
            raise ValueError(f"dim must be at most {_MOST_DIM} on a device: got {built.dim}; use a Fleet on the CPU")
        self._given, self._config = device, dict(built.config)
        self.device = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
        self._run = kernels.with_triton if self.device.type == "cuda" else kernels.with_torch
        self._plan: Plan = PLANS[kind](built).for_rounds(1)
        self._most = 0  # rounds of the stream that has had the most, or more
        self._state = self._blank(self.streams)
        self._rounds, self.rejected = self._zeros(self.streams, torch.int32), self._zeros(self.streams, torch.int32)
        self._plays = self._zeros((self.streams, self._plan.outputs), torch.float32)
        self._forecasts = self._zeros(self.streams, torch.float32) if kind is IntervalTracker else None

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this fleet anew."""
        return {"learner": self._kind.__name__, "streams": self.streams, "device": self._given, **self._config}

    def __len__(self) -> int:
        return self.streams

    @property
    def bytes_per_stream(self) -> int:
        """State of one stream now; experts and levels that join later add to it."""
        return 4 * len(self._plan.columns) + 4

    @property
    def rounds(self) -> Tensor:
        """Rounds of each stream so far."""
        return self._rounds.clone()

    def predict(self, forecasts: Any = None, *, which: Any = None) -> Any:
        """Plays (n, dim), quantiles (n,), or for IntervalTracker ends (lo, hi) around the forecasts; of all streams or some."""
        at = self._at(which)
        plays = self._plays if isinstance(at, slice) else self._plays[at]
        if self._forecasts is None:
            if forecasts is not None:
                raise ValueError("forecasts must be left out for this learner: got some; it makes its own")
            return plays[:, 0] if self._kind.__name__ == "QuantileTracker" else plays
        if forecasts is None:
            raise ValueError("forecasts must be given: got None; pass one forecast a stream")
        centres = self._tensor("forecasts", forecasts, (plays.shape[0],))
        if isinstance(at, slice):
            self._forecasts = centres.clone()
        else:
            self._forecasts = self._forecasts.to(_torch().promote_types(self._forecasts.dtype, centres.dtype), copy=True)
            self._forecasts[at] = centres
        return centres - plays[:, 0], centres + plays[:, 0]

    def update(self, feedback: Any, *, which: Any = None) -> None:
        """Close the round of all streams, or of some, with a gradient (n, dim) or a target (n,) each, and open the next."""
        torch = _torch()
        at = self._at(which)
        n = self.streams if isinstance(at, slice) else at.numel()
        if self._forecasts is not None:
            fed = self._tensor("feedback", feedback, (n,)) - self._forecasts[at]
        else:
            fed = self._tensor("feedback", feedback, (n, self._plan.inputs))
        fed = fed.to(torch.float32).reshape(1, n, -1)
        self._rounds_of(at, fed, None, None)

    def replay(self, targets: Any, forecasts: Any = None, *, loss: Loss | None = None) -> Any:
        """Many rounds of all streams in one launch: what predict would have said before each (rounds, n[, dim]).

        targets: (rounds, n), or (rounds, n, dim); for learners of gradients turned into them under `loss`, left out where they
        are gradients already. forecasts: (rounds, n), for IntervalTracker. A NaN is a missing target.
        """
        torch = _torch()
        shape = self._replay_shape(targets)
        if self._forecasts is not None:
            if forecasts is None:
                raise ValueError("forecasts must be given: got None; pass one forecast a target")
            centres = self._tensor("forecasts", forecasts, shape[:2])
            fed = self._tensor("targets", targets, shape[:2]) - centres
        else:
            fed = self._tensor("targets", targets, shape)
        fed = fed.to(torch.float32).reshape(shape)
        out = torch.empty((*shape[:2], self._plan.outputs), dtype=torch.float32, device=self.device)
        self._rounds_of(self._at(None), fed, self._code(loss), out)
        if self._forecasts is not None:
            return centres - out[..., 0], centres + out[..., 0]
        return out if "dim" in self._config else out[..., 0]

    def add(self, streams: int) -> range:
        """New streams; returns their numbers."""
        torch = _torch()
        before, self.streams = self.streams, self.streams + count("streams", streams)
        old = self._state
        self._state = self._blank(self.streams)
        self._state[:, :before] = old[:, :before]
        more = self.streams - before
        for name in ("_rounds", "rejected", "_plays", "_forecasts"):
            value = getattr(self, name)
            if value is not None:
                setattr(
                    self, name, torch.cat([value, torch.zeros((more, *value.shape[1:]), dtype=value.dtype, device=self.device)])
                )
        return range(before, self.streams)

    def retire(self, which: Any) -> None:
        """Forget these streams: their numbers begin anew."""
        at = self._at(which)
        self._state[:, at] = self._blank(1)[:, :1]
        self._plays = self._plays.clone()
        for value in (self._rounds, self.rejected, self._plays):
            value[at] = 0

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        state = {"state": self._state[:, : self.streams], "rounds": self._rounds, "rejected": self.rejected}
        if self._forecasts is not None:
            state["forecasts"] = self._forecasts
        return {"columns": list(self._plan.columns), "most": self._most, **{k: v.cpu().numpy() for k, v in state.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`, in a fleet built from the same `config`."""
        torch = _torch()
        n, most = self.streams, state["most"]
        counted("most", most, 2**31 - 2)
        plan = self._plan.for_rounds(most + 1)
        if tuple(state["columns"]) != plan.columns:
            raise ValueError(f"state 'columns' must be those of {most} rounds: got {state['columns']}; save the fleet again")
        given = {"rounds": stored(state, "rounds", n, dtype=np.int32), "rejected": stored(state, "rejected", n, dtype=np.int32)}
        if given["rounds"].min() < 0 or given["rounds"].max() > most:
            raise ValueError(f"state 'rounds' must be from 0 to {most}: got {given['rounds'].max()}; save the fleet again")
        columns = stored(state, "state", len(plan.columns), n, dtype=np.float32)
        if self._forecasts is not None:
            dtype = state["forecasts"].dtype if isinstance(state["forecasts"], np.ndarray) else None
            given["forecasts"] = stored(state, "forecasts", n, dtype=np.float64 if dtype == np.float64 else np.float32)
        self._plan, self._most = plan, most
        self._state = self._blank(n)
        self._state[:, :n] = torch.as_tensor(columns)
        for name, value in given.items():
            setattr(self, "rejected" if name == "rejected" else f"_{name}", torch.as_tensor(value).to(self.device))
        self._rounds_of(self._at(None), torch.zeros((0, n, plan.inputs), device=self.device), None, None)

    def _rounds_of(self, at: Any, fed: Tensor, loss: kernels.Loss | None, out: Tensor | None) -> None:
        torch = _torch()
        self._widen(self._most + fed.shape[0])
        # plays that were handed out stay as they are: the kernel writes into new ones
        self._plays = torch.empty_like(self._plays) if isinstance(at, slice) else self._plays.clone()
        self._run(self._plan, loss, self._state, self._rounds, self._plays, self.rejected, at, fed, out)

    def _widen(self, rounds: int) -> None:
        """Make room for what joins up to the round after these."""
        self._most = rounds
        plan = self._plan.for_rounds(rounds + 1)
        if plan.columns != self._plan.columns:
            old, before = self._state, self._plan.columns
            self._plan = plan
            self._state = self._blank(self.streams)
            places = {name: c for c, name in enumerate(plan.columns)}
            for c, name in enumerate(before):
                self._state[places[name]] = old[c]

    def _blank(self, streams: int) -> Tensor:
        """Columns of new streams."""
        wide = -(-streams // _PAD) * _PAD
        state = self._zeros((len(self._plan.columns), wide), _torch().float32)
        for name, value in self._plan.begin.items():
            state[self._plan.columns.index(name)] = value
        return state

    def _zeros(self, shape: Any, dtype: Any) -> Tensor:
        try:
            return _torch().zeros(shape, dtype=dtype, device=self.device)
        except RuntimeError as error:  # torch's word for no memory, on any device
            reason = str(error).splitlines()[0]
            remedy = "share them out to several devices, or use fewer"
            raise ValueError(f"streams must fit in the device's memory: got {self.streams} ({reason}); {remedy}") from None

    def _tensor(self, name: str, given: Any, shape: tuple[int, ...]) -> Tensor:
        """What was given, on the device, as float32 or float64; in one dimension the last axis may be left out."""
        try:
            tensor = _torch().as_tensor(given, device=self.device)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numbers: got {given!r} ({error}); pass a tensor or an array") from None
        if tensor.is_complex() or tensor.dtype == _torch().bool:
            raise ValueError(f"{name} must be real numbers: got {tensor.dtype}; pass floats")
        if tuple(tensor.shape) not in (shape, shape[:-1] if shape[-1] == 1 and len(shape) > 1 else shape):
            raise ValueError(f"{name} must have shape {shape}: got {tuple(tensor.shape)}; pass one row a stream")
        return (tensor if tensor.dtype in (_torch().float32, _torch().float64) else tensor.double()).contiguous()

    def _replay_shape(self, targets: Any) -> tuple[int, int, int]:
        given = tuple(getattr(targets, "shape", ()))
        if len(given) < 2:
            raise ValueError(f"targets must have shape (rounds, {self.streams}): got {given}; pass one row a round")
        return int(given[0]), self.streams, self._plan.inputs

    def _code(self, loss: Loss | None) -> kernels.Loss | None:
        if loss is None:
            return None
        if "dim" not in self._config:
            raise ValueError(f"loss must be left out for {self._kind.__name__}: got {loss!r}; it has its own")
        code, parameter = loss.code, float(loss.parameter)
        if not supports(code, self._plan.inputs):
            raise ValueError(f"loss must have gradients at targets of {self._plan.inputs} numbers: got {loss!r}; pass gradients")
        return None if code == LINEAR else (code, parameter)

    def _at(self, which: Any) -> Any:
        """All streams, or the numbers of some, each once."""
        if which is None:
            return slice(0, self.streams)
        torch = _torch()
        at = torch.as_tensor(which, device=self.device)
        if at.ndim != 1 or at.is_floating_point() or at.is_complex() or at.dtype == torch.bool:
            raise ValueError(f"which must be a vector of stream numbers: got {at.dtype} {tuple(at.shape)}; pass whole numbers")
        at = at.to(torch.int64)
        if at.numel():
            low, high = int(at.min()), int(at.max())
            if low < 0 or high >= self.streams:
                raise ValueError(
                    f"which must be within 0 to {self.streams - 1}: got {low if low < 0 else high}; add streams first"
                )
            if torch.unique(at).numel() < at.numel():
                raise ValueError("which must name each stream once: got one twice; pass its rounds one after the other")
        return at


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ValueError("device fleets need torch: it is not installed; pip install 'stillpoint[gpu]'") from None
    return torch
