"""A key of many as a single forecaster, and back.

Both play the same rounds on the same numbers. What a single one keeps besides, its history and the
detector of changes, begins anew where a key becomes one.
"""

from typing import Any

import numpy as np

from stillpoint.core.allocation import full
from stillpoint.series import layout, seasons
from stillpoint.series.engine import Engine
from stillpoint.series.history import KEEP
from stillpoint.series.light import _keys
from stillpoint.series.light._keys import AGAIN, LAST, OF, Keys
from stillpoint.series.light.keys import Workshop
from stillpoint.series.own import own
from stillpoint.series.restored import MOST
from stillpoint.series.watch import Watch


def as_single(shop: Workshop, keys: Keys, k: int) -> dict[str, Any]:
    """What `Engine.arrays` returns of a single forecaster that goes on as this key would."""
    c, last = keys.counts[k].tolist(), keys.exact[k, LAST]
    rounds, before, begun, logs = c[OF.rounds], c[OF.before], c[OF.now] >= 0, bool(c[OF.logs])
    bands, active = shop.new_bands(), shop.periods if begun else ()
    units = layout.Scale(0.0, 1.0, 0.0, 1.0, logs)
    state = layout.build(shop.pool, shop.periods, shop.horizon, units, bands.state)
    _keys.load(k, keys, shop.kit._replace(log=state, plain=state))
    history = full((min(rounds, KEEP), 1), np.nan)
    history[:1] = last
    values = history[:0, 0]
    if c[OF.nest] >= 0 and rounds:
        values = keys.nests[c[OF.nest], : min(rounds, shop.gathered)]
        history[-values.size :, 0] = values
    dues = [due for due in (AGAIN, shop.gathered) if due > rounds]
    watch, seen = Watch(before + rounds), values[~np.isnan(values)]
    watch.renew(active, before + rounds, np.empty(0), np.empty(0))
    saved = {
        "history": history,
        "rounds": rounds,
        "before": before,
        "varied": rounds > values.size or bool((seen != last).any()),
        "active": np.array(active),
        "found": np.empty(0),
        "look": seasons.LEAST,
        "next": min(dues, default=int(MOST)) if begun else 0,
        "builds": int(begun),
        "calendar": np.empty(0),
        "logs": int(logs) if begun else -1,
    }
    saved |= own(state) if begun else {}
    saved |= {f"bands.{name}": value for name, value in bands.arrays().items()}
    return saved | {f"watch.{name}": value for name, value in watch.arrays().items()}


def from_single(shop: Workshop, keys: Keys, k: int, engine: Engine, opened: bool) -> None:
    """Have a new key go on as a single forecaster would, which is used up; the key keeps its nest.

    Whether it still needs that is for the caller to see, by `OF.now` and `OF.rounds`.
    """
    c, history, state = keys.counts[k], engine.history, engine.state
    c[OF.rounds], c[OF.before], c[OF.open] = history.rounds, history.before, opened
    if state is None:
        units = layout.Scale(0.0, 1.0, 0.0, 1.0, False)
        state = layout.build(shop.pool, shop.periods, shop.horizon, units, engine.bands.state)
    else:
        c[OF.now] = 0  # stored
    _keys.store(k, keys, shop.kit, state)
    keys.exact[k, LAST] = history.last
    values = history.arrays()["history"][-shop.gathered :, 0]
    keys.nests[c[OF.nest], : values.size] = values


def grown(shop: Workshop, counts: Any) -> Any:
    """Which keys need no nest any more."""
    return (counts[..., OF.now] >= 0) & (counts[..., OF.rounds] >= shop.gathered)
