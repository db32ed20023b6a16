"""Rows in slots that are known, played in bulk."""

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.series.engine import Engine
from stillpoint.series.features import told_up_to
from stillpoint.series.said import beside


def play(
    engine: Engine,
    y: Array,
    X: Array,
    steps: NDArray[np.int64],
    waiting: float,
    horizon: int,
    intervals: bool,
) -> tuple[Array, Array, float, Array]:
    """Open and close the rounds of these rows, all but the last, which is left open.

    Parameters
    ----------
    engine : Engine
        Plays them; what came before the first row has been learnt.
    y : array of shape (T,)
        Values.
    X : array of shape (rows, features)
        Features; none, or those of these rows and of some to come.
    steps : array of int
        Slots from row to row; of rows to come, too, as far as their times are known. Others are in
        the slots after them.
    waiting : float
        The value so far of the slot of the first row, NaN if it has none.
    horizon, intervals
        What is asked of each row.

    Returns
    -------
    array of shape (T, …), array, float, array
        Forecasts and ends of intervals as of the engine's `track`, and of the round left open its
        value so far and what was known.

    Notes
    -----
    Of a slot with several rows each is forecast with its own features; learnt, and known ahead, are
    those of its last. Of an empty slot nothing is known, nor in it of others: it is played when it
    is over.
    """
    n, H = y.size, engine.horizon
    steps = np.append(steps, np.ones(max(0, X.shape[0] - steps.size), dtype=np.int64))
    places = np.cumsum(steps) - steps[0]
    at, shared = places[:n], steps[1:n] == 0
    rounds = int(at[-1]) + 1
    values, rows = np.full(rounds, np.nan), np.full((rounds + H, X.shape[1]), np.nan)
    values[0], good = waiting, ~np.isnan(y)
    values[at[good]] = y[good]
    ahead = np.zeros(rounds, dtype=np.int64)
    if X.shape[0]:
        near = places < rounds + H
        rows[places[near]] = X[near]
        ahead[at] = told_up_to(rows, np.minimum(places[-1] + 1 - np.arange(rounds), H))[at]
    width, start = engine.width(horizon, intervals), 0
    out, said = np.empty((n, width)), np.empty((rounds, width))
    offsets = np.empty((rounds * intervals, *engine.bands.state.offsets.shape))
    known, early = rows[:0], np.flatnonzero(shared) if X.size else ()  # not the last of their slots
    for j in (*early, n - 1):
        slot = int(at[j])
        if slot > start:
            said[start:slot], offsets[start:slot] = engine.track(
                values[start:slot], rows[start:], ahead[start:slot], horizon, intervals
            )
        known, start = rows[slot : slot + ahead[slot]].copy(), slot
        known[:1] = X[j : j + 1]
        engine.open(known)
        say(engine, known, horizon, out[j : j + 1], offsets[slot : slot + 1])
    said[-1] = out[-1]
    last = np.ones(n, dtype=bool)
    last[list(early)] = False
    out[last] = said[at[last]]
    return out, offsets[at] if intervals else offsets, float(values[-1]), known


def say(engine: Engine, X: Array, horizon: int, out: Array, offsets: Array) -> None:
    """Fill in what the engine's `track` would say of the open round, opened with X, in one row."""
    out[:, :horizon] = engine.path(horizon)
    offsets[:] = engine.bands.state.offsets
    if out.shape[1] > horizon:
        none, known = np.array([np.nan]), np.array([X.shape[0]])
        out[:, horizon:] = beside(engine, none, X, known, horizon)
