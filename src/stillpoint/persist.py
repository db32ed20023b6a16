"""Save and load learners: one versioned file of raw arrays and JSON, written atomically; loading executes no code."""

import io
import json
import os
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stillpoint import baselines, domains, kernels, losses, potentials
from stillpoint.estimators.intervals import IntervalTracker, QuantileTracker
from stillpoint.filters import (
    ExpConcave,
    Forecaster,
    KernelVAW,
    StronglyConvex,
    TrackingForecaster,
    TrackingProbabilities,
    TrackingVAW,
    VariationForecaster,
)
from stillpoint.fleet import Fleet
from stillpoint.learners import Directional, GradientDescent, KernelFTRL, MultiScale, Tracker

FORMAT = 1


class Savable(Protocol):
    """What can be saved: its constructor's arguments and its state."""

    def __init__(self, **config: Any) -> None: ...

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build it anew."""

    def arrays(self) -> dict[str, Any]:
        """Its state."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


_BASELINES = ("OGD", "Ader", "KT", "COCOB", "COCOBBackprop", "FreeGrad", "SparseHaar", "DiscountedFTRL")
_LEARNERS: dict[str, type[Savable]] = {
    "Directional": Directional,
    "ExpConcave": ExpConcave,
    "Fleet": Fleet,
    "Forecaster": Forecaster,
    "IntervalTracker": IntervalTracker,
    "KernelFTRL": KernelFTRL,
    "KernelVAW": KernelVAW,
    "MultiScale": MultiScale,
    "QuantileTracker": QuantileTracker,
    "StronglyConvex": StronglyConvex,
    "Tracker": Tracker,
    "TrackingForecaster": TrackingForecaster,
    "TrackingProbabilities": TrackingProbabilities,
    "TrackingVAW": TrackingVAW,
    "VariationForecaster": VariationForecaster,
    **{f"baselines.{name}": getattr(baselines, name) for name in _BASELINES},
}
_PARTS: dict[str, type] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
    for module in (kernels, potentials, domains, losses)
    for name in module.__all__
    if isinstance(getattr(module, name), type)
} | {"learners.GradientDescent": GradientDescent}
_NAMES = {part: name for name, part in _PARTS.items()}


def save(learner: Savable, path: str | os.PathLike[str]) -> None:
    """Write `learner` to `path`, replacing what is there only once the new file is whole and on disk."""
    names = [name for name, kind in _LEARNERS.items() if kind is type(learner)]
    if not names:
        given = type(learner).__name__
        raise ValueError(f"learner must be one of {sorted(_LEARNERS)}: got {given}; save its configuration yourself")
    state = learner.arrays()
    header = {
        "format": FORMAT,
        "learner": names[0],
        "config": {key: _encode(value) for key, value in learner.config.items()},
        "scalars": {key: value for key, value in state.items() if not isinstance(value, np.ndarray)},
    }
    arrays = {f"array.{key}": value for key, value in state.items() if isinstance(value, np.ndarray)}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez(file, header=text, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read a learner that `save` wrote; it goes on exactly where the saved one stood."""
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes().decode())
            arrays = {key[6:]: file[key] for key in file.files if key.startswith("array.")}
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, TypeError, AttributeError) as error:
        raise ValueError(f"path must be a file that sp.save wrote: got {path} ({error}); save the learner again") from None
    if header.get("format") != FORMAT:
        raise ValueError(f"path holds format {header.get('format')}, this version reads {FORMAT}; upgrade stillpoint")
    try:
        learner = _LEARNERS[header["learner"]](**{key: _decode(value) for key, value in header["config"].items()})
        learner.restore({**header["scalars"], **arrays})
    except KeyError as error:
        raise ValueError(
            f"path must be a file that sp.save wrote: {path} has an unknown or no {error}; upgrade stillpoint"
        ) from None
    return learner


def _encode(value: Any) -> Any:
    """Numbers, strings, tuples, and parts of the library (frozen dataclasses) as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type) and type(value) in _NAMES:
        given = {field.name: _encode(getattr(value, field.name)) for field in fields(value) if not field.name.startswith("_")}
        return {"part": _NAMES[type(value)], "fields": given}
    raise ValueError(f"the learner cannot be saved: got {value!r}, which is not a built-in part; keep it in your own code")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        return _PARTS[value["part"]](**{name: _decode(item) for name, item in value["fields"].items()})
    return value
