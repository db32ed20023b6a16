"""Changes with the interface of river's drift detectors."""

from collections.abc import Iterator
from typing import Any

from river import base

from stillpoint.alerts import Change
from stillpoint.alerts import Changes as Core
from stillpoint.core.learner import Configured, not_finite_in
from stillpoint.core.validation import under
from stillpoint.estimators.cells import missing
from stillpoint.intervals.base import value


class Changes(base.DriftAndWarningDetector, Configured):
    """Detect changes of level, spread, slope and season, with a rate of false alarms.

    `stillpoint.Changes` for river, for streams of any kind: errors of a model, which may be 0 and
    1, or values that depend on those before. After a drift it restarts by itself, with the rows
    since the change. None and NaN are missing values.

    Parameters
    ----------
    every : float, default 10000
        How many rows there are at least, on average, from one false alarm to the next.

    Attributes
    ----------
    drift_detected : bool
        Whether the last value declared a change.
    warning_detected : bool
        Whether it declared none, and `evidence` is a tenth of `every` or more.
    change : stillpoint.alerts.Change or None
        The last change: where it began, its kind, and the level or spread before and after, which
        is measured further for 50 rows.
    evidence : float
        A stream without change gets this far once in so many rows, or less often.

    Examples
    --------
    >>> import random
    >>> from stillpoint.estimators.river import Changes
    >>> rng = random.Random(3)
    >>> detector = Changes(every=10_000)
    >>> for i in range(1000):
    ...     detector.update(rng.gauss(0 if i < 500 else 2, 1))
    ...     if detector.drift_detected:
    ...         print(detector.change.kind, "from row", detector.change.start, "on")
    level up from row 500 on
    """

    def __init__(self, every: float = 10_000) -> None:
        super().__init__()
        self.every = every
        self._reset()

    def _reset(self) -> None:
        super()._reset()
        self._core = Core(self.every)

    @property
    def change(self) -> Change | None:
        """The last change; None before there is one."""
        records = self._core.records
        return records[-1] if records else None

    @property
    def evidence(self) -> float:
        """Evidence for a change now; one is declared at 3/2 of `every`."""
        return self._core.evidence

    def update(self, x: float | None) -> None:
        """Take in a value; None or NaN for a missing one."""
        found = None
        if missing(x):
            self._core.skip()
        else:
            found = self._core.update(value("x", x, "pass None for a missing value"))
        self._drift_detected = found is not None
        self._warning_detected = found is None and 10.0 * self.evidence >= self.every

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this detector anew, for saving."""
        return {"every": self.every}

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("core.", self._core)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        core = {f"core.{name}": each for name, each in self._core.arrays().items()}
        return {"drift": self._drift_detected, "warning": self._warning_detected, **core}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        core = Core(self.every)
        core.restore(under(state, "core."))
        self._core = core
        self._drift_detected, self._warning_detected = bool(state["drift"]), bool(state["warning"])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
