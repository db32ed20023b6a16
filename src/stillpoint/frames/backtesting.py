"""`sp.backtest`: how good forecasts of a series would have been, beside simple methods."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.commands.beside import NAIVE
from stillpoint.commands.engine import LAST, MEAN, Engine
from stillpoint.commands.errors import InputError, show_cell
from stillpoint.commands.history import History
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.plans import Plan
from stillpoint.commands.series import Series
from stillpoint.commands.summary import OURS
from stillpoint.core.extras import require
from stillpoint.frames.given import Given, given
from stillpoint.frames.memory import MemoryTrack, play
from stillpoint.frames.rolling import DRIFT, Model, Rolling, Score
from stillpoint.frames.tracked import options_of
from stillpoint.frames.words import python_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = ("rmse", "mae", "mase", "coverage", "width")
_EARLY = 20  # rows before the first origin, at least
_TAKEN = (OURS, LAST, NAIVE, MEAN, DRIFT)


def backtest(
    data: Any,
    target: str | None = None,
    horizon: int | None = None,
    *,
    time: Any = None,
    known: str | Iterable[str] = (),
    features: str | Iterable[str] | None = None,
    season: Any = "auto",
    coverage: float = 0.9,
    nonnegative: bool = False,
    start: int | None = None,
    every: int = 1,
    models: Mapping[str, Model] | None = None,
    date_format: str | None = None,
    format: str | None = None,
    progress: bool | None = None,
) -> "Backtest":
    """Forecast a series from every row on, and score all horizons beside simple methods.

    Every row is an origin: the forecasts made there of the next `horizon` values are compared with
    these once they have come. The forecaster learns as it goes, in one pass; nothing is fitted
    again. The others are scored on the same pairs of origin and target:

    - last value, the last that was known;
    - seasonal naive, the last known value at the same phase, where there is a season;
    - running mean of all values before;
    - drift, the line through the first and the last value.

    Parameters
    ----------
    data, target, time, known, features, season, coverage, nonnegative
        As for `track`; the data must be a series.
    date_format, format, progress
        As for `track`.
    horizon : int, optional
        How many steps ahead; None as for `track`.
    start : int, optional
        The first row, counted from 0, that is an origin. None leaves out two seasons, or 20 rows if
        that is more; if the season is found on the way, the first 40, 80, … rows that hold two.
    every : int, default 1
        How many rows there are from one origin to the next.
    models : dict of callables, optional
        Models of your own, by name: each is called at every origin with the values before it, NaN
        where one is missing, and the horizon, and returns that many forecasts.

    Returns
    -------
    Backtest
        Its `table` is of the kind of the data.

    Notes
    -----
    With e the errors at one horizon, `rmse = √mean(e²)`, `mae = mean|e|`, and `mase` is mae over
    the mean absolute change from one season to the next (from one row to the next without a season)
    in all of the series (Hyndman & Koehler, Another look at measures of forecast accuracy, 2006).

    Examples
    --------
    >>> import numpy as np
    >>> import stillpoint as sp
    >>> sold = np.tile([20.0, 21.0, 19.0, 22.0, 25.0, 40.0, 38.0], 30)
    >>> sold += np.random.default_rng(0).normal(0.0, 1.0, sold.size)
    >>> test = sp.backtest(sold, horizon=7, season=7)
    >>> for i in range(3):
    ...     print(test.table["method"][i], test.table["rmse"][i].round(1))
    stillpoint 1.1
    last value 9.0
    seasonal naive 1.4
    """
    with python_errors():
        found = given(data, target, time)
    with python_errors(found.index):
        options = options_of(
            found,
            horizon=horizon,
            known=known,
            features=features,
            season=season,
            coverage=coverage,
            nonnegative=nonnegative,
            learner="forecaster",
            date_format=date_format,
            format=format,
        )
        _check(start, every, models)
        job = _Backtested(options, found, start, every)
        summary = play(job, progress)
        return Backtest(found, job, summary, models or {})


def _check(start: Any, every: Any, models: Any) -> None:
    if start is not None and not _counts(start, 0):
        raise InputError(f"start must be a row, counted from 0: got {start!r}; give 0 for all")
    if not _counts(every, 1):
        raise InputError(f"every must be a number of rows: got {every!r}; give 1 for all")
    if models is not None and not isinstance(models, Mapping):
        raise InputError(f"models must be a dict: got {show_cell(models)}; give callables by name")
    for name, model in (models or {}).items():
        if name in _TAKEN or not callable(model):
            raise InputError(
                f"models must be callables under names of their own: got {show_cell(model)} as"
                f" {name!r}; give a function of the values before and the horizon"
            )


def _counts(given: Any, least: int) -> bool:
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    return whole and bool(given >= least)


class _Backtested(MemoryTrack):
    """A run whose forecaster is scored from every origin."""

    rolling: Rolling

    def __init__(self, options: TrackOptions, given: Given, start: int | None, every: int) -> None:
        super().__init__(options, given)
        self.start, self._every = start, every

    def _learners(self, dim: int, plan: Plan | None) -> tuple[Engine | Series, History]:
        new = self.engine is None
        engine, history = super()._learners(dim, plan)
        if new and isinstance(engine, Series):
            early = max(_EARLY, 2 * engine.plan.period)
            start = early if self.start is None else self.start
            self.rolling = Rolling(engine.plan, int(start), int(self._every))
            engine.beside = self.rolling
        return engine, history


class Backtest:
    """The result of `sp.backtest`.

    Attributes
    ----------
    table : frame or dict of arrays
        One row for each number of steps ahead and method: `step`, `method`, `rows` (how many
        targets), `rmse`, `mae`, `mase`, `coverage`, `width`; the last two are NaN for methods
        without intervals. All steps up to 32, of a longer horizon some.
    summary : dict
        As in the result of `track`.
    """

    def __init__(
        self,
        given: Given,
        job: _Backtested,
        summary: dict[str, Any],
        models: Mapping[str, Model],
    ) -> None:
        self._given, self.summary = given, summary
        engine = job.engine
        assert isinstance(engine, Series)
        seasons = summary["seasons"]
        period = engine.plan.period or (round(seasons[0]) if seasons else 0)
        if job.start is None:
            job.rolling.begin(period)
        self._steps = job.rolling.steps.tolist()
        self._scale = job.rolling.scale(period)
        self._scores = {OURS: job.rolling.ours(), **job.rolling.others(period)}
        self._scores |= {name: job.rolling.model(name, model) for name, model in models.items()}

    @cached_property
    def table(self) -> Any:
        """Scores by steps ahead and method."""
        rows = [
            (step, name, score.rows, *self._measured(score))
            for k, step in enumerate(self._steps)
            for name, score in ((name, scores[k]) for name, scores in self._scores.items())
        ]
        columns = dict(
            zip(("step", "method", "rows", *MEASURES), zip(*rows, strict=True), strict=True)
        )
        return self._given.kind.table(
            {
                name: np.array(values, dtype=object if name == "method" else None)
                for name, values in columns.items()
            }
        )

    def _measured(self, score: Score) -> tuple[float, ...]:
        return (score.rmse, score.mae, score.mae / self._scale, score.coverage, score.width)

    def plot(self, ax: "Axes | None" = None, *, measure: str = "rmse") -> "Axes":
        """Draw a measure by steps ahead, a curve a method.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; None makes a figure of its own, which notebooks show.
        measure : {"rmse", "mae", "mase", "coverage", "width"}, default "rmse"
            A column of `table`.

        Returns
        -------
        matplotlib.axes.Axes
            Their `figure` can be saved.
        """
        if measure not in MEASURES:
            known = ", ".join(MEASURES)
            raise ValueError(f"measure must be one of {known}: got {measure!r}; choose one")
        require("matplotlib", "Backtest.plot", "plot")
        from stillpoint.frames.plots import plot_errors

        place = MEASURES.index(measure)
        curves = {
            name: np.array([self._measured(score)[place] for score in scores])
            for name, scores in self._scores.items()
        }
        shown = {name: values for name, values in curves.items() if not np.isnan(values).all()}
        what = measure.upper() if measure in ("rmse", "mae", "mase") else measure
        return plot_errors(self._steps, shown, OURS, what, ax)

    def _repr_html_(self) -> str:
        from stillpoint.frames.notebook import figure, table

        places = np.unique(np.linspace(0, len(self._steps) - 1, 6).round().astype(int)).tolist()
        rows = [["RMSE", *(f"{self._steps[k]} ahead" for k in places)]]
        rows += [
            [name, *(figure(scores[k].rmse) for k in places)]
            for name, scores in self._scores.items()
        ]
        ours = [self._scores[OURS][k] for k in places]
        rows.append(["coverage", *(f"{score.coverage:.1%}" for score in ours)])
        rows.append(["width", *(figure(score.width) for score in ours)])
        return table(rows)

    def __repr__(self) -> str:
        last, rows = self._steps[-1], self._scores[OURS][0].rows
        what = f"<Backtest of {self.summary['target']}: 1 to {last} steps ahead from {rows:,} rows"
        means = {
            name: float(np.sqrt(np.mean([score.rmse**2 for score in scores if score.rows])))
            for name, scores in self._scores.items()
            if any(score.rows for score in scores)
        }
        if not means:
            return f"{what}, too few for a score; give more rows, or start=0>"
        told = ", ".join(
            f"{'RMSE' if name == OURS else name} {value:.3g}" for name, value in means.items()
        )
        return f"{what}; {told}>"
