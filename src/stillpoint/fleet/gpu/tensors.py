"""What users hand to device fleets, as tensors on the device; ValueError for what cannot be one."""

from typing import Any

import numpy as np

from stillpoint.core.allocation import claim
from stillpoint.core.extras import require

Tensor = Any  # torch is optional: it is imported where a fleet is built


def torch_module() -> Any:
    """Torch, or how to get it."""
    return require("torch", "DeviceFleet", "gpu")


def on_device(device: Any) -> Any:
    """The device asked for; None: the GPU where there is one."""
    torch = torch_module()
    remedy = "leave it out, or give cpu, cuda or cuda:1"
    try:
        found = torch.device(
            device if device is not None else "cuda" if torch.cuda.is_available() else "cpu"
        )
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device must be one that torch knows: got {device!r} ({str(error).splitlines()[0]});"
            f" {remedy}"
        ) from None
    if found.type not in ("cpu", "cuda") or (
        found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count()
    ):
        raise ValueError(
            f"device must be there: got {device!r}, with {torch.cuda.device_count()} GPUs; {remedy}"
        )
    return found


def zeros(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Zeros, where there is memory for them."""
    claim(shape, dtype.itemsize)
    try:
        return torch_module().zeros(shape, dtype=dtype, device=device)
    except RuntimeError as error:  # torch's word for no memory, on any device
        reason = str(error).splitlines()[0]
        remedy = "use fewer, or share them out to several devices"
        raise ValueError(
            f"streams must fit in the device's memory: got {shape} numbers ({reason}); {remedy}"
        ) from None


def numbers(name: str, given: Any, device: Any) -> Tensor:
    """Real numbers as float32 or float64."""
    torch = torch_module()
    tensor = _tensor(name, given, device)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise ValueError(f"{name} must be real numbers: got {tensor.dtype}; pass floats")
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.double()


def shaped(
    name: str, given: Any, shape: tuple[int, ...], device: Any, *, flat: bool = False
) -> Tensor:
    """`numbers` of this shape; flat: its last axis, of one entry, may be left out."""
    tensor = numbers(name, given, device)
    if tuple(tensor.shape) != shape and not (
        flat and shape[-1] == 1 and tuple(tensor.shape) == shape[:-1]
    ):
        raise ValueError(
            f"{name} must have shape {shape}: got {tuple(tensor.shape)}; pass one row a stream"
        )
    return tensor.contiguous()


def stream_numbers(given: Any, streams: int, device: Any) -> Tensor:
    """Numbers of streams, each once."""
    torch = torch_module()
    at = _tensor("which", given, device)
    whole = not (at.is_floating_point() or at.is_complex() or at.dtype == torch.bool)
    if at.ndim != 1 or not (whole or at.numel() == 0):
        raise ValueError(
            f"which must be a vector of stream numbers: got {at.dtype} {tuple(at.shape)}; pass"
            " whole numbers"
        )
    at = at.to(torch.int64).contiguous()
    if at.numel():
        low, high = torch.stack([at.min(), at.max()]).tolist()
        if low < 0 or high >= streams:
            raise ValueError(
                f"which must be within 0 to {streams - 1}: got {low if low < 0 else high}; add"
                " streams first"
            )
        last, rows = zeros(streams, torch.int64, device), torch.arange(at.numel(), device=device)
        last[at] = rows
        if not bool((last[at] == rows).all()):
            raise ValueError(
                "which must name each stream once: got one twice; pass its rounds one after the"
                " other"
            )
    return at


def _tensor(name: str, given: Any, device: Any) -> Tensor:
    torch = torch_module()
    try:
        if not isinstance(given, torch.Tensor):
            # torch takes no negative strides, and no columns of data frames
            given = np.ascontiguousarray(given)
        return torch.as_tensor(given, device=device).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name} must be numbers: got {given!r} ({error}); pass a tensor or an array"
        ) from None
