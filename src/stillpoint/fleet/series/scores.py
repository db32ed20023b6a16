"""Errors of the next round of each key, beside those of the last value and the seasonal naive."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array

FIRST = 10  # values of each key that are not scored
OURS, LAST, NAIVE = "stillpoint", "last value", "seasonal naive"
NAMES = (OURS, LAST, NAIVE)
WORST = 10
_ENOUGH = 10  # rounds scored that a key must have to be among the worst, if any key has so many
# columns of the sums of a key: values so far, rounds scored, hits of intervals, squared errors and
# absolute ones of each forecast
SEEN, SCORED, HITS, SQUARED, ABSOLUTE, COLUMNS = 0, 1, 2, 3, 6, 9


class Before(NamedTuple):
    """What simple forecasts remember of each key: (keys,) and (keys, period)."""

    last: Array
    season: Array


def before(keys: int, period: int) -> Before:
    """Return the memory of keys that have no value yet."""
    return Before(np.full(keys, np.nan), np.full((keys, period), np.nan))


def score(
    rows: NDArray[np.int64],
    Y: Array,
    told: tuple[Array, Array, Array],
    memory: Before,
    sums: Array,
) -> None:
    """Add the errors of rounds Y (n, T) to sums (keys, ·); told: forecast, lo and hi of each.

    rows: the keys. Both memory and sums are moved on. The seasonal naive forecast is the last value
    where that of a season before is missing.
    """
    T, period = Y.shape[1], memory.season.shape[1]
    whole = np.concatenate([memory.last[rows, None], memory.season[rows], Y], axis=1)
    places = np.where(np.isnan(whole), 0, np.arange(whole.shape[1]))
    np.maximum.accumulate(places, axis=1, out=places)
    filled = np.take_along_axis(whole, places, axis=1)
    last = filled[:, period : period + T]
    season = np.where(np.isnan(whole[:, 1 : 1 + T]), last, whole[:, 1 : 1 + T])
    known = ~np.isnan(Y)
    counts = sums[rows, SEEN, None] + np.cumsum(known, axis=1)
    scored = known & (counts > FIRST)
    forecast, lo, hi = told
    sums[rows, SEEN] += known.sum(axis=1)
    sums[rows, SCORED] += scored.sum(axis=1)
    sums[rows, HITS] += (scored & (lo <= Y) & (Y <= hi)).sum(axis=1)
    for place, simple in enumerate((forecast, last, season if period else last)):
        errors = np.where(scored, Y - simple, 0.0)
        sums[rows, SQUARED + place] += (errors * errors).sum(axis=1)
        sums[rows, ABSOLUTE + place] += np.abs(errors).sum(axis=1)
    memory.last[rows] = filled[:, -1]
    memory.season[rows] = whole[:, whole.shape[1] - period :]


def result(keys: list[str], sums: Array, seasonal: bool) -> dict[str, Any]:
    """Return what the keys of a part come to, as plain JSON; `merged` adds parts up."""
    names = NAMES if seasonal else NAMES[:2]
    number = len(names)
    own = np.flatnonzero(sums[:, SCORED] > 0.0)
    some = sums[own]
    root = np.sqrt(some[:, SQUARED : SQUARED + number] / some[:, SCORED, None])
    logs, ratio = [], np.full(own.size, -1.0)
    for place in range(number):
        good = (root[:, place] > 0.0) & (root[:, 1] > 0.0)
        logs.append([int(good.sum()), float(np.log(root[good, place] / root[good, 1]).sum())])
    simple = root[:, 1:].min(axis=1, initial=math.inf)
    np.divide(root[:, 0], simple, out=ratio, where=simple > 0.0)
    wins = np.bincount(root.argmin(axis=1), minlength=number) if own.size else np.zeros(number, int)
    order = np.argsort(-ratio, kind="stable")
    enough = some[order, SCORED] >= min(_ENOUGH, some[:, SCORED].max(initial=0.0))
    order = order[enough & (ratio[order] > 0.0)][:WORST]
    worst = [
        {
            "key": keys[own[i]],
            "scored": int(some[i, SCORED]),
            "ratio": float(ratio[i]),
            **{name: float(root[i, place]) for place, name in enumerate(names)},
        }
        for i in order.tolist()
    ]
    return {
        "keys": len(keys),
        "valueless_keys": int((sums[:, SEEN] == 0.0).sum()),
        "scored_keys": int(own.size),
        "sums": sums.sum(axis=0).tolist(),
        "logs": logs,
        "wins": wins.tolist(),
        "worst": worst,
    }


def merged(parts: list[dict[str, Any]], seasonal: bool) -> dict[str, Any]:
    """Return the figures of all parts: errors, shares of keys, coverage, the worst keys."""
    names = NAMES if seasonal else NAMES[:2]
    sums = np.sum([part["sums"] for part in parts], axis=0)
    scored, keys = float(sums[SCORED]), sum(part["scored_keys"] for part in parts)
    errors: dict[str, Any] = {}
    for place, name in enumerate(names):
        count, logs = (math.fsum(part["logs"][place][j] for part in parts) for j in (0, 1))
        wins = sum(part["wins"][place] for part in parts)
        errors[name] = {
            "rmse": math.sqrt(sums[SQUARED + place] / scored) if scored else None,
            "mae": float(sums[ABSOLUTE + place] / scored) if scored else None,
            "scaled": math.exp(logs / count) if count else None,
            "best_of_keys": wins / keys if keys else None,
        }
    worst = sorted((one for part in parts for one in part["worst"]), key=lambda one: -one["ratio"])
    most = max((one["scored"] for one in worst), default=0)
    return {
        "targets": int(sums[SEEN]),
        "keys": sum(part["keys"] for part in parts),
        "valueless_keys": sum(part.get("valueless_keys", 0) for part in parts),
        "scored": {
            "rounds": int(scored),
            "keys": keys,
            "what": f"the next round of each key, after its first {FIRST} values",
        },
        "errors": errors,
        "covered": float(sums[HITS] / scored) if scored else None,
        "worst": [one for one in worst if one["scored"] >= min(_ENOUGH, most)][:WORST],
    }
