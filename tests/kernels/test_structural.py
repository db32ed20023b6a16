"""A season and a trend: what they cost, and how many digits they keep."""

import numpy as np
import pytest

import stillpoint as sp
from cases import TIMES
from stillpoint.kernels import OU, Constant, IntegratedBrownian, Periodic, Spline
from stillpoint.losses import Absolute
from stillpoint.memory import make_memory
from stillpoint.regret import interpolate, rkhs_norm
from thorough import some_of

UNEVEN = np.cumsum(0.2 + np.random.default_rng(7).exponential(size=900))
LONG = np.longdouble
needs_extended = pytest.mark.skipif(
    np.finfo(LONG).eps > 1e-18, reason="needs 80-bit floats, which this platform has not"
)


def season(times, period, amplitudes, seed=0):
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, len(amplitudes))
    return sum(
        a * np.cos(2.0 * np.pi * (k * times / period) + phase)
        for k, (a, phase) in enumerate(zip(amplitudes, phases, strict=True), start=1)
    )


def factor(matrix, right):
    """(A⁻¹b, L⁻¹b) in extended precision, A = LL'."""
    a, x, n = matrix.astype(LONG), right.astype(LONG), len(right)
    low = np.zeros((n, n), dtype=LONG)
    for j in range(n):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    for j in range(n):
        x[j] = (x[j] - low[j, :j] @ x[:j]) / low[j, j]
    e = x.copy()
    for j in reversed(range(n)):
        x[j] = (x[j] - low[j + 1 :, j] @ x[j + 1 :]) / low[j, j]
    return x, e


def exact_gram(times, offset, slope):
    t = times.astype(LONG)
    s, t = np.minimum.outer(t, t), np.maximum.outer(t, t)
    return offset + slope * s * t + s * s * s / 3 + (t - s) * s * s / 2


