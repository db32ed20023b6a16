"""All of one series, as compiled rounds see it."""

from typing import Any, NamedTuple

import numpy as np

from stillpoint.series._autoregression import Regressions
from stillpoint.series._effects import Effects
from stillpoint.series._knots import Knots
from stillpoint.series._phases import Phases
from stillpoint.series._structural import Filters


class State(NamedTuple):
    """All of one series."""

    scalars: np.ndarray  # see _scale.Scalars
    clock: np.ndarray  # ints, see _scale.Clock
    lags: np.ndarray  # (1 or 2, width): values, and logarithms, in units; places ahead are free
    periods: np.ndarray  # the seasons
    rows: np.ndarray  # harmonics, by time modulo length
    rolls: bool  # whether rows are a ring, to be filled as time goes on
    seasonal: (
        np.ndarray
    )  # (H + 3,): the first filter's seasonal parts, in units, from 3 rounds ago on
    features: np.ndarray  # (H, features): standardised, from the coming round on; 0: not known
    feature_scale: np.ndarray  # (2, features): centres and units
    filters: Filters
    regressions: Regressions
    phases: Phases
    effects: Effects
    knots: Knots
    bands: Any  # `_bands.Bands`, or those of small pools
    steps: np.ndarray  # (H,) ints: 1, 2, …
    stops: np.ndarray  # ints: horizons of the knots and of the intervals
    forecasts: np.ndarray  # (bands,): of the coming round
    room: np.ndarray  # (H, K): forecasts of experts
    work: np.ndarray  # (4, most): room to work in
