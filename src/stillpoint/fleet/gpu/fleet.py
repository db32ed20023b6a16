"""DeviceFleet: numbered streams, one learner each, with their states on a GPU."""

from typing import Any

import numpy as np

from stillpoint.core.validation import count, stored
from stillpoint.fleet.gpu.feedback import code
from stillpoint.fleet.gpu.programs import PROGRAMS
from stillpoint.fleet.gpu.series.fleet import Forecasters
from stillpoint.fleet.gpu.streams import Streams, lengthened
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
from stillpoint.series import Forecaster

_KINDS: tuple[type[Any], ...] = (*PROGRAMS, Forecaster)
_NAMES = {kind.__name__: kind for kind in _KINDS}
_MOST_DIM = 16


class DeviceFleet:
    """One learner a stream, of one class and configuration, on a device: tensors in, tensors out.

    On a GPU a round of all streams is one launch of a fused Triton kernel; elsewhere the same
    arithmetic runs through torch operations, far slower. States are float32, sums over all rounds
    in pairs of them: plays follow the float64 learners within about 1e-5 of their scale for nearly
    all streams, until rounding decides a comparison; those of Tracker for about a thousand rounds,
    and then its losses (docs/bench/gpu.md). A stream whose feedback is NaN, above 1e30 or above a
    given lipschitz skips that round, counted in `rejected`; to a forecaster it is missing.

    Parameters
    ----------
    learner : class or str
        Tracker, MultiScale, IntervalTracker, QuantileTracker or Forecaster.
    streams : int
        How many streams; they go by their numbers 0, 1, ….
    device : torch.device or str, optional
        Where states live; None takes the GPU where there is one, as does loading from a file.
    **config
        The learner's arguments: one coverage or level, dim up to 16, no domain but a ball around 0
        for Tracker; Forecaster with pool="small", given seasons or None, and no features.
    """

    _class_names = ("learner",)  # of the configuration, which files have under names of their own

    def __init__(
        self, learner: type[Any] | str, streams: int, *, device: Any = None, **config: Any
    ) -> None:
        torch = torch_module()
        kind: Any = _NAMES.get(learner) if isinstance(learner, str) else learner
        if kind not in _KINDS:
            raise ValueError(
                f"learner must be one of {sorted(_NAMES)}: got {learner!r}; pass one of them, as a"
                " class or by name"
            )
        self._kind, streams, self.device = kind, count("streams", streams), on_device(device)
        built = kind(**config)
        self._config = dict(built.config)
        if self._config.get("dim", 1) > _MOST_DIM:
            raise ValueError(
                f"dim must be at most {_MOST_DIM} on a device: got {built.dim}; use a Fleet on"
                " the CPU"
            )
        self._series = Forecasters(built, streams, self.device) if kind is Forecaster else None
        self._streams: Any = (
            Streams(PROGRAMS[kind](built).for_rounds(1), streams, self.device)
            if self._series is None
            else self._series.streams
        )
        # forecasts of open rounds, NaN where none is open; after a round of all streams they are
        # stale, and not `_told`
        self._forecasts = (
            zeros(streams, torch.float32, self.device) if kind is IntervalTracker else None
        )
        self._told = False

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this fleet anew, on the GPU where there is one."""
        return {"learner": self._kind.__name__, "streams": self.streams, **self._config}

    @property
    def _not_finite(self) -> frozenset[str]:
        # NaN where no round is open, or a value is missing; radii may be infinite
        return frozenset({"forecasts"} if self._series is None else {"state", "nests"})

    @property
    def streams(self) -> int:
        """How many streams."""
        return int(self._streams.count)

    def __len__(self) -> int:
        return self.streams

    @property
    def bytes_per_stream(self) -> int:
        """State of one stream now; experts and levels that join later add to it."""
        return int(self._streams.width)

    @property
    def rounds(self) -> Tensor:
        """Rounds of each stream so far; of a forecaster since its first value."""
        return self._streams.rounds.clone()

    @property
    def rejected(self) -> Tensor:
        """Rounds of each stream so far whose feedback could not be used."""
        return self._streams.rejected.clone()

    def predict(
        self, forecasts: Any = None, *, which: Any = None, horizon: int | None = None
    ) -> Any:
        """Return plays (n, dim), quantiles or forecasts (n,), or the ends (lo, hi) of intervals.

        `forecasts` (n,) are what IntervalTracker's intervals are around, `which` numbers of streams
        (None for all); with `horizon` forecasters return (n, horizon).
        """
        at = self._at(which)
        if self._series is not None:
            self._no_forecasts(forecasts)
            return self._series.predict(at, horizon)
        if horizon is not None:
            raise ValueError(
                f"horizon must be left out for {self._kind.__name__}: got {horizon!r}; it looks"
                " one round ahead"
            )
        plays = (
            self._streams.plays[at].clone() if isinstance(at, slice) else self._streams.plays[at]
        )
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

    def interval(self, *, which: Any = None, horizon: int | None = None) -> tuple[Tensor, Tensor]:
        """Return the ends (lo, hi) of forecasters' intervals, (n,), or (n, horizon)."""
        return self._forecasters().interval(self._at(which), horizon)

    def update(self, feedback: Any, *, which: Any = None) -> None:
        """Close rounds with gradients (n, dim) or targets (n,), of all streams or of `which`."""
        streams, at = self._streams, self._at(which)
        n = self.streams if isinstance(at, slice) else at.numel()
        if self._series is not None:
            self._series.update(at, feedback, n)
            return
        inputs = streams.program.inputs
        if self._forecasts is None:
            fed = shaped("feedback", feedback, (n, inputs), self.device, flat=True)
        else:
            if not self._told:
                raise ValueError(
                    "feedback must belong to open rounds: got some and none is open; call"
                    " predict(forecasts) first"
                )
            fed = shaped("feedback", feedback, (n,), self.device) - self._forecasts[at]
        fed = fed.to(torch_module().float32).reshape(1, n, inputs)
        if n:
            rounds = streams.most if isinstance(at, slice) else int(streams.rounds[at].max())
            streams.play(at, max(streams.most, rounds + 1), fed)
        if self._forecasts is not None:
            if isinstance(at, slice):
                self._told = False
            else:
                self._forecasts[at] = np.nan

    def track(
        self,
        targets: Any,
        forecasts: Any = None,
        *,
        loss: Loss | None = None,
        intervals: bool = False,
    ) -> Any:
        """Play many rounds of all streams in one launch; return what `predict` would before each.

        Targets (rounds, n), or (rounds, n, dim), are turned into gradients by `loss` for learners
        of these; without it they are gradients already. NaN is a missing target. `forecasts`
        (rounds, n) are for IntervalTracker. With `intervals` forecasters return their ends, too.
        """
        torch, streams = torch_module(), self._streams
        if loss is not None and "dim" not in self._config:
            raise ValueError(
                f"loss must be left out for {self._kind.__name__}: got {loss!r}; it has its own"
            )
        if intervals:
            self._forecasters()
        if self._series is not None:
            self._no_forecasts(forecasts)
            return self._series.track(targets, intervals)
        given = numbers("targets", targets, self.device)
        if given.ndim < 2:
            raise ValueError(
                f"targets must have shape (rounds, {self.streams}): got {tuple(given.shape)}; pass"
                " one row a round"
            )
        shape = given.shape[0], self.streams, streams.program.inputs
        if self._forecasts is None:
            self._no_forecasts(forecasts)
            fed = shaped("targets", given, shape, self.device, flat=True)
        else:
            if forecasts is None:
                raise ValueError("forecasts must be given: got None; pass one forecast a target")
            centres = shaped("forecasts", forecasts, shape[:2], self.device)
            fed = shaped("targets", given, shape[:2], self.device) - centres
        out = torch.empty(
            (*shape[:2], streams.program.outputs), dtype=torch.float32, device=self.device
        )
        fed = fed.to(torch.float32).reshape(shape)
        own = code(loss, streams.program.inputs)
        streams.play(self._at(None), streams.most + shape[0], fed, loss=own, out=out)
        if self._forecasts is not None:
            self._told = False
            return centres - out[..., 0], centres + out[..., 0]
        return out if "dim" in self._config else out[..., 0]

    def add(self, streams: int) -> range:
        """Add streams; returns their numbers."""
        before, more = self.streams, count("streams", streams)
        after = before + more
        forecasts = None if self._forecasts is None else lengthened(self._forecasts, after)
        self._streams.add(more)
        if forecasts is not None:
            forecasts[before:] = np.nan
            self._forecasts = forecasts
        return range(before, after)

    def retire(self, which: Any) -> None:
        """Forget these streams: their numbers begin anew."""
        if which is None:
            raise ValueError("which must name the streams to forget: got None; pass their numbers")
        at = self._at(which)
        self._streams.forget(at)
        if self._forecasts is not None:
            self._forecasts[at] = np.nan

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        state = {**self._streams.arrays(), "told": self._told}
        if self._forecasts is not None:
            state["forecasts"] = self._forecasts.cpu().numpy()
        return state

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state that an older version saved as one of this version."""
        return state if self._series is not None else dict(self._streams.migrated(state))

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`, in a fleet built from the same `config`."""
        forecasts = None if self._forecasts is None else self._stored_forecasts(state)
        told = bool(state["told"])
        self._streams.restore(state)
        self._forecasts, self._told = forecasts, told

    def _stored_forecasts(self, state: dict[str, Any]) -> Tensor:
        """Forecasts of open rounds, in the precision they were given in."""
        given = state["forecasts"]
        double = isinstance(given, np.ndarray) and given.dtype == np.float64
        dtype = np.float64 if double else np.float32
        own = stored(state, "forecasts", self.streams, dtype=dtype)
        return torch_module().as_tensor(own).to(self.device)

    def _forecasters(self) -> Forecasters:
        if self._series is None:
            raise ValueError(
                f"interval must be asked of forecasters: got {self._kind.__name__}; call predict"
            )
        return self._series

    def _no_forecasts(self, forecasts: Any) -> None:
        if forecasts is not None:
            raise ValueError(
                f"forecasts must be left out for {self._kind.__name__}: got some; it makes its own"
            )

    def _at(self, which: Any) -> Any:
        """All streams, or the numbers of some, each once."""
        if which is None:
            return slice(0, self.streams)
        return stream_numbers(which, self.streams, self.device)
