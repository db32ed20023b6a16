"""Names of experts that expect a pace of drift, in plain words."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPEEDS = ("very slowly", "slowly", "steadily", "fast", "in jumps")
# the step from row to row that each word stands for, in per cent of the noise, or in log-odds
_STEPS = {"%": (0.3, 3.0, 30.0, 300.0), "": (0.003, 0.03, 0.3, 3.0)}
_WHAT = {"all": "level and effects drift", "level": "level drifts", "slopes": "effects drift"}
_PART = re.compile(r"(all|level|slopes) ±([\d.]+(?:e[+-]?\d+)?)(%?)")


def worded(labels: Sequence[str]) -> list[str]:
    """The labels in plain words where they name a pace, else as they are; no two alike."""
    found = [_worded(label) for label in labels]
    return [
        words if found.count(words) == 1 else str(label)
        for words, label in zip(found, labels, strict=True)
    ]


def _worded(label: str) -> str:
    if label == "no drift":
        return "nothing drifts"
    parts = _PART.findall(label)
    if not parts or not label.endswith(("of noise", "log-odds")):
        return label
    told = [f"{_WHAT[what]} {_speed(float(step), sign)}" for what, step, sign in parts]
    return ", ".join(told)


def _speed(step: float, sign: str) -> str:
    return _SPEEDS[sum(step > limit for limit in _STEPS[sign])]
