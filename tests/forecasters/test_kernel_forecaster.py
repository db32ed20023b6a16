"""KernelForecaster and the aggregators: filters against KernelVAW, rules against literal twins,
bounds on hostile streams, regret.
"""

import math

import numpy as np
import pytest

import stillpoint as sp
from series_cases import check_refusals
from stillpoint.forecasters import KernelVAW
from stillpoint.forecasters._aggregation import AT
from stillpoint.forecasters.aggregation import ExponentialWeights, MLPoly, Vovk
from stillpoint.forecasters.kernel_forecaster import KernelForecaster
from stillpoint.kernels import OU, Gaussian, Matern32, Spline
from thorough import some, some_of

RULES = ("ml-poly", "vovk", "exponential")
SHARING = [
    ("ml-poly", 0.0),
    ("vovk", 0.0),
    ("vovk", 0.01),
    ("exponential", 0.0),
    ("exponential", 0.1),
]
KINDS = {"ml-poly": MLPoly, "vovk": Vovk, "exponential": ExponentialWeights}


def noisy(T, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(np.arange(T) / 40.0) + 0.5 * rng.standard_normal(T)


def irregular(T, seed=1):
    return np.cumsum(np.random.default_rng(seed).exponential(2.0, T)) + 0.3


def signals(T):
    x = np.arange(1, T + 1) / T
    bend = (
        0.3 * np.sin(6 * np.pi * x)
        + 0.6 * (x > 0.23)
        - (x > 0.61)
        + 2 * np.abs(x - 0.8) * (x > 0.8)
    )
    return {
        "smooth": np.sin(2 * np.pi * x + 0.7),
        "jumps": np.floor(4.999 * x) % 2 - 0.5,
        "piecewise smooth": bend,
    }


def twin(name, rows, y, share=0.0):
    """Each rule from its definition, by weights and losses from round one; the rows are as long as
    experts are many.
    """
    R, V, B, Y, out = [], [], 0.0, 0.0, []
    for p, target in zip(rows, y, strict=True):
        p = np.clip(p, -Y, Y)
        R, V = (np.append(old, np.zeros(p.size - len(old))) for old in (R, V))
        eta = math.inf if Y == 0 else {"vovk": 1 / Y**2, "exponential": 1 / (4 * Y**2)}.get(name)
        if Y == 0:
            f = 0.0
        elif name == "ml-poly":
            w = np.maximum(R, 0) / (B + V) if B > 0 else np.zeros(p.size)
            f = w @ p / w.sum() if w.sum() > 0 else p.mean()
        else:
            w = np.exp(eta * R) / np.exp(eta * R).sum()
            G = {z: -math.log(w @ np.exp(-eta * (z - p) ** 2 / 2)) / eta for z in (-Y, Y)}
            f = w @ p if name == "exponential" else (G[-Y] - G[Y]) / (2 * Y)
        out.append(f)
        seen = np.clip(target, -Y, Y)
        if name == "ml-poly":
            r = (f - seen) * (f - p)
            R, V, B = R + r, V + r**2, max(B, (r**2).max())
        elif Y > 0:
            R = R + (f - seen) ** 2 / 2 - (p - seen) ** 2 / 2
            if share:
                u = np.exp(eta * R)
                R = np.log((1 - share) * u + share * u.mean()) / eta
        Y = max(Y, abs(target))
    return np.array(out)


def experts(T, N, seed, late=False):
    rng = np.random.default_rng(seed)
    y = noisy(T, seed)
    rows = y[:, None] * rng.uniform(0, 1, N) + rng.standard_normal((T, N)) * rng.uniform(0.1, 1, N)
    return [row[: min(N, 1 + t // 20)] if late else row for t, row in enumerate(rows)], y


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("name", "share"), SHARING)
def test_aggregators_equal_their_twins(name, share, late):
    rows, y = experts(150, 5, 3, late)
    model = KINDS[name](share) if share else KINDS[name]()
    out = []
    for p, target in zip(rows, y, strict=True):
        out.append(model.combine(p))
        model.learn(p, out[-1], target)
    np.testing.assert_allclose(out, twin(name, rows, y, share), rtol=1e-9, atol=1e-9)
    assert model.weights.shape == (5,)
    assert model.weights.sum() == pytest.approx(1.0)


def hostile(kind, seed, T=400, N=4):
    """Forecasts and a target chosen against the aggregate, round by round."""
    rng = np.random.default_rng(seed)
    scale = (
        np.ones(T)
        if seed % 3 == 0
        else 1.1 ** np.arange(T)
        if seed % 3 == 1
        else 2.0 ** rng.integers(0, 12, T)
    )
    for t in range(T):
        if kind == "random":
            yield rng.standard_normal(N) * scale[t], lambda f, t=t: rng.standard_normal() * scale[t]
        elif kind == "away":  # as far from the aggregate as can be
            yield np.linspace(-1, 1, N) * scale[t] * 3, lambda f, t=t: -math.copysign(scale[t], f)
        else:  # one expert, another after each change, is always right
            target = rng.choice([-1.0, 1.0]) * scale[t]
            p = np.full(N, -target)
            p[t // 100 % N] = target
            yield p, lambda f, target=target: target


@pytest.mark.parametrize("seed", some(range(6), every=4))
@pytest.mark.parametrize("kind", ["random", "away", "one knows"])
@pytest.mark.parametrize(("name", "share"), SHARING)
def test_bounds_hold_against_unclipped_experts(name, share, kind, seed):
    model = KINDS[name](share) if share else KINDS[name]()
    excess, pieces = np.zeros(4), 0.0
    for t, (p, choose) in enumerate(hostile(kind, seed)):
        f = model.combine(p)
        y = choose(f)
        model.learn(p, f, y)
        excess += 0.5 * (y - f) ** 2 - 0.5 * (y - p) ** 2
        pieces += 0.5 * (y - f) ** 2 - 0.5 * (y - p[t // 100]) ** 2
        assert all(excess[i] <= model.bound(i) * (1 + 1e-9) for i in range(4))
        if share:
            assert pieces <= model.bound(t // 100, switches=t // 100) * (1 + 1e-9)
    if name != "ml-poly" and not share:
        assert model.bound(0) <= model.range**2 * (
            (1 if name == "vovk" else 4) * math.log(4) + 1
        ) * (1 + 1e-9)
    if name == "ml-poly":  # the inequality behind its bound, which is tighter
        R, V, s, _ = model.state
        assert (np.maximum(R, 0) ** 2 / (s[AT.record] + V)).sum() <= s[AT.potential] * (1 + 1e-9)


@pytest.mark.parametrize("times", [np.arange(1.0, 301.0), irregular(300)])
def test_experts_equal_kernel_vaw(times):
    y, ridges = noisy(300), 4.0 ** np.arange(12)
    y[[5, 6, 40]] = np.nan
    model, peers = (
        KernelForecaster(ridges=ridges),
        [KernelVAW(Spline(offset=ridge), ridge=ridge) for ridge in ridges],
    )
    growing = KernelForecaster()
    for t, (time, target) in enumerate(zip(times, y, strict=True)):
        model.predict(time)
        growing.predict(time)
        expected = [peer.predict(time) + (y[0] if t else 0.0) for peer in peers]
        np.testing.assert_allclose(model.forecasts, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(
            growing.forecasts[:12], model.forecasts[: growing.forecasts.size]
        )
        for learner in (model, growing, *peers):
            shown = target - y[0] if learner in peers else target
            learner.skip() if np.isnan(target) else learner.update(shown)


def test_ridges_join_as_time_goes_on():
    model = KernelForecaster()
    for t in range(1, 70):
        model.predict()
        assert model.ridges.size == 1 + math.ceil(math.log2(t)) == model.weights.size
        model.update(math.sin(t))
    model.predict(1e6)
    assert model.ridges.size == 21


@pytest.mark.parametrize(
    ("sharing", "kernels"), some_of(SHARING, [None, [OU(0.1), Matern32(20.0)], [Gaussian(9.0)]])
)
def test_bulk_and_resumed_runs_equal_interactive_bit_for_bit(sharing, kernels):
    name, share = sharing
    y, times = noisy(200), irregular(200)
    y[::17] = np.nan
    options = {
        "kernels": kernels,
        "ridges": None if kernels is None else [1, 10],
        "aggregation": name,
        "share": share,
    }
    for when in (None, times):
        one, bulk, other = (
            KernelForecaster(**options),
            KernelForecaster(**options),
            KernelForecaster(**options),
        )
        out = np.empty(200)
        for t in range(200):
            out[t] = one.predict(None if when is None else when[t])
            if t % 50 == 7:  # with the round open
                copy = KernelForecaster(**one.config)
                copy.restore(one.arrays())
                one = copy
            one.skip() if np.isnan(y[t]) else one.update(y[t])
        np.testing.assert_array_equal(bulk.track(y, when), out)
        halves = [
            other.track(part, at) for part, at in ((y[:90], when if when is None else when[:90]),)
        ]
        halves.append(other.track(y[90:], None if when is None else when[90:]))
        np.testing.assert_array_equal(np.concatenate(halves), out)
        for learner in (bulk, other):
            assert learner.rounds == 200
            assert learner.variance == one.variance > 0
            for key, value in one.arrays().items():
                np.testing.assert_array_equal(learner.arrays()[key], value)


def test_missing_observations_teach_nothing_but_widen():
    model = KernelForecaster()
    model.track(noisy(100))
    model.predict()
    before, forecasts, weights = model.variance, model.forecasts, model.weights
    for _ in range(10):
        model.skip()
    model.predict()
    assert model.variance > before
    np.testing.assert_array_equal(model.weights, weights)
    away = np.abs(model.forecasts - model.centre)
    assert (away <= np.abs(forecasts - model.centre)).all()
    assert np.isfinite(KernelForecaster().track(np.full(50, np.nan))).all()


@pytest.mark.parametrize("name", RULES)
def test_scale_and_constants(name):
    y = noisy(500)
    plain = KernelForecaster(aggregation=name).track(y)
    for scale in (1e12, 1e-12, 1e60, 1e-100):
        scaled = KernelForecaster(aggregation=name).track(scale * y)
        assert np.isfinite(scaled).all()
        if scale != 1e-100:  # there ML-Poly's fourth powers are 0 and it plays the mean
            np.testing.assert_allclose(scaled / scale, plain, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(KernelForecaster(aggregation=name).track(np.zeros(50)), 0.0)
    for level in (5.0, -1e12):
        np.testing.assert_array_equal(
            KernelForecaster(aggregation=name).track(np.full(50, level))[1:], level
        )


@pytest.mark.parametrize("kernels", [None, [OU(0.1)]])
def test_a_state_of_version_0_1_counts_from_0_and_goes_on_so(kernels):
    """Its arrays had no centre: what was not centred then is not centred later."""
    y = 3.0 + noisy(60)
    old, new = KernelForecaster(kernels), KernelForecaster(kernels)
    before = {key: value for key, value in old.arrays().items() if key != "centre"}
    old.restore(old.migrated(before))
    assert old.centre == 0.0
    forecasts = old.track(y)
    assert old.centre == 0.0
    assert forecasts[1] < y[0]  # shrunk towards 0, and clipped to what was seen
    assert new.track(y)[1] == new.centre == y[0]
    away = KernelForecaster(kernels).track(y - y[0])
    np.testing.assert_array_equal(away[1:] + y[0], KernelForecaster(kernels).track(y)[1:])


def test_fleets_of_version_0_1_count_from_0_and_go_on_so():
    fleet, again = sp.Fleet(KernelForecaster), sp.Fleet(KernelForecaster)
    old = KernelForecaster()
    state = {name: value for name, value in old.arrays().items() if name != "centre"}
    old.restore(old.migrated(state))
    fleet.adopt("a", old)
    saved = {name: value for name, value in fleet.arrays().items() if name != "state.centre"}
    again.restore(again.migrated(saved))
    for target in 3.0 + noisy(30):
        for each in (fleet, again):
            assert each.predict(["a"])[0] == old.predict()
            each.update(["a"], [target])
        old.update(target)
    assert again.learner("a").centre == 0.0


@pytest.mark.parametrize("name", ["vovk", "exponential"])
def test_shares_of_tiny_targets_do_no_harm(name):
    """1/Y² is infinite for Y = 1e-170; weights must go on being learnt once the targets
    have grown.
    """
    y = np.append([1e-170, 2e-170, 1e-170], noisy(300))
    model = KernelForecaster(aggregation=name, share=1e-3)
    model.track(y)
    assert np.isfinite(model.aggregator.state.regrets).all()
    assert np.ptp(model.weights) > 0.01
    assert math.isfinite(model.bound(0))


def test_variance_covers_the_signal():
    T, inside = 4000, 0
    u = np.sin(np.arange(T) / 200.0)
    y = u + 0.5 * np.random.default_rng(4).standard_normal(T)
    model = KernelForecaster()
    for t in range(T):
        f = model.predict()
        inside += abs(f - u[t]) <= 2 * math.sqrt(model.variance) if t else 0
        model.update(y[t])
    assert 0.85 < inside / T <= 1.0


@pytest.mark.parametrize("name", RULES)
def test_bound_holds_from_the_round_each_ridge_joined(name):
    y = noisy(1500, 7) * np.linspace(0.1, 3, 1500)
    model, excess = KernelForecaster(aggregation=name), np.zeros(32)
    for target in y:
        f = model.predict()
        p = model.forecasts
        model.update(target)
        excess[: p.size] += 0.5 * (target - f) ** 2 - 0.5 * (target - p) ** 2
        assert all(excess[i] <= model.bound(i) for i in range(p.size))


def test_regret_is_near_the_best_fixed_ridge():
    T, limits = 3000, {"smooth": 1.25, "jumps": 1.15, "piecewise smooth": 1.15}
    grid = np.geomspace(0.1, 4.0**14, 60)
    for name, u in signals(T).items():
        ours = best = 0.0
        for seed in range(2):
            y = u + 0.5 * np.random.default_rng(seed).standard_normal(T)
            base = 0.5 * ((u - y) ** 2).sum()
            ours += 0.5 * ((KernelForecaster().track(y) - y) ** 2).sum() - base
            best += (
                min(0.5 * ((KernelForecaster(ridges=[r]).track(y) - y) ** 2).sum() for r in grid)
                - base
            )
        assert ours <= limits[name] * best, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernels": "spline"}, "kernels must be kernels"),
        ({"kernels": []}, "kernels must be kernels"),
        ({"kernels": 5}, "kernels must be kernels: got 5"),
        ({"ridges": [1.0, 0.0]}, "ridges must be positive: got 0.0"),
        ({"ridges": []}, "ridges must be one or more"),
        ({"ridges": [math.nan]}, "ridges must be finite"),
        ({"aggregation": "mean"}, "aggregation must be .*got 'mean'"),
        ({"share": -0.1}, "share must not be negative: got -0.1"),
        ({"share": 1.0}, "share must be below 1: got 1.0"),
        ({"share": math.nan}, "share must be finite"),
        ({"share": 0.1, "aggregation": "ml-poly"}, "share must be 0 with ml-poly: got 0.1"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        KernelForecaster(**options)


@pytest.mark.parametrize("kernels", [None, [OU(0.1), Spline(offset=1.0)]])
@pytest.mark.parametrize("opened", [False, True])
def test_bad_input_leaves_the_state_alone(kernels, opened):
    fresh, model = KernelForecaster(kernels), KernelForecaster(kernels)
    with pytest.raises(ValueError, match="time must be at least"):
        fresh.predict(-2.0)
    assert fresh.time == 0.0
    own = [(lambda: model.bound(99), "index must be that of an expert: got 99")]
    check_refusals(model, opened, own)


def test_aggregators_refuse_bad_input():
    model = Vovk()
    with pytest.raises(
        ValueError, match="index must be that of an expert: got 0; play a round first"
    ):
        model.bound(0)
    p = np.array([1.0, 2.0])
    model.learn(p, model.combine(p), 1.0)
    before = model.arrays()
    with pytest.raises(ValueError, match="index must be that of an expert: got 2; give 0 to 1"):
        model.bound(2)
    with pytest.raises(ValueError, match="switches must be 0"):
        model.bound(0, switches=1)
    for key, value in model.arrays().items():
        np.testing.assert_array_equal(value, before[key])
