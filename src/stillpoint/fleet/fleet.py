"""Fleet: one learner a key, number for number as single learners."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from stillpoint.core.validation import count
from stillpoint.fleet.alerting import Alerting
from stillpoint.fleet.batch import BATCHES, batch_of, type_named
from stillpoint.fleet.forecasting import part, spread
from stillpoint.fleet.keyed import GivenKeys
from stillpoint.fleet.keys import KeyIndex, Slots

_NO_SLOTS: Slots = np.zeros(0, np.int64)
_NAMES = {kind.__name__: kind for kind in BATCHES}


class Fleet(Alerting):
    """One learner a key, of one class and configuration: arrays in, arrays out.

    Parameters
    ----------
    learner : class or str
        Forecaster, VariationForecaster, TrackingForecaster or KernelForecaster, which forecast;
        Tracker, MultiScale, QuantileTracker or IntervalTracker; Anomalies or Changes, which raise
        alarms.
    threads : int, default 1
        How many threads share a batch; the numbers are the same for any.
    on_bad : {"raise", "skip"}, default "raise"
        What happens to a value that the learner would refuse, such as NaN. "raise": ValueError, and
        no key moves. "skip": the round of that key is closed without feedback, or with a bad time,
        forecast or feature not opened; `rejected` says why.
    dtype : {"float64", "float32"} or a NumPy type, default "float64"
        Type of the states; float32 is for compiled Forecasters, whose forecasts it moves by about
        1e-5 of a series' standard deviation.
    **config
        The learner's arguments.

    Attributes
    ----------
    rejected : list of (key, reason)
        What the last call could not use.
    found : list of (key, record)
        The alarms of the last call, `Anomaly` or `Change`, in the order they were raised.
    alarms : int
        How many alarms there were, of all keys.

    Notes
    -----
    Keys are whole numbers, strings or other hashable names; a new key begins when it is first seen.
    Rounds and times are each key's own. Keys of a batch must differ. As for single learners,
    predict may be called again before update, and update without predict (but for IntervalTracker).

    States are stacked in a few arrays and played in compiled batches: of Forecaster, those with
    pool="small" or "middle", season=None or given, and no features, whose times are whole numbers,
    slots 1 apart. Of other Forecasters, VariationForecaster and TrackingForecaster there is one
    object a key, which costs what a single one does: `bytes_per_key` says how much memory.

    Detectors have no `predict`. `rate` of Anomalies is a share of the rows of all keys: a row that
    would be an alarm of its key is one as long as those of all keys are within `alarm_bound`. With
    `memory="small"` and forecasts given to `update` they are a row of numbers each, played in
    compiled batches; other Anomalies, and Changes, are objects, each within its own bound as well.
    `every` of Changes is each key's own.

    Examples
    --------
    >>> import numpy as np
    >>> import stillpoint as sp
    >>> month = np.arange(120)
    >>> wave = 5.0 * np.cos(2.0 * np.pi * month / 12.0)
    >>> fleet = sp.Fleet(sp.Forecaster, horizon=12, season=12)
    >>> before = fleet.track(["oslo", "lima"], [5.0 + wave, 20.0 - wave])  # each before its value
    >>> before.shape
    (2, 120)
    >>> fleet.predict(["oslo", "lima"], horizon=3).round(1)
    array([[10. ,  9.3,  7.5],
           [15. , 15.7, 17.5]])
    >>> lo, hi = fleet.interval(["oslo", "lima"], horizon=3)
    >>> fleet.update(["oslo", "lima"], [10.1, 15.2])
    """

    _class_names = ("learner",)  # of the configuration, which files have under names of their own

    def __init__(
        self,
        learner: type[Any] | str,
        *,
        threads: int = 1,
        on_bad: str = "raise",
        dtype: DTypeLike = "float64",
        **config: Any,
    ) -> None:
        kind = _NAMES.get(learner) if isinstance(learner, str) else learner
        if not isinstance(kind, type) or kind not in BATCHES:
            raise ValueError(
                f"learner must be one of {sorted(_NAMES)}: got {learner!r}; pass one of them, as a"
                " class or by name"
            )
        if on_bad not in ("raise", "skip"):
            raise ValueError(f"on_bad must be 'raise' or 'skip': got {on_bad!r}; choose one")
        for name, value in config.items():
            rounds = getattr(value, "rounds", 0)
            if isinstance(rounds, int) and rounds:  # a file of the fleet would not have them
                raise ValueError(
                    f"{name} must be new: got {value!r} after {rounds} rounds; give one that has"
                    " seen nothing, and adopt learners that have under their keys"
                )
        self._kind, self.threads, self.on_bad = kind, count("threads", threads), on_bad
        built = kind(**config)
        self._config, self.dtype = dict(built.config), type_named(dtype)
        self._batch = batch_of(kind, built, self.threads, self.dtype)
        self._index = KeyIndex()
        self._warned = False
        self.rejected, self.found = [], []

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this fleet anew."""
        own = {"learner": self._kind.__name__, "threads": self.threads, "on_bad": self.on_bad}
        # as in files of versions that had no other
        kept = {} if self.dtype == "float64" else {"dtype": self.dtype}
        return {**own, **kept, **self._config}

    def predict(
        self,
        keys: GivenKeys,
        forecasts: ArrayLike | None = None,
        *,
        x: ArrayLike | None = None,
        horizon: int | None = None,
        time: Any = None,
    ) -> Any:
        """Open the round of each key.

        Parameters
        ----------
        keys : array or list
            The keys, which must differ.
        forecasts : array, optional
            What IntervalTracker's intervals are around, one a key.
        x : array of shape (n, features) or (n, rows, features), optional
            Features, where the learner has any: of the round, or of it and those after it.
        horizon : int, optional
            How many values to forecast, where the learner is a Forecaster.
        time : float or array, optional
            One for all or one a key, where the learner takes times.

        Returns
        -------
        array, or tuple of two arrays
            Plays (n, dim), quantiles or forecasts (n,), with horizon (n, horizon), or for
            IntervalTracker ends (lo, hi). Rows of rejected keys are NaN.
        """
        steps = None if horizon is None else self._steps(horizon)
        slots, good, plays = self._open(keys, forecasts, x, time)
        if steps is not None:
            plays = plays[:, None] if steps == 1 else self._batch.path(slots, steps)
        self._warn()
        return spread(plays, good)

    def update(
        self,
        keys: GivenKeys,
        feedback: ArrayLike,
        forecasts: ArrayLike | None = None,
        *,
        x: ArrayLike | None = None,
        time: Any = None,
    ) -> NDArray[np.bool_] | None:
        """Close the round of each key.

        Parameters
        ----------
        keys : array or list
            The keys, which must differ.
        feedback : array
            Gradients (n, dim), in one dimension (n,) too, or targets (n,); of detectors values
            (n,), NaN for a missing one.
        forecasts : array, optional
            What was forecast of each value, where the learner is Anomalies; NaN for none.
        x : array of shape (n, features) or (n, rows, features), optional
            As for `predict`; TrackingForecaster needs it where no round is open.
        time : float or array, optional
            One for all or one a key, where the learner takes times.

        Returns
        -------
        array of shape (n,), or None
            Which rows are alarms, where the learner is a detector; their records are in `found`.
        """
        if self._batch.detects:
            self._no_features(x)
            self._batch.moments(_NO_SLOTS, time)
            return self._watch(keys, feedback, forecasts, one=True)
        self._no_centres("update", forecasts)
        with self._entered(keys) as (names, slots):
            when, faults = self._batch.moments(slots, time)
            rows, others = self._batch.features(slots, when, x)
            values, more = self._batch.feedback(slots, feedback)
            bad = self._judge(names, [*faults, *others, *more])
        if bad is None:
            self._begin(slots, when, rows)
            self._batch.close(slots, when, values)
        else:
            unusable, refused = bad
            good, skipped, sound = ~(unusable | refused), unusable & ~refused, ~refused
            self._begin(slots[sound], part(when, sound), part(rows, sound))
            self._batch.close(slots[good], part(when, good), tuple(v[good] for v in values))
            self._batch.skip(slots[skipped], part(when, skipped))
        self._warn()
        return None

    def skip(self, keys: GivenKeys, *, x: ArrayLike | None = None, time: Any = None) -> None:
        """Close the round of each key without feedback, as for a missing value."""
        with self._entered(keys) as (names, slots):
            when, faults = self._batch.moments(slots, time)
            rows, others = self._batch.features(slots, when, x, needed=False)
            bad = self._judge(names, [*faults, *others])
        if bad is not None:
            sound = ~bad[1]
            slots, when, rows = slots[sound], part(when, sound), part(rows, sound)
        self._begin(slots, when, rows)
        self._batch.skip(slots, when)
        self.found = []
        self._warn()

    def _begin(self, slots: Slots, when: Any, rows: Any) -> None:
        """Open rounds with features, where some are given."""
        if rows.size:
            self._batch.open(slots, when, rows)
