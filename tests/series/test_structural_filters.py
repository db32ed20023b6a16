"""Structural filters on tables of gains against exact Kalman filters and Gaussian processes."""

import threading

import numpy as np
import pytest
from series_twins import HOUR, MODELS, NAMES, Kalman, filters, row, wavy

from stillpoint.core._harmonics import fill
from stillpoint.series import _structural
from stillpoint.series.gains import Gains, Model, shared
from stillpoint.series.harmonics import harmonics
from thorough import some

SEASONS = {"none": (), "seven": (7.0,), "two": (4.0, 12.0), "not whole": (6.25, 30.4)}
EXACT = {name: Gains(periods, MODELS, thin=False) for name, periods in SEASONS.items()}
AHEAD = np.array([1, 2, 5, 17])
ALL = range(len(MODELS))


def play(periods, gains, y, start=0, ahead=AHEAD, of=ALL):
    """Forecasts of these filters in all rounds, (rounds, models, knots)."""
    h, f = harmonics(periods), filters(periods, gains, y[~np.isnan(y)][0], y.size)
    times, out = np.arange(start, start + y.size + ahead[-1]), np.empty(ahead.size)
    rows = np.empty((times.size, h.columns))
    for i, t in enumerate(times):
        fill(h.frequencies, int(t), rows[i])
    said = np.empty((y.size, len(of), ahead.size))
    for t, value in enumerate(y):
        for place, i in enumerate(of):
            _structural.forecast(f.means[i], f.models[i], rows, t, ahead, out)
            said[t, place] = out
        _structural.close_round(float(value), 0.0, not np.isnan(value), t, rows[t], f)
    return said


def exact(periods, model, y, start=0, ahead=AHEAD):
    """The same of one filter with a covariance of its own, (rounds, knots)."""
    twin, said = Kalman(model, periods, y[~np.isnan(y)][0]), np.empty((y.size, ahead.size))
    for t, value in enumerate(y):
        said[t] = [twin.forecast(start + t, h) for h in ahead]
        twin.round(start + t, value)
    return said


@pytest.mark.parametrize("start", [0, 5, 1003])
@pytest.mark.parametrize("name", some(SEASONS, every=2))
def test_gains_from_tables_give_the_exact_filter_whenever_the_series_starts(name, start):
    y = wavy(260, SEASONS[name], level=3.0)
    said = play(SEASONS[name], EXACT[name], y, start)
    for i, model in enumerate(MODELS):
        np.testing.assert_allclose(
            said[:, i], exact(SEASONS[name], model, y, start), rtol=0, atol=1e-9, err_msg=NAMES[i]
        )


def kernel(model, periods, times):
    """Covariance of level, slope, deviation and seasons at times 0, 1, …"""
    n, small = times.size, np.minimum.outer(times, times)
    apart = times[:, None] - times[None, :]
    K = 1e4 + model.level * small
    if model.slope >= 0.0:
        variance = np.empty(n)
        variance[0] = 1.0
        for t in range(1, n):
            variance[t] = model.damping**2 * variance[t - 1] + model.slope
        slopes = model.damping ** np.abs(apart) * variance[small]
        before = np.tril(np.ones((n, n)), -1)
        K = K + before @ slopes @ before.T
    if model.deviation > 0.0:
        K = K + model.deviation * model.memory ** np.abs(apart)
    h, j = harmonics(periods), 0
    for f, both in h.frequencies:
        K = K + (10.0 + model.seasons * small) * h.smooth[j] * np.cos(2.0 * np.pi * f * apart)
        j += 2 if both else 1
    return K


@pytest.mark.parametrize("name", SEASONS)
def test_filters_are_the_posteriors_of_gaussian_processes(name):
    y = wavy(150, SEASONS[name], level=-20.0)
    said, centre = play(SEASONS[name], EXACT[name], y), y[0]
    for i, model in enumerate(MODELS):
        K = kernel(model, SEASONS[name], np.arange(y.size + int(AHEAD[-1])))
        for t in (1, 2, 10, 40, 149):
            seen = np.arange(t)
            weights = np.linalg.solve(K[:t, :t] + np.eye(t), y[:t] - centre)
            want = centre + K[np.ix_(t + AHEAD - 1, seen)] @ weights
            np.testing.assert_allclose(said[t, i], want, rtol=0, atol=1e-6, err_msg=NAMES[i])


def simulated(model, periods, T, seed):
    """A series that the model itself would make."""
    rng, h = np.random.default_rng(seed), harmonics(periods)
    level, slope, deviation, beta = 0.0, 0.0, 0.0, rng.normal(size=h.columns) * h.smooth**0.5
    y = np.empty(T)
    for t in range(T):
        y[t] = level + deviation + beta @ row(periods, t) + rng.normal()
        level += slope + rng.normal() * model.level**0.5
        slope = model.damping * slope + rng.normal() * max(model.slope, 0.0) ** 0.5
        wander = model.deviation * (1.0 - model.memory**2)
        deviation = model.memory * deviation + rng.normal() * wander**0.5
        beta = beta + rng.normal(size=h.columns) * (model.seasons * h.smooth) ** 0.5
    return y


