"""Aggregation per knot, its delays and its guarantee, against a plain loop."""

import math

import numpy as np
import pytest
from aggregation_twin import Books, Knot, combined, weights
from series_twins import closed, noise, opened, path, state, wavy

from stillpoint.series import _knots
from stillpoint.series._knots import ISSUE, ROW, Rule
from stillpoint.series._scale import AT, BY
from stillpoint.series.knots import RULE
from thorough import some

# pool, seasons, horizon, rounds
CASES = {
    "one step": ("full", (7.0,), 1, 200),
    "a week": ("full", (7.0,), 7, 200),
    "a day": ("full", (4.0, 24.0), 24, 200),
    "a hundred": ("full", (6.0,), 100, 300),
    "half a day": ("small", (24.0,), 24, 200),
    "half a hundred": ("middle", (), 100, 300),
}


def series(periods, T):
    """A series with some noise, gaps and outliers."""
    y = wavy(T, periods, level=8.0)
    y[T // 2], y[T // 2 + 9] = 60.0, -45.0
    y[30:33], y[T - 40], y[T - 17 : T - 12] = np.nan, np.nan, np.nan
    return y


@pytest.fixture(scope="module")
def runs():
    return {}


def run(runs, name):
    """Play a case beside its twin; keeps the largest differences."""
    if name in runs:
        return runs[name]
    pool, periods, horizon, T = CASES[name]
    y = series(periods, T)
    m = state(pool, periods, horizon, y[~np.isnan(y)], ages=T)
    a, s, clock = m.knots, m.scalars, m.clock
    stride, slots = int(clock[BY.stride]), int(clock[BY.slots])
    K, knots = a.experts.shape[2], [int(h) for h in a.horizons]
    twins = [Knot(K, RULE, bool(periods)) for _ in knots]
    apart, paths = 0.0, 0.0
    for t in range(T):
        forecast = opened(m)
        for k in range(len(knots)):
            if k and t % stride:
                continue
            slot = (t // stride) % slots if k else slots
            want = twins[k].issue(t, a.waiting[slot, k])
            apart = max(apart, abs(want - a.issued[slot, k, ISSUE.forecast]))
        assert forecast == a.issued[slots, 0, ISSUE.forecast]
        if t % 80 == 79:
            out, p = path(m, horizon), m.room
            at = np.log(knots) if m.knots.fraction.size and CASES[name][0] != "full" else knots
            for h in range(1, horizon + 1):
                here = math.log(h) if at is not knots else h
                parts = [
                    np.array([np.interp(here, at, column) for column in np.transpose(part)])
                    if np.ndim(part[0])
                    else np.interp(here, at, part)
                    for part in map(np.array, zip(*(twin.blend() for twin in twins), strict=True))
                ]
                paths = max(paths, abs(combined(p[h - 1], *parts)[2] - out[h - 1]))
        width = s[AT.high] - s[AT.low]
        if t > 0 and not math.isnan(y[t]):
            for k, h in enumerate(knots):
                origin = t - h + 1
                if origin >= 1 and (k == 0 or origin % stride == 0):
                    twins[k].judge(origin, y[t], width)
        closed(m, y[t])
    runs[name] = m, twins, knots, apart, paths
    return runs[name]


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_every_knot_forecasts_as_a_plain_loop_whose_forecasts_wait_by_their_origin(runs, name):
    m, twins, knots, apart, _ = run(runs, name)
    assert apart < 1e-9
    for k, twin in enumerate(twins):
        table = m.knots.experts[k]
        np.testing.assert_allclose(table[ROW.regret], twin.first.R, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(table[ROW.squares], twin.first.V, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(m.knots.stack[k], twin.theta, rtol=0, atol=1e-9)
        assert m.knots.scalars[k, _knots.AT.seen] == twin.seen > 30.0
    assert all(h == 1 or not any(h % p == 0 for p in CASES[name][1]) for h in knots)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][2] > 1])
def test_between_knots_weights_are_interpolated(runs, name):
    _, _, knots, _, paths = run(runs, name)
    assert len(knots) > 1
    assert paths < 1e-9


@pytest.mark.parametrize("name", CASES)
def test_one_step_ahead_regrets_bound_the_excess_over_every_expert_and_mixture(runs, name):
    m, twins, *_ = run(runs, name)
    twin, rng = twins[0], np.random.default_rng(0)
    pm, p, y, scale = map(np.array, zip(*twin.judged, strict=True))
    R = m.knots.experts[0, ROW.regret]
    K = R.size
    excess = scale[:, None] * ((pm - y)[:, None] ** 2 - (p - y[:, None]) ** 2)
    assert (excess.sum(axis=0) <= R + 1e-6).all()
    # what is withheld from experts far behind is what mixtures with them may have left
    for q in rng.dirichlet(np.full(K, 0.3), size=50):
        extra = scale * ((pm - y) ** 2 - (p @ q - y) ** 2)
        assert extra.sum() <= q @ (R + twin.first.withheld) + 1e-6
    bound = math.sqrt(twin.first.paid * (twin.first.record + twin.first.V.max()))
    assert R.max() <= bound


def aggregated(p, y, rule):
    """ML-Poly of the compiled functions on given forecasts in units of the noise."""
    T, K = p.shape
    table, record, books = np.zeros((5, K)), 0.0, Books(K)
    for t in range(T):
        _knots.weigh(table, record, float(t))
        pm = float(table[ROW.poly] @ p[t])
        assert pm == pytest.approx(
            weights(books.R, books.V, books.L, books.record, t)[0] @ p[t], abs=1e-9
        )
        record = _knots.credit(table, record, pm, p[t], y[t], 1.0, rule)
        books.credit(pm, p[t], y[t], 1.0, *rule[:2])
    return table, record, books


def test_the_bound_holds_and_is_reached_in_the_first_round():
    # two experts on opposite sides; the value is where the weights are not
    T, rule = 300, Rule(math.inf, math.inf)
    p, y, books, ratios = np.tile([1.0, -1.0], (T, 1)), np.empty(T), Books(2), []
    for t in range(T):
        pm = weights(books.R, books.V, books.L, books.record, 0.0)[0] @ p[t]
        y[t] = -math.copysign(3.0, pm)
        books.credit(pm, p[t], y[t], 1.0, *rule[:2])
        bound = math.sqrt(books.paid * (books.record + books.V.max()))
        ratios.append(books.R.max() / bound)
    assert ratios[0] == pytest.approx(1.0, abs=1e-12)
    assert max(ratios) < 1.0 + 1e-12
    assert min(ratios) > 0.2
    table, record, _ = aggregated(p, y, rule)
    np.testing.assert_allclose(table[ROW.regret], books.R, rtol=1e-9)
    assert record == pytest.approx(books.record)


def test_a_round_counts_for_so_much_and_no_more():
    p, y = np.array([[0.0, 1.0, 2.0]]).repeat(40, axis=0), noise(40)
    y[20] = 1e6
    table, record, books = aggregated(p, y, RULE)
    assert record == pytest.approx(200.0**2)
    np.testing.assert_allclose(table[ROW.regret], books.R, rtol=1e-9)
    assert np.isfinite(table).all()


def test_weights_are_a_mixture_even_where_nothing_is_regretted():
    table = np.zeros((5, 4))
    _knots.weigh(table, 0.0, 0.0)
    np.testing.assert_array_equal(table[ROW.poly], 0.25)
    table[ROW.regret], table[ROW.loss] = -1.0, [0.0, 1e4, 5.0, 1e6]
    _knots.weigh(table, 9.0, 3.0)
    np.testing.assert_array_equal(table[ROW.poly], 0.25)
    assert table[ROW.blend].sum() == pytest.approx(1.0, abs=1e-12)
