"""The answer of a run in one sentence and three numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillpoint.report.data import OURS
from stillpoint.report.facts import Facts
from stillpoint.report.recent import Recent
from stillpoint.report.words import FEW, count, figure, near, number, percent, steps, verdict

_SAME = 0.1  # of the interval's width: a smaller difference is none
_FLAT = 0.25


def sentence(facts: Facts, recent: Recent | None) -> str:
    """What is to come; without a forecast ahead, what was forecast."""
    if recent is not None and recent.steps and facts.given.get("targets") == 0:
        return f"No row has a value of {facts.target}: nothing was learnt, and all forecasts are 0."
    if recent is not None and recent.steps:
        return _coming(facts, recent)
    what = f"{facts.target}"
    if facts.task == "binary":
        labels = facts.given.get("labels") or {}
        what = f"that {what} is “{labels['1']}”" if "1" in labels else f"of {what}"
        what = f"the chance {what}"
    elif facts.task == "quantile":
        what = f"a level that {what} should stay below"
        if facts.coverage:
            what += f" {percent(facts.coverage['target'])} of the time"
    others = facts.given.get("features") or []
    rows = f"{count(facts.rows)} row{'' if facts.rows == 1 else 's'}"
    text = f"This run forecast {what} for {rows}, each before it was seen"
    if others:
        text += f", from {len(others)} other column{'' if len(others) == 1 else 's'}"
    text += "; nothing was tuned."
    if facts.given.get("loss_rows") == 0:
        text += " No forecast could be scored: no target became known in time."
    return text


def _coming(facts: Facts, recent: Recent) -> str:
    """The level of the coming steps beside that of as many before, and where they peak."""
    ahead, known = recent.steps, recent.known
    said = np.array([s.forecast for s in ahead])
    widths = np.array([s.hi - s.lo for s in ahead])
    width = float(np.nanmean(widths)) if np.isfinite(widths).any() else float(np.ptp(said))
    H, unit, scale = len(ahead), facts.ahead.unit, width / 2.0 or None
    if facts.task == "quantile":
        share = percent(facts.coverage["target"]) if facts.coverage else "most"
        level = near(said.mean(), scale)
        text = f"Over the next {steps(H, unit)} {facts.target} should stay below {level}"
        text += f"{' on average' if H > 1 else ''}, {share} of the time"
        before, what = known[:0], ""
    elif H == 1:
        text = f"The next value of {facts.target} should be about {near(said[0], scale)}"
        before, what = known[-1:], "the last one"
    else:
        span = steps(H, unit)
        text = f"Over the next {span} {facts.target} should average {near(said.mean(), scale)}"
        before, what = known[-H:], f"over the last {count(H)}"
    if before.size == H:
        text += _compared(float(said.mean()), float(before.mean()), width, what, scale)
    if H > 2 and np.ptp(said) > _FLAT * width:
        low, high = ahead[int(said.argmin())], ahead[int(said.argmax())]
        ends = [f"{near(s.forecast, scale)} ({_at(recent, s.x)})" for s in (low, high)]
        text += f"; lowest {ends[0]}, highest {ends[1]}"
    return text + "."


def _at(recent: Recent, x: float) -> str:
    axis = recent.axis
    if axis.kind == "row":
        return f"row {axis.text(x)}"
    # beside the hour the year, which is that of the rows before, is too much
    return re.sub(r" \d+ (?=\d\d:)", " ", axis.text(x)) if axis.kind == "date" else axis.text(x)


def _compared(ours: float, before: float, width: float, what: str, scale: float | None) -> str:
    if abs(ours - before) <= _SAME * width:
        return f", about {'the same' if what.startswith('the') else 'as much'} as {what}"
    word = "more" if ours > before else "less"
    share = abs(ours / before - 1.0) if before > 0.0 and ours > 0.0 else 2.0
    by = percent(round(share, 2)) if 0.01 <= share < 1.0 else near(abs(ours - before), scale)
    return f", {by} {word} than {what}"


def numbers(facts: Facts, recent: Recent | None) -> list[dict[str, str]]:
    """Up to three figures with what they mean: error, coverage, the next value."""
    found = [*_error(facts), *_coverage(facts)]
    if recent is not None and recent.steps and facts.given.get("targets") != 0:
        found += _next(facts, recent)
    elif facts.coverage.get("mean_width") is not None and facts.task != "quantile":
        share = facts.coverage.get("of_range")
        more = f", {percent(share)} of the target’s range" if share else ""
        text = f"the interval’s average width{more}"
        found.append({"value": figure(facts.coverage["mean_width"]), "text": text})
    if len(found) < 3 and len(facts.compared) > 1:
        found.append(
            {
                "value": _change(facts.compared[1]["saved"]),
                "text": f"than {facts.compared[1]['words']}",
            }
        )
    return found[:3]


def _change(saved: float) -> str:
    if abs(saved) < 0.005:
        return "same error"
    share = "over 99" if 0.995 < saved < 1.0 else f"{abs(round(100.0 * saved))}"
    return f"{share}% {'less' if saved > 0.0 else 'more'} error"


def _error(facts: Facts) -> Iterator[dict[str, str]]:
    rows = facts.ahead.horizons
    ours = next((row["mean"] for row in facts.losses if row["name"] == OURS), None)
    best = facts.compared[0] if facts.compared else None
    rival = (best["words"], best["mean"]) if best else None
    if rows and rows[0]["step"] == 1:
        ours, name = rows[0]["error"], rows[0]["best"]
        rival = (facts.baseline(name), rows[0]["rivals"][name]) if name else None
    if ours is None:
        return
    ahead = f" one {facts.ahead.unit or 'step'} ahead" if facts.ahead.horizon > 1 else ""
    units = facts.error_name.startswith("root") or "absolute" in facts.error_name
    text, beside = f"typical error{ahead}" if units else facts.error_name, ""
    if rival and rival[1] > 0.0:
        text += f"; {verdict(ours, rival[1]).replace(' error', '')} {rival[0]}"
        beside = f"against {figure(rival[1])}"
    yield {"value": figure(ours), "beside": beside, "text": text}


def _coverage(facts: Facts) -> Iterator[dict[str, str]]:
    if facts.coverage:
        where = "below the level" if facts.task == "quantile" else "inside their interval"
        aim = percent(facts.coverage["target"])
        scored, infinite = (number(facts.coverage.get(key)) for key in ("scored", "infinite"))
        if scored is not None and scored - (infinite or 0.0) < FEW:
            yield {"value": "–", "text": f"of values fell {where}: too few rows to say"}
            return
        yield {
            "value": percent(facts.coverage["achieved"]),
            "text": f"of values fell {where}; {aim} was asked for",
        }


def _next(facts: Facts, recent: Recent) -> Iterator[dict[str, str]]:
    step = recent.steps[0]
    ends, aim = np.array([step.lo, step.hi]), facts.coverage.get("target")
    at = recent.axis.text(step.x) if recent.axis.kind != "row" else f"row {count(step.x)}"
    text = f"the {'level for the next' if facts.task == 'quantile' else 'next'} value, {at}"
    scale: Any = None
    if np.isfinite(ends).all():
        scale = float(step.hi - step.lo) / 2.0
        inside = f"{percent(aim)} interval" if aim else "interval"
        text += f"; {inside} {near(step.lo, scale)} to {near(step.hi, scale)}"
    yield {"value": near(step.forecast, scale), "text": text}