@pytest.mark.parametrize("periods", [(), (7.0,), HOUR], ids=["none", "seven", "two"])
def test_thinned_tables_cost_a_ten_thousandth_of_the_squared_error(periods):
    gains, one, ratios, apart = Gains(periods, MODELS, thin=False), np.array([1]), [], 0.0
    assert shared(periods, MODELS).ages.size < 600
    for i, model in enumerate(MODELS):
        y = simulated(model, periods, 3000, seed=i)
        thin = play(periods, shared(periods, MODELS), y, ahead=one, of=[i])[:, 0, 0]
        whole = play(periods, gains, y, ahead=one, of=[i])[:, 0, 0]
        ratios.append(((thin - y) ** 2).mean() / ((whole - y) ** 2).mean())
        apart = max(apart, np.abs(thin - whole).max())
    assert np.mean(ratios) == pytest.approx(1.0, abs=1e-4)
    assert ratios == pytest.approx(np.ones(5), abs=3e-4)
    assert apart > 1e-6


def missed(name, i, holes_of, judged, seeds):
    """Squared error of filter i over that of an exact one, on series that lack some values."""
    periods, own, best = SEASONS[name], 0.0, 0.0
    for seed in seeds:
        y = simulated(MODELS[i], periods, 2200, seed=seed)
        holes = y.copy()
        holes[holes_of] = np.nan
        one = np.array([1])
        said = play(periods, EXACT[name], holes, ahead=one, of=[i])[:, 0, 0]
        assert np.isfinite(said).all()
        own += ((said - y)[judged] ** 2).mean()
        best += ((exact(periods, MODELS[i], holes, ahead=one)[:, 0] - y)[judged] ** 2).mean()
    return own / best


FIFTH = np.append(False, np.random.default_rng(7).uniform(size=2199) < 0.2)


@pytest.mark.parametrize("name", some(["two", "none", "seven"]))
def test_a_fifth_missing_costs_about_a_hundredth_of_the_squared_error(name):
    lost = [missed(name, i, FIFTH, slice(100, None), seeds=(i, 10 + i)) for i in range(5)]
    assert np.mean(lost) < 1.01
    # the slope's drift has no gap of its own, and seasons share one
    assert max(lost) < 1.03
    assert min(lost) > 0.995


@pytest.mark.parametrize("name", some(["seven", "none"], every=2))
def test_after_a_gap_of_a_thousand_rounds_filters_find_back(name):
    gap = np.zeros(2200, dtype=bool)
    gap[500:1800] = True
    lost = [missed(name, i, gap, slice(1801, 2001), seeds=(i, 10 + i)) for i in range(5)]
    assert max(lost) < 1.3


def test_for_one_random_walk_the_rule_of_gaps_is_exact_once_gains_are_steady():
    y = wavy(2000, ())
    holes = y.copy()
    holes[1000:][np.random.default_rng(1).uniform(size=1000) < 0.5] = np.nan
    holes[1300:1380] = np.nan
    said, ignored = play((), EXACT["none"], holes), y.copy()
    for i in (NAMES.index("fast"), NAMES.index("seasons"), NAMES.index("slow")):
        want = exact((), MODELS[i], holes)
        # gaps of less than a thousandth of a round's drift are forgotten
        np.testing.assert_allclose(said[:, i], want, rtol=0, atol=1e-3)
        ignored[np.isnan(holes)] = said[np.isnan(holes), i, 0]
        blind = play((), EXACT["none"], ignored)[:, i]
        assert np.abs(blind - want).max() > 0.01


@pytest.mark.parametrize("periods", [(), (7.0,), (6.25, 30.4)], ids=["none", "whole", "not whole"])
def test_a_table_grown_in_steps_has_the_bits_of_one_grown_at_once(periods):
    at_once, steps = Gains(periods, MODELS).up_to(700), Gains(periods, MODELS)
    for age in (0, 1, 63, 64, 65, 200, 390, 391, 699, 700):
        table = steps.up_to(age)
        assert table.row_of_age.size > age
        assert table.row_of_age.max() == table.gains.shape[1] - 1 == table.variances.shape[1] - 1
    rows = at_once.gains.shape[1]
    np.testing.assert_array_equal(steps.up_to(700).gains[:, :rows], at_once.gains)
    np.testing.assert_array_equal(steps.up_to(700).variances[:, :rows], at_once.variances)
    np.testing.assert_array_equal(
        steps.up_to(700).row_of_age[: at_once.row_of_age.size], at_once.row_of_age
    )


def test_tables_end_with_the_last_age():
    gains = Gains((), MODELS[:1])
    table = gains.up_to(10**9)
    assert table is gains.up_to(10**12)
    assert table.row_of_age.size == 12_001
    steady = table.gains[0, -1, 0]
    q = MODELS[0].level
    variance = (q + (q * q + 4.0 * q) ** 0.5) / 2.0  # of a random walk in noise of variance 1
    assert steady == pytest.approx(variance / (variance + 1.0), abs=1e-12)


def test_two_threads_that_grow_a_table_get_the_bits_of_one():
    want, gains, wrong = Gains((7.0,), MODELS).up_to(2000), Gains((7.0,), MODELS), []

    def grow(step):
        for age in range(0, 2000, step):
            table = gains.up_to(age)
            rows = table.gains.shape[1]
            good = table.row_of_age.size > age and table.row_of_age.max() == rows - 1
            shared_rows = min(rows, want.gains.shape[1])
            if not good or not np.array_equal(
                table.gains[:, :shared_rows], want.gains[:, :shared_rows]
            ):
                wrong.append(age)

    threads = [threading.Thread(target=grow, args=(step,)) for step in (17, 23)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_tables_are_shared_by_models_and_seasons():
    assert shared((7.0,), MODELS) is shared((7.0,), MODELS)
    assert shared((7.0,), MODELS) is not shared((7.5,), MODELS)
    assert shared((7.0,), (Model(0.1, 1e-4),)) is not shared((7.0,), MODELS)
