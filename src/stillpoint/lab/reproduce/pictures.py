"""A figure of the reproduction: its numbers, its drawing and its caption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

Data = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """A figure of the reproduction.

    Parameters
    ----------
    measure
        Returns the numbers; called with whether the run is a quick one.
    draw
        Draws them.
    says, found
        The caption: what the figure shows, and what was found.
    """

    name: str
    title: str
    says: str
    measure: Callable[[bool], Data]
    draw: Callable[[Data], Figure]
    found: Callable[[Data], str] = lambda data: ""