@pytest.mark.parametrize("smoothness", [0.0, 0.75, 1.0, 2.5])
def test_the_variance_of_harmonics_falls_as_documented(smoothness):
    kernel = Periodic(17.5, smoothness, harmonics=6, weight=3.0)
    lags = 17.5 * np.arange(64) / 64
    # the cosine series of k(0, ·) over a period
    series = np.fft.rfft(kernel(lags, 0.0)).real / 32
    k = np.arange(1.0, 7.0)
    np.testing.assert_allclose(
        series[1:7], series[1] * k ** (-2.0 * smoothness), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(np.delete(series, slice(1, 7)), 0.0, atol=1e-14)
    np.testing.assert_allclose(series[1:7], kernel.weights, rtol=1e-12)
    assert float(kernel(5.0, 5.0)) == pytest.approx(3.0, rel=1e-15)
    assert kernel.bound == 3.0


@pytest.mark.parametrize(
    ("period", "harmonics"),
    [(24, 12), (168, 12), (365.25, 12), (12, 6), (7, 3), (2, 1), (23.9, 11), (1.0, 12)],
)
def test_harmonics_by_default_are_those_that_rounds_one_apart_tell_apart(period, harmonics):
    assert Periodic(period).harmonics == harmonics
    assert Periodic(period).state_space().size == 2 * harmonics


def test_a_season_is_the_same_after_any_number_of_periods():
    kernel = Periodic(24.0)
    lags = np.arange(24.0)
    assert np.array_equal(kernel(lags + 24.0 * 2.0**30, 0.0), kernel(lags, 0.0))
    space = kernel.state_space()
    assert np.array_equal(space.transition(5.0 + 24.0 * 2.0**30), space.transition(5.0))
    # round by round: errors of 1e-16 each
    memory, rounds = make_memory(kernel, 1), 100_000
    gradients = np.zeros((rounds, 1))
    gradients[0] = 1.0
    memory.replay(np.arange(1.0, rounds + 1.0), gradients, np.zeros(rounds))
    for ahead in range(1, 8):
        memory.advance(rounds + float(ahead))
        assert memory.pull[0] == pytest.approx(float(kernel(rounds + ahead, 1.0)), abs=1e-10)


@pytest.mark.parametrize(
    ("period", "regular"), some_of([24.0, 168.0, 365.25, 1000.0], [True, False], every=2)
)
def test_a_season_costs_its_amplitudes_over_their_weights(period, regular):
    """Also where the Gram matrix and a filter lose all digits: the first days of a year say next to
    nothing of its twelfth harmonic.
    """
    times = np.arange(1.0, 901.0) if regular else UNEVEN
    kernel, amplitudes = Periodic(period, harmonics=8), np.array([2.0, 0.0, 1.0, 0.5, 0.25])
    u = season(times, period, amplitudes)
    norm = np.sqrt((amplitudes**2 / kernel.weights[:5]).sum())
    assert rkhs_norm(kernel, u, times) == pytest.approx(norm, rel=1e-6)
    # a level of 3 beside it
    both = rkhs_norm(2.0 * Constant() + kernel, u + 3.0, times)
    assert both == pytest.approx(np.hypot(norm, 3.0 / np.sqrt(2.0)), rel=1e-6)
    assert rkhs_norm(kernel, u + 1e-3, times) == np.inf
    assert rkhs_norm(kernel, 0.0 * u, times) == 0.0


def test_norms_without_noise_are_those_of_the_gram_matrix():
    rng, times = np.random.default_rng(2), np.cumsum(0.5 + np.random.default_rng(3).random(6))
    kernel = Periodic(9.7, harmonics=4) * Periodic(5.0, harmonics=2) + Constant(0.5)
    u = rng.standard_normal((6, 3))
    assert rkhs_norm(kernel, u, times) == pytest.approx(
        rkhs_norm(kernel, u, times, method="dense"), rel=1e-9
    )
    found = interpolate(kernel, u, times)
    np.testing.assert_allclose(found(times), u, atol=1e-9)
    assert found.norm == pytest.approx(rkhs_norm(kernel, u, times), rel=1e-12)


def test_an_interpolated_season_goes_on():
    times = np.arange(1.0, 101.0)
    u = season(np.arange(1.0, 501.0), 24.0, [1.0, 0.5, 0.2])
    np.testing.assert_allclose(
        interpolate(Periodic(24.0), u[:100], times)(np.arange(1.0, 501.0)), u, atol=1e-8
    )


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.1])
def test_a_season_that_changes_costs_at_most_the_product_of_both_norms(rate):
    """Aronszajn (1950), section 8: ‖fg‖ ≤ ‖f‖‖g‖ in the space of the product."""
    t = np.arange(1.0, 1001.0)
    f, quasi = season(t, 24.0, [1.0, 0.0, 0.3]), Periodic(24.0) * OU(rate)
    for g in (np.ones(1000), 1.0 + 0.5 * np.sin(t / 200), np.where(t <= 500, 1.0, 0.5)):
        limit = rkhs_norm(Periodic(24.0), f) * rkhs_norm(OU(rate), g)
        norm = rkhs_norm(quasi, f * g)
        assert norm <= limit * (1 + 1e-9)
        # most of it where it changes slowly; a switch is cheap at some hours
        assert norm > (0.8 if g[499] - g[500] < 0.1 else 0.3) * limit


@pytest.mark.parametrize("length", [10, 1000])
def test_a_trend_costs_its_slope_whatever_its_length(length):
    t, b = np.arange(1.0, length + 1.0), 0.3
    for slope in (0.01, 1.0, 100.0):
        kernel = IntegratedBrownian(offset=4.0, slope=slope)
        assert rkhs_norm(kernel, b * t) <= b / np.sqrt(slope) * (1 + 1e-12)
        assert rkhs_norm(kernel, 5.0 + b * t) <= np.hypot(2.5, b / np.sqrt(slope)) * (1 + 1e-12)
    # from rest: the slope is reached within the first round
    assert 3.0 * b**2 <= rkhs_norm(IntegratedBrownian(), b * t) ** 2 <= 4.0 * b**2
    assert rkhs_norm(Spline(), b * t) == pytest.approx(b * np.sqrt(length))


@needs_extended
@pytest.mark.parametrize(("offset", "slope"), [(0.0, 0.0), (2.0, 0.5)])
def test_norms_of_integrated_brownian_motion_keep_their_digits(offset, slope):
    """Against a factor in extended precision; the dense norm has eight digits here."""
    times, kernel = UNEVEN[:120], IntegratedBrownian(offset, slope)
    np.testing.assert_allclose(
        kernel.gram(times), exact_gram(times, offset, slope).astype(float), rtol=1e-14
    )
    u = np.random.default_rng(3).standard_normal(120)
    e = factor(exact_gram(times, offset, slope), u)[1]
    assert rkhs_norm(kernel, u, times) == pytest.approx(float(np.sqrt((e * e).sum())), rel=1e-10)


