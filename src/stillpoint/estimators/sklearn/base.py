"""What the tracking models for scikit-learn share: rows, coefficients, tables, their state."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from stillpoint.core.learner import Configured
from stillpoint.core.validation import Array, count, stored, under
from stillpoint.estimators.sklearn.output import TableOutput
from stillpoint.forecasters._features import ROW
from stillpoint.forecasters.tracking import NO_WEIGHTS
from stillpoint.series.times import seconds

_HEAVIEST = 1e9  # of a sample weight: the squares of losses that heavy are still floats
COLUMNS = ("n_features_in_", "feature_names_in_")
_LEARNT = ("core_", "classes_", "intervals_", "coef_path_", "intercept_path_", "path_rows_")


class TrackingEstimator(TableOutput, BaseEstimator, Configured):
    """Rows in order, learnt by a core of Kalman filters."""

    core_: Any
    path_every: int | None
    _numeric: ClassVar[bool] = False  # whether targets are numbers

    @property
    def coef_(self) -> Array:
        """The present coefficients, by feature: (features,), of log-odds (sets, features).

        A mean over the filters by their weights in the forecast.
        """
        return self._coefficients()[0]

    @property
    def intercept_(self) -> Any:
        """The intercept that goes with `coef_`."""
        return self._coefficients()[1]

    def _coefficients(self) -> tuple[Array, Any]:
        """`coef_` and `intercept_`."""
        raise NotImplementedError

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        times: ArrayLike | None = None,
    ) -> Self:
        """Forget everything, then learn the rows in order.

        Parameters
        ----------
        X : array-like of shape (rows, features)
            Features; NaN for a missing one.
        y : array-like of shape (rows,)
            Targets, or labels.
        sample_weight : array-like of shape (rows,), optional
            The weight of each row's loss; rows of weight 0 are left out.
        times : array-like of shape (rows,), optional
            Numbers or dates: drift then follows the gaps between them.
        """
        return self._learn(X, y, sample_weight, times, fresh=True)

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        times: ArrayLike | None,
        fresh: bool,
        **more: Any,
    ) -> Self:
        """Learn rows in order; `more` is for `_learn_rows`."""
        with unchanged_on_failure(self):
            rows, targets = validate_data(
                self,
                X,
                y,
                y_numeric=self._numeric,
                reset=fresh,
                dtype=np.float64,
                ensure_all_finite="allow-nan",
            )
            self._check_targets(targets)
            weights = weights_of(sample_weight, len(rows))
            when = moments(times)
            if when is not None and len(when) != len(rows):
                raise ValueError(
                    f"times must have shape ({len(rows)},): got {np.shape(when)}; give one time a"
                    " row"
                )
            weights, rows, targets, times = without(weights, rows, targets, when)
            self._learn_rows(rows, targets, times, weights, fresh, **more)
        return self

    def _check_targets(self, y: NDArray[Any]) -> None:
        """Raise ValueError for what cannot be learnt."""
        raise NotImplementedError

    def _learn_rows(
        self, rows: Array, y: NDArray[Any], times: Any, weights: Array, fresh: bool
    ) -> None:
        """Learn rows in order; `fresh`: what was learnt before is forgotten."""
        raise NotImplementedError

    def _rows(self, X: ArrayLike) -> Array:
        """Rows to answer for."""
        check_is_fitted(self)
        rows: Array = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return rows

    def _play(
        self, core: Any, rows: Array, targets: Array, times: ArrayLike | None, weights: ArrayLike
    ) -> Array:
        """Learn rows in order; returns what was said of each."""
        core._begin_bulk("X")
        targets = core._targets(targets)
        rows, when = core._rows(rows, targets.size), core._coming_times(targets.size, times)
        loads = np.asarray(weights, dtype=np.float64)
        every = None if self.path_every is None else count("path_every", self.path_every)
        said, first = [], 0
        while first < targets.size:
            due = targets.size if every is None else every - core.rounds % every
            part = slice(first, first + due)
            answers, _, _ = core._track(
                rows[part], targets[part], when[part], 0, 0, False, loads[part]
            )
            said.append(answers)
            first += due
            if every is not None and core.rounds % every == 0:
                self._note(core)
        return np.concatenate(said)

    def _note(self, core: Any) -> None:
        """Keep the coefficients of now."""
        self.core_ = core
        coef, intercept = self._coefficients()
        for name, value in (
            ("coef_path_", coef),
            ("intercept_path_", intercept),
            ("path_rows_", core.rounds),
        ):
            before = getattr(self, name, None)
            one = np.asarray(value, dtype=np.float64)[None]
            setattr(self, name, one if before is None else np.concatenate([before, one]))

    def _forget(self, *columns: str) -> None:
        """Make a model what it was before `fit`, which scikit-learn knows by the attributes."""
        for name in (*_LEARNT, *columns):
            self.__dict__.pop(name, None)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: NaN is a feature that is not seen."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _taken(self) -> dict[str, Any]:
        """The state of a fitted model: its core's, and what scikit-learn notes about columns."""
        if not hasattr(self, "core_"):
            return {}
        names = getattr(self, "feature_names_in_", None)
        own = {"features": None if names is None else names.tolist()}
        if hasattr(self, "path_rows_"):
            paths = "coef_path_", "intercept_path_", "path_rows_"
            own |= {f"path.{name}": getattr(self, name).copy() for name in paths}
        return {**own, **{f"core.{key}": value for key, value in self.core_.arrays().items()}}

    def _put(self, state: dict[str, Any]) -> None:
        """Inverse of `_taken`, in a model with a new core."""
        self.core_.restore(under(state, "core."))
        self.n_features_in_, names = self.core_.dim, state["features"]
        for name, value in under(state, "path.").items():
            setattr(self, name, np.array(value, dtype=np.float64))
        if names is not None:
            good = all(isinstance(name, str) for name in names)
            if len(names) != self.n_features_in_ or not good:
                raise ValueError(
                    f"state 'features' must be {self.n_features_in_} names: got {names}; save the"
                    " model again"
                )
            self.feature_names_in_ = np.array(names, dtype=object)


