"""Targets that come late: `track` with a delay, against the loop that anybody would write."""

import copy

import numpy as np
import pytest

from states import same
from stillpoint.forecasters import (
    KernelForecaster,
    TrackingForecaster,
    TrackingProbabilities,
    VariationForecaster,
)
from stillpoint.kernels import OU
from stillpoint.losses import Pinball
from thorough import some, some_of

T = 120
RNG = np.random.default_rng(5)
X = RNG.normal(size=(T, 3)) * [1.0, 10.0, 0.1] + [0.0, 100.0, 3.0]
Y = X @ [1.0, -0.1, 0.3] + RNG.normal(size=T)
TIMES = np.cumsum(RNG.exponential(size=T))

MODELS = {
    "regression": (lambda: TrackingForecaster(3), Y),
    "quantile": (lambda: TrackingForecaster(3, loss=Pinball(0.8)), Y),
    "missing": (lambda: TrackingForecaster(3, missing=True), Y),
    "two classes": (lambda: TrackingProbabilities(3), (Y > np.median(Y)).astype(int)),
    "three classes": (
        lambda: TrackingProbabilities(3, classes=3),
        np.digitize(Y, np.quantile(Y, [0.3, 0.6])),
    ),
    "series": (VariationForecaster, np.where(np.arange(T) % 11 == 7, np.nan, Y)),
    "series, splines": (KernelForecaster, np.where(np.arange(T) % 11 == 7, np.nan, Y)),
    "series, kernels": (lambda: KernelForecaster([OU(0.1)], ridges=[1.0, 9.0]), Y),
}


def features(name):
    unseen = np.random.default_rng(6).random(X.shape) < 0.1
    return np.where(unseen, np.nan, X) if name == "missing" else X


def rows(name, X, y, part):
    return (y[part],) if "series" in name else (X[part], y[part])


def by_hand(name, model, X, y, times, delay):
    """Forecast row t, then learn row t − delay, by calls for single rounds."""
    out = []
    for t in range(T):
        at = {} if times is None else {"time": times[t]}
        late = t - delay
        then = {} if times is None or late < 0 else {"time": times[late]}
        if "series" in name:
            at = at or {"time": t + 1.0}
            out.append(copy.deepcopy(model).predict(**at))
            if late >= 0:
                model.predict(**then)
                model.skip() if np.isnan(y[late]) else model.update(y[late])
        else:
            out.append(model.peek(X[t], **at))
            if late >= 0:
                model.update(X[late], y[late].item(), **then)
    return np.array(out)


def clear(model):
    """Without what is left of the last look, which nothing depends on."""
    state = model.arrays()
    for name in ("weights", "rates", "forecasts", "credits"):
        if name in state and isinstance(model, VariationForecaster):
            state[name] = np.zeros_like(state[name])
    other = copy.deepcopy(model)
    other.restore(state)
    return other


@pytest.mark.parametrize(
    ("name", "delay", "timed"), some_of(MODELS, [1, 4, T, 2 * T], [False, True], every=4)
)
def test_a_delay_is_the_loop_of_looks_and_late_updates(name, delay, timed):
    (make, y), x, times = MODELS[name], features(name), TIMES if timed else None
    bulk, single = make(), make()
    forecasts = bulk.track(*rows(name, x, y, slice(None)), times, delay=delay)
    expected = by_hand(name, single, x, y, times, delay)
    if "classes" in name:  # variances in today's coordinates round otherwise than in the round's
        np.testing.assert_allclose(forecasts, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(forecasts, expected)
    assert bulk.rounds == single.rounds == max(T - delay, 0)
    assert same(clear(bulk), clear(single))


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_no_delay_is_the_plain_pass(name, timed):
    (make, y), x, times = MODELS[name], features(name), TIMES if timed else None
    plain, zero = make(), make()
    every = rows(name, x, y, slice(None))
    np.testing.assert_array_equal(plain.track(*every, times), zero.track(*every, times, delay=0))
    assert same(plain, zero)


@pytest.mark.parametrize("delay", [0, 3, 10])
@pytest.mark.parametrize("name", some(MODELS, every=2))
def test_pieces_give_what_the_whole_gives(name, delay):
    (make, y), x = MODELS[name], features(name)
    whole, pieces = make(), make()
    expected = whole.track(*rows(name, x, y, slice(None)), TIMES, delay=delay)
    parts, seen = [], 0
    for end in (2, 5, 5, 40, T):  # the first two are shorter than the longest delay
        waiting = min(delay, seen)
        part = slice(seen - waiting, end)
        given = rows(name, x, y, part)
        parts.append(pieces.track(*given, TIMES[part], delay=delay, first=waiting))
        assert len(parts[-1]) == end - seen
        seen = end
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    assert same(clear(whole), clear(pieces))


@pytest.mark.parametrize("name", MODELS)
def test_a_bad_delay_is_refused_unchanged(name):
    make, y = MODELS[name]
    model = make()
    given = rows(name, X, y, slice(0, 20))
    model.track(*given, TIMES[:20])
    before = copy.deepcopy(model)
    more, when = rows(name, X, y, slice(20, 30)), TIMES[20:30]
    for options, message in (
        ({"delay": -1}, "delay must be a whole number"),
        ({"delay": 10**200}, "delay must be a whole number"),
        ({"delay": 1.5}, "delay must be a whole number"),
        ({"delay": True}, "delay must be a whole number"),
        ({"delay": 2, "first": -1}, "first must be a whole number"),
        ({"delay": 2, "first": 3}, "first must be at most delay"),
        ({"delay": 50, "first": 11}, "first must be at most delay .* and the rows passed"),
        ({"first": 1}, "first must be at most delay"),
    ):
        with pytest.raises(ValueError, match=message):
            model.track(*more, when, **options)
        assert same(model, before)
