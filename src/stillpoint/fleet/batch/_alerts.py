"""Compiled loops over many detectors of anomalies with a small memory."""

import numpy as np

from stillpoint.alerts._anomalies import admits
from stillpoint.alerts._small import close_round, raised, state_in
from stillpoint.core.jit import bare, njit


@njit(cache=True, nogil=True)
def play(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    forecasts: np.ndarray,
    rows: np.ndarray,
    notes: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Take in rows y (keys, T); those that may be alarms go into notes, counts of each key's."""
    for i in order:
        s, found = bare(state_in(rows[slots[i]])), 0
        for t in range(y.shape[1]):
            note = notes[i, min(found, notes.shape[1] - 1)]
            found += close_round(s, y[i, t], forecasts[i, t], note)
        counts[i] = found


@njit(cache=True)
def admit(rate: float, values: np.ndarray, alarms: int, admitted: np.ndarray) -> int:
    """Say which of those that may be alarms are; returns how many.

    Parameters
    ----------
    rate : float
        A share of all values.
    values : array of shape (n,)
        How many values there were with each of them, of all keys.
    alarms : int
        How many there were before.
    admitted : array of shape (n,)
        For the answer.
    """
    found = 0
    for i in range(values.size):
        admitted[i] = admits(rate, values[i], alarms + found)
        found += admitted[i]
    return found


@njit(cache=True)
def note(slots: np.ndarray, rows: np.ndarray, notes: np.ndarray) -> None:
    """Count alarms, each that of the key at a place, and keep the last record of each."""
    for i in range(slots.size):
        raised(state_in(rows[slots[i]]), notes[i])