@contextmanager
def unchanged_on_failure(model: Any) -> Iterator[None]:
    """Put a model's attributes back where something fails.

    Scikit-learn notes the columns of a table before all is checked.
    """
    before = dict(vars(model))
    try:
        yield
    except Exception:  # whatever it was, it is raised again
        vars(model).clear()
        vars(model).update(before)
        raise


def weights_of(sample_weight: ArrayLike | None, rows: int) -> Array:
    """Sample weights, checked; none for None."""
    if sample_weight is None:
        return NO_WEIGHTS
    weights = np.array(np.asarray(sample_weight), dtype=np.float64)
    remedy = "give one number a row, 0 or more"
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight must have shape ({rows},): got {weights.shape}; {remedy}")
    for weight in weights[~((weights >= 0.0) & (weights <= _HEAVIEST))][:1]:
        raise ValueError(
            f"sample_weight must be from 0 to {_HEAVIEST:g}: got {weight}; {remedy}, about 1 each"
        )
    if not (weights > 0.0).any():
        raise ValueError(
            "sample_weight must be above 0 for some row: got zero for all; leave it out"
        )
    return weights


def moments(times: ArrayLike | None) -> Any:
    """Times as numbers: dates become seconds."""
    return None if times is None else seconds(times)[0]


def width_of(state: dict[str, Any]) -> int:
    """How many features a saved state is for."""
    width = stored(state, "core.x", None).size
    # before the core makes room for as many
    stored(state, "core.covariances", None, width + 1, width + 1)
    return width


def in_units(means: Array, features: Array) -> tuple[Array, Array]:
    """Slopes (…, features) and intercepts (…) of filters in the features' own units.

    The filters have z = (x − centre)/scale, and the intercept last.
    """
    scale = features[ROW.scale]
    slopes = np.divide(means[..., :-1], scale, out=np.zeros_like(means[..., :-1]), where=scale > 0)
    return slopes, means[..., -1] - slopes @ features[ROW.centre]


def without(weights: Array, *parts: Any) -> list[Any]:
    """The weights and parts of rows, those of weight 0 left out."""
    if not weights.size or weights.all():
        return [weights, *parts]
    kept = weights > 0.0
    return [weights[kept], *(None if part is None else np.asarray(part)[kept] for part in parts)]
