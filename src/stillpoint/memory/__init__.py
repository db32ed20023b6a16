"""Memories: the past gradients, summed (dense for any kernel, streaming for Markov kernels)."""

from stillpoint.kernels import Kernel
from stillpoint.memory.base import Memory
from stillpoint.memory.dense import DenseMemory
from stillpoint.memory.streaming import StreamingMemory

__all__ = ["DenseMemory", "Memory", "StreamingMemory", "make_memory"]


def make_memory(kernel: Kernel, dim: int, memory: str = "auto") -> Memory:
    """Build the memory of a kernel: "auto" streams where the kernel has a state space."""
    if memory not in ("auto", "dense", "streaming"):
        raise ValueError(
            f"memory must be 'auto', 'dense' or 'streaming': got {memory!r}; leave it out to choose"
            " by kernel"
        )
    if memory == "dense" or (memory == "auto" and kernel.state_space() is None):
        return DenseMemory(kernel, dim)
    return StreamingMemory(kernel, dim)
