"""What is wrong with rows of a batch: found before anything moves, and told key by key."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.arithmetic import LARGEST
from stillpoint.core.validation import Array, real
from stillpoint.fleet.keys import Slots

# for a value of one key that its learner would refuse
REMEDY = 'leave that key out, or build the fleet with on_bad="skip"'

COUNTED = 2.0**53  # from here on steps of 1 are lost


@dataclass(frozen=True)
class Fault:
    """Rows that cannot be taken, and why.

    `what(row)` is the message, with the row's value and a remedy.
    """

    rows: NDArray[np.intp]
    what: Callable[[int], str]
    feedback: bool = False  # the round itself is sound, and can be closed without feedback

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return ((row, self.what(row)) for row in self.rows.tolist())


def numbers(
    name: str, given: ArrayLike, slots: Slots, limit: float, feedback: bool
) -> tuple[Array, list[Fault]]:
    """One number a key, within ±limit."""
    values = np.array(real(name, given, "pass one number a key"), dtype=np.float64, order="C")
    if values.shape != slots.shape:
        raise ValueError(
            f"{name} must be as many as keys: got shape {values.shape} for {slots.size} keys; pass"
            " one number a key"
        )
    bad = ~(np.abs(values) <= limit)
    if not bad.any():
        return values, []

    def what(row: int) -> str:
        kind = f"be within ±{limit:g}" if np.isfinite(values[row]) else "be finite"
        return f"{name} must {kind}: got {values[row]}; {REMEDY}"

    return values, [Fault(np.flatnonzero(bad), what, feedback)]


def table(
    Y: ArrayLike, slots: Slots, limit: float, name: str = "Y", feedback: bool = True
) -> tuple[Array, list[Fault]]:
    """Series of as many values a key, each within ±limit or NaN."""
    remedy = "pass one row a key, NaN where a value is missing"
    values = np.array(real(name, Y, remedy), dtype=np.float64, order="C")
    if values.ndim != 2 or values.shape[0] != slots.size:
        raise ValueError(
            f"{name} must have one row a key: got shape {values.shape} for {slots.size} keys;"
            f" {remedy}"
        )
    bad = unlearnable(values, limit)
    rows = np.flatnonzero(bad.any(axis=1))

    def what(row: int) -> str:
        value = values[row, np.argmax(bad[row])]
        kind = f"be within ±{limit:g}" if np.isfinite(value) else "be finite, or NaN if missing"
        return f"{name} must {kind}: got {value}; {REMEDY}"

    return values, [Fault(rows, what, feedback)] if rows.size else []


def unlearnable(Y: Array, limit: float) -> NDArray[np.bool_]:
    """Where values are neither within ±limit nor missing."""
    return ~(np.abs(Y) <= limit) & ~np.isnan(Y)


def uncounted(last: Array, rounds: int) -> list[Fault]:
    """Rows whose times leave no room for so many rounds 1 apart after these."""
    late = np.flatnonzero(last + rounds >= COUNTED)

    def what(row: int) -> str:
        return (
            f"time must increase: got steps of 1 after {last[row]}, which rounding swallows;"
            " start nearer to 0"
        )

    return [Fault(late, what)] if late.size else []


def none_open(y: Array, closed: NDArray[np.bool_]) -> list[Fault]:
    """Rows with a target whose keys have no open round."""

    def what(row: int) -> str:
        return f"y must belong to an open round: got {y[row]} and none is open; call predict first"

    return [Fault(np.flatnonzero(closed), what)] if closed.any() else []


def given_centres(forecasts: ArrayLike | None, slots: Slots) -> tuple[Array, list[Fault]]:
    """One forecast a key, for an interval around it."""
    if forecasts is None:
        raise ValueError(
            "forecasts must be given: got None; pass one forecast a key, predict(keys, forecasts)"
        )
    return numbers("forecasts", forecasts, slots, LARGEST, feedback=False)
