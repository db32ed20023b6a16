"""Features that are NaN for a while: rounds in bulk say what single rounds do, bit for bit."""

import numpy as np
import pytest
from series_twins import wavy

import stillpoint as sp

T, H = 60, 4
RNG = np.random.default_rng(3)
KNOWN = RNG.standard_normal((T, 2))


def with_nan(*parts):
    X = KNOWN.copy()
    for first, last in parts:
        X[first:last] = np.nan
    return X


FEATURES = {
    "never": with_nan((0, T)),
    "not at first": with_nan((0, 30)),
    "not later": with_nan((30, T)),
    "not between": with_nan((20, 45)),
    "now and then": with_nan((0, 11), (12, 23), (24, 35), (36, 47), (48, T)),
    "one of them never": np.column_stack([KNOWN[:, 0], np.full(T, np.nan)]),
}


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"loss": sp.losses.Pinball(0.8)}, {"coverage": (0.5, 0.9)}], ids=str
)
@pytest.mark.parametrize("name", FEATURES)
def test_rounds_in_bulk_are_those_of_single_ones(name, options, timed):
    X, y = FEATURES[name], wavy(T, (7.0,))
    gaps = (np.arange(T) % 9 == 8) & (name == "never")  # nothing is known of slots between
    times = 0.5 * np.cumsum(1.0 + gaps) if timed else None
    build = {"features": 2, "season": 7, "pool": "small", **options}
    single = sp.Forecaster(H, **build)
    said = {steps: [] for steps in (1, H)}
    for t in range(T):
        single.predict(X[t : t + H], time=None if times is None else times[t])
        for steps, rows in said.items():
            rows.append((single.predict(horizon=steps), *single.interval(horizon=steps)))
        single.update(y[t])
    for steps, rows in said.items():
        bulk = sp.Forecaster(H, **build).track(y, X, times, horizon=steps, intervals=True)
        for part, own in zip(bulk, zip(*rows, strict=True), strict=True):
            np.testing.assert_array_equal(part, np.array(own)[:, 0] if steps == 1 else own)