@needs_extended
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(("offset", "slope"), [(0.0, 0.0), (2.0, 0.5)])
@pytest.mark.parametrize("ridge", [1e-4, 0.01])
def test_forecasts_of_a_trend_are_the_exact_posterior(offset, slope, ridge, times):
    """ŷ_t = k_t'(K_t + λI)⁻¹[y_1..y_{t−1}, 0] in extended precision; in floats that formula is a
    thousand times further from it than the filter.
    """
    when, eye = TIMES[times], np.eye(40)
    y, K = np.random.default_rng(0).standard_normal(40), exact_gram(when, offset, slope)
    exact = np.zeros(40)
    for t in range(1, 40):
        past = slice(0, t + 1)
        dual, _ = factor(K[past, past] + LONG(ridge) * eye[past, past], np.append(y[:t], 0.0))
        exact[t] = K[t, past] @ dual
    forecasts = sp.KernelVAW(kernel=IntegratedBrownian(offset, slope), ridge=ridge).track(y, when)
    assert np.abs(forecasts - exact).max() <= 1e-9 * np.abs(exact).max()


def test_the_noise_of_a_drifting_season_does_not_depend_on_where_it_starts():
    for kernel in (Periodic(7.0) * Spline(1.0), IntegratedBrownian(1.0) * Periodic(7.0)):
        space = kernel.state_space()
        assert space.homogeneous
        np.testing.assert_array_equal(space.noise(1.3, 2.0), space.noise(1.3, 50.0))
    assert not (OU(0.1) * Spline(1.0)).state_space().homogeneous


def walking_harmonics(y, times, level, swing, weights, period):
    """VAW with ridge 1 by a filter of fixed cosines and sines whose coefficients walk; level and
    swing are (variance at time 0, variance of a step) of the level and of the season.
    """
    k = np.arange(1.0, len(weights) + 1.0)
    sizes = np.repeat(weights, 2)
    first, step = (np.append(level[i], swing[i] * sizes) for i in (0, 1))
    C, m, h, last = np.diag(first), np.zeros(first.size), np.ones(first.size), 0.0
    forecasts = np.zeros(len(y))
    for i, (target, t) in enumerate(zip(y, times, strict=True)):
        C += np.diag((t - last) * step)
        angles = 2.0 * np.pi * (k * t % period / period)
        h[1::2], h[2::2], last = np.cos(angles), np.sin(angles), t
        g = C @ h
        S, mean = h @ g + 1.0, h @ m
        forecasts[i] = mean / S
        m += g * (target - mean) / S
        C -= np.outer(g, g) / S
    return forecasts


@pytest.mark.parametrize("times", [np.arange(1.0, 3001.0), UNEVEN], ids=["regular", "irregular"])
def test_a_drifting_season_is_harmonics_whose_coefficients_walk(times):
    """The structural model, with the rotation in the basis and not in the state."""
    y = season(times, 24.0, [3.0, 1.0]) + np.random.default_rng(8).standard_normal(times.size)
    wave = Periodic(24.0, 0.75)
    for own, swing in (
        (10.0 * wave, (10.0, 0.0)),
        (1e-3 * (wave * Spline(1e4)), (10.0, 1e-3)),
    ):
        forecasts = sp.KernelVAW(kernel=0.01 * Spline(1e3) + own).track(y, times)
        twin = walking_harmonics(y, times, (10.0, 0.01), swing, wave.weights, 24.0)
        assert np.abs(forecasts - twin).max() <= 1e-11 * np.abs(twin).max()


