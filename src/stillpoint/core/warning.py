"""Warnings that point at the line of the caller's code that led to them."""

import sys
import warnings
from types import FrameType


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the innermost line outside this package.

    How far that is depends: a learner may be called, be part of a combination, or be played by
    `sp.play`.
    """
    level = 1
    outer: FrameType | None = sys._getframe(0)
    while outer is not None and outer.f_globals.get("__name__", "").startswith("stillpoint."):
        level, outer = level + 1, outer.f_back
    warnings.warn(message, category, stacklevel=level)
