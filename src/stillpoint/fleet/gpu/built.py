"""Triton kernels from their text."""

import hashlib
import linecache
from functools import cache
from typing import Any


@cache
def built(text: str, name: str, title: str = "", general: tuple[str, ...] = ()) -> Any:
    """A kernel from its source, one for all fleets that come to the same.

    Parameters
    ----------
    text, name
        The source, and its function. It is text of this library, of numbers and its own names only.
    title
        What the kernel is called where Triton names its source. Default: as the function.
    general
        Arguments for whose values no kernels of their own are made.
    """
    import triton
    import triton.language as tl

    place = f"<stillpoint {title or name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    # where Triton looks for the source
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    space: dict[str, Any] = {"tl": tl, "triton": triton}
    exec(compile(text, place, "exec"), space)
    return triton.jit(space[name], do_not_specialize=list(general))