def test_a_level_and_a_season_forecast_a_seasonal_series():
    """Hourly, forty days: the level walks, the season drifts, the noise has variance 1."""
    rng, t = np.random.default_rng(5), np.arange(1.0, 961.0)
    swing = 1.0 + np.cumsum(0.005 * rng.standard_normal(960))
    walk = np.cumsum(0.03 * rng.standard_normal(960))
    clean = walk + swing * season(t, 24.0, [4.0, 2.0, 1.0])
    y = clean + rng.standard_normal(960)
    kernel = 1e-3 * Spline(1e4) + 1e-4 * (Periodic(24.0, 0.75) * Spline(1e5))
    model = sp.KernelVAW(kernel=kernel)
    ours = np.mean((y - model.track(y))[480:] ** 2)  # 1.21, of which the noise is 1.04
    last, day = (np.mean((y[n:] - y[:-n])[480:] ** 2) for n in (1, 24))  # 3.2 and 2.1
    level = np.mean((y - sp.KernelVAW(kernel=0.3 * Spline(10.0)).track(y))[480:] ** 2)  # 6.2
    assert ours < 1.3 < 0.65 * day < 0.65 * last < level
    # a day ahead, nothing learnt on the way: the season is still there
    for hour in range(720, 744):
        ahead = sp.KernelVAW(kernel=kernel)
        ahead.track(y[:720])
        assert abs(ahead.predict(time=t[hour]) - clean[hour]) < 1.5


def test_certificates_dominate_the_regret_against_a_season():
    rng, t = np.random.default_rng(6), np.arange(1.0, 501.0)
    u = season(t, 24.0, [1.0, 0.4])
    y = u + 0.3 * rng.standard_normal(500)
    kernel = Periodic(24.0)
    learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=kernel, potential=sp.potentials.Erfi())
    plays = np.zeros(500)
    for i in range(500):
        plays[i] = learner.predict()[0]
        learner.update(np.sign(plays[i] - y[i]))
    norm = rkhs_norm(kernel, u)
    regret = np.abs(y - plays).sum() - np.abs(y - u).sum()
    assert regret <= learner.certificate(norm) <= learner.bound(norm)
    assert np.abs(y - plays)[250:].mean() < 0.6 * np.abs(y).mean()
    assert sp.play(
        sp.KernelFTRL(1, lipschitz=1.0, kernel=kernel, potential=sp.potentials.Erfi()),
        Absolute().on(y),
    ).plays[:, 0] == pytest.approx(plays, abs=1e-12)


def test_kernels_print_what_builds_them():
    assert repr(Periodic(24.0)) == (
        "Periodic(period=24.0, smoothness=1.0, harmonics=12, weight=1.0)"
    )
    for kernel in (Periodic(7, 0.75), IntegratedBrownian(slope=0.5)):
        names = {"Periodic": Periodic, "IntegratedBrownian": IntegratedBrownian}
        assert eval(repr(kernel), names) == kernel
    assert Periodic(24.0) == Periodic(24.0, harmonics=12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Periodic(0.0), "period must be positive: got 0.0; give the length of the season"),
        (lambda: Periodic(np.nan), "period must be"),
        (lambda: Periodic("day"), "period must be"),
        (lambda: Periodic(24.0, -1.0), "smoothness must not be negative: got -1.0"),
        (lambda: Periodic(24.0, harmonics=0), "harmonics must be a positive whole number: got 0"),
        (lambda: Periodic(24.0, harmonics=2.5), "harmonics must be a positive whole number"),
        (lambda: Periodic(24.0, harmonics=1001), "harmonics must be at most 1000: got 1001"),
        (lambda: Periodic(24.0, weight=0.0), "weight must be positive"),
        (lambda: IntegratedBrownian(offset=-1.0), "offset must not be negative: got -1.0"),
        (lambda: IntegratedBrownian(slope=-1.0), "slope must not be negative: got -1.0"),
        (lambda: IntegratedBrownian()(-0.5, 1.0), "time must be at least 0 .* got -0.5; shift"),
    ],
)
def test_bad_parameters_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("make", [sp.KernelVAW, lambda **k: sp.KernelFTRL(1, **k)])
def test_a_trend_that_starts_before_0_is_refused_and_nothing_changes(make):
    learner = make(kernel=IntegratedBrownian())
    before = learner.arrays()
    with pytest.raises(ValueError, match="time must be at least 0"):
        learner.predict(time=-1.0)
    after = learner.arrays()
    assert all(np.array_equal(before[key], after[key], equal_nan=True) for key in before)
    learner.predict(time=2.0)
