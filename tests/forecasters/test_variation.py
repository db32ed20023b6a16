"""VariationForecaster: the compiled rounds against a literal twin, bounds on hostile streams,
equivariance, saving, regret.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from series_cases import check_refusals
from stillpoint.forecasters._mixture import AT
from stillpoint.forecasters.kernel_forecaster import KernelForecaster
from stillpoint.forecasters.variation import VariationForecaster


def noisy(T, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(np.arange(T) / 40.0) + (np.arange(T) % 150 > 90) + 0.5 * rng.standard_normal(T)


def irregular(T, seed=1):
    return np.cumsum(np.random.default_rng(seed).exponential(2.0, T)) - 3.0


def holes(y):
    y = y.copy()
    y[::17], y[40:47] = np.nan, np.nan
    return y


class Twin:
    """The same, from the definitions: members as dictionaries, every specialist there ever was, the
    generalised prediction G.
    """

    def __init__(self):
        self.means, self.filters, self.specialists = [], {}, {}
        self.ys, self.errors, self.local, self.own, self.last = [], [], 0.0, 0.0, 0.0

    def prior(self, s):
        k = (s & -s).bit_length() - 1
        r = s >> k
        return 0.01 / (2.109743 * (r + 1) * math.log(r + 1) ** 2 * (k + 1) * (k + 2))

    def potential(self):
        """Σ π exp(ηR) over all that ever was and will be: at most 1."""
        eta = 4 / (max(self.ys) - min(self.ys)) ** 2
        total = 0.99 * math.exp(eta * self.own) + sum(
            self.prior(s) * math.exp(eta * e["R"]) for s, e in self.specialists.items()
        )
        return total + 0.01 - sum(self.prior(s) for s in self.specialists)

    def predict(self):
        members = self.means + list(self.filters.values())
        weight = sum(e["w"] for e in members)
        self.mix = sum(e["w"] * e["m"] for e in members) / weight if members else 0.0
        self.changed = sum(e["w"] * e["c"] for e in members) / weight if members else -1.0
        s = len(self.ys) + 1
        self.awake = {q: e for q, e in self.specialists.items() if s < q + (q & -q)} | {
            s: {"m": self.mix, "n": float(s > 1), "R": 0.0}
        }
        low, high = (min(self.ys), max(self.ys)) if self.ys else (0.0, 0.0)
        if low == high:
            self.f = low
            return self.f
        eta, half, middle = 4 / (high - low) ** 2, (high - low) / 2, (high + low) / 2
        p = np.array([self.mix, *(e["m"] for e in self.awake.values())]) - middle
        w = np.array(
            [
                0.99 * math.exp(eta * self.own),
                *(self.prior(q) * math.exp(eta * e["R"]) for q, e in self.awake.items()),
            ]
        )
        G = {
            z: -math.log(w / w.sum() @ np.exp(-eta * (z - p) ** 2 / 2)) / eta for z in (-half, half)
        }
        self.f = middle + (G[-half] - G[half]) / (2 * half)
        return self.f

    def update(self, y, time):
        if self.ys:
            seen = min(max(y, min(self.ys)), max(self.ys))
            self.own += (self.f - seen) ** 2 / 2 - (self.mix - seen) ** 2 / 2
            for e in self.awake.values():
                e["R"] += (self.f - seen) ** 2 / 2 - (e["m"] - seen) ** 2 / 2
        for e in self.awake.values():
            e["n"] += 1
            e["m"] += (y - e["m"]) / e["n"]
        self.specialists |= self.awake
        self.mixture(y, time)
        self.ys.append(y)

    def mixture(self, y, time):
        t, first = len(self.ys), not self.ys
        part = 1.0 if first else (0.1 + 0.35 * self.changed) / (t + 2)
        members = self.means + list(self.filters.values())
        total = sum(e["w"] for e in members)
        for e in members:
            e["w"] *= (1 - part) / total
        young = {
            "m": self.mix,
            "n": 0.0 if first else 0.5,
            "w": part,
            "c": self.changed + 1,
            "born": t,
            "since": time,
        }
        self.means.append(young)
        members.append(young)
        k = len(self.errors)
        if k >= 2:
            noise = math.sqrt(max(np.mean(self.errors), self.local) * k / (k - 1))
            x = np.array([abs(y - e["m"]) / noise for e in members])
            cost = np.where(x <= 3, x**2, 6 * x - 9)
            for e, loss in zip(members, cost - cost.min(), strict=True):
                e["w"] = max(e["w"] * math.exp(-loss / 2), 1e-200)
        if not first:
            self.errors.append((y - self.mix) ** 2)
            self.local += (self.errors[-1] - self.local) / min(len(self.errors), 100)
        # 1/n is a variance in units of the noise's, and drift adds gap/λ to it
        for e in self.filters.values():
            e["n"] = 1.0 + (
                1 / (1 / e["n"] + (time - self.last) / e["ridge"]) if e["ridge"] else 0.0
            )
            e["m"] += (y - e["m"]) / e["n"]
        for e in self.means:
            e["n"] += 1.0
            e["m"] += (y - e["m"]) / e["n"]
        self.split(young, 0, 0.0)
        for e in list(self.means):
            age = t + 1 - e["born"]
            k = age.bit_length() - 1
            if age == 2**k and k > 0:
                self.split(e, k, age * (time - e["since"]))
                level = [o for o in self.means if 2**k <= t + 1 - o["born"] < 2 ** (k + 1)]
                if len(level) > 2:
                    worst = min(range(3), key=lambda i: level[i]["w"])
                    heir = level[worst - 1 if worst else 1]
                    heir |= self.merged(heir, level[worst], 1.0)
                    self.means = [o for o in self.means if o is not level[worst]]
        self.last = time

    def merged(self, to, e, part):
        w = to["w"] + part * e["w"]
        return {"w": w, "c": (to["w"] * to["c"] + part * e["w"] * e["c"]) / w}

    def split(self, e, k, ridge):
        old = self.filters.get(k, {"w": 0.0, "c": 0.0})
        state = {"m": e["m"], "n": e["n"], "ridge": ridge} if 0.1 * e["w"] > old["w"] else old
        self.filters[k] = state | self.merged(old, e, 0.1)
        e["w"] *= 0.9
        if k == 0:
            self.filters[0] |= {"m": e["m"] if old["w"] == 0 else old["m"], "n": 1.0, "ridge": 0.0}


@pytest.mark.parametrize("times", [np.arange(1.0, 701.0), irregular(700)])
def test_equals_its_twin(times):
    y, model, twin = holes(noisy(700)), VariationForecaster(), Twin()
    for time, target in zip(times, y, strict=True):
        assert model.predict(time) == pytest.approx(twin.predict(), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(
            np.sort(model.forecasts),
            np.sort([twin.mix, *(e["m"] for e in twin.awake.values())]),
            rtol=1e-12,
            atol=1e-12,
        )
        if np.isnan(target):
            model.skip()
        else:
            model.update(target)
            twin.update(target, time)
        assert len(twin.ys) < 2 or twin.potential() <= 1.0 + 1e-12


def scales(kind, seed, T):
    rng = np.random.default_rng(seed)
    return {
        "one": np.ones(T),
        "growing": 1.1 ** np.arange(T),
        "wild": 2.0 ** rng.integers(0, 12, T),
    }[kind]


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["random", "away", "levels", "flips"]),
    scale=st.sampled_from(["one", "growing", "wild"]),
    offset=st.sampled_from([0.0, 100.0]),
    T=st.integers(2, 130),
)
def test_bounds_hold_on_every_interval_of_hostile_streams(seed, kind, scale, offset, T):
    rng, size, model, twin = (
        np.random.default_rng(seed),
        scales(scale, seed, T),
        VariationForecaster(),
        Twin(),
    )
    f, mix, y = np.empty(T), np.empty(T), np.empty(T)
    for t in range(T):
        f[t], mix[t] = model.predict(), model.forecasts[0]
        assert f[t] == pytest.approx(twin.predict(), rel=1e-9, abs=1e-9 * model.range)
        y[t] = (
            offset
            + size[t]
            * {
                "random": rng.standard_normal(),
                "away": -math.copysign(1.0, f[t] - offset),
                "levels": float(t // 20 % 2) + 0.1 * rng.standard_normal(),
                "flips": (-1.0) ** t,
            }[kind]
        )
        model.update(y[t])
        twin.update(y[t], t + 1.0)
        assert t == 0 or twin.potential() <= 1.0 + 1e-9
    loss = np.append(0.0, np.cumsum(0.5 * (y - f) ** 2))
    ones, sums, squares = (
        np.arange(T + 1.0),
        np.append(0.0, np.cumsum(y - offset)),
        np.append(0.0, np.cumsum((y - offset) ** 2)),
    )
    for a in range(T):
        b = np.arange(a + 1, T + 1)
        best = 0.5 * (squares[b] - squares[a] - (sums[b] - sums[a]) ** 2 / (ones[b] - ones[a]))
        limit = np.array([model.interval_bound(a + 1, int(last)) for last in b])
        assert (loss[b] - loss[a] - best <= limit * (1 + 1e-9)).all()
        assert limit[-1] <= model.bound() * (1 + 1e-9)
    cost, W = model._scalars[AT.range_cost], np.ptp(y)
    assert cost <= 0.5 * W**2 * (1 + 1e-9)
    assert model.range == W
    assert (
        loss[-1] - 0.5 * ((y - mix) ** 2).sum()
        <= 0.25 * W**2 * -math.log(0.99) + cost + 1e-9 * W**2
    )
    pieces = [model.interval_bound(1, T // 2), model.interval_bound(T // 2 + 1)] if T > 1 else []
    assert sum(pieces) <= (model.bound(2) + cost) * (1 + 1e-9)


def test_bound_on_variation_grows_at_the_rate():
    u = np.repeat([0.0, 1.0, -1.0, 0.5], 1000)
    regret = []
    for seed in range(5):
        y = u + np.random.default_rng(seed).uniform(-1, 1, 4000)
        model = VariationForecaster()
        f = model.track(y)
        regret.append(0.5 * ((f - y) ** 2 - (u - y) ** 2).sum())
        assert regret[-1] <= model.bound(4) <= model.bound(5)
    assert np.mean(regret) <= model.variation_bound(4.5)
    big, C = VariationForecaster(), np.array([1e2, 1e3])
    big.track(np.tile(y, 50))
    limit = np.array([big.variation_bound(c) for c in C])
    assert math.log(limit[1] / limit[0], 10) == pytest.approx(2 / 3, abs=0.03)
    assert VariationForecaster().variation_bound(1.0) == 0.0


@pytest.mark.parametrize("when", [None, irregular(300)])
def test_bulk_and_resumed_runs_equal_interactive_bit_for_bit(when):
    y = holes(noisy(300))
    one, bulk, other, out = (
        VariationForecaster(),
        VariationForecaster(),
        VariationForecaster(),
        np.empty(300),
    )
    for t in range(300):
        out[t] = one.predict(None if when is None else when[t])
        if t % 50 == 7:  # with the round open
            copy = VariationForecaster(**one.config)
            copy.restore(one.arrays())
            one = copy
            assert one.predict() == out[t]
        one.skip() if np.isnan(y[t]) else one.update(y[t])
    np.testing.assert_array_equal(bulk.track(y, when), out)
    cut = [slice(0, 90), slice(90, 300)]
    halves = [other.track(y[part], None if when is None else when[part]) for part in cut]
    np.testing.assert_array_equal(np.concatenate(halves), out)
    for learner in (bulk, other):
        assert learner.rounds == 300
        assert learner.variance == one.variance > 0
        for key, value in one.arrays().items():
            np.testing.assert_array_equal(learner.arrays()[key], value)


def test_members_grow_like_log_t():
    model = VariationForecaster()
    model.track(noisy(5000))
    levels = int(model._scalars[AT.top]) + 1
    assert levels == 13  # ⌊log₂ 5000⌋ + 1
    assert model._state.mixture.counts.max() <= 2
    assert (model._state.mixture.counts[levels:] == 0).all()
    assert model.forecasts.size == model.weights.size == 1 + (5000).bit_count()
    assert model.weights.sum() == pytest.approx(1.0)
    assert model.weights[0] > 0.9


def test_scale_shift_and_time():
    y, times = noisy(500), irregular(500)
    plain = VariationForecaster().track(y, times)
    for scale in (1e12, 1e-12, 1e60, 1e-100):
        scaled = VariationForecaster().track(scale * y, times)
        np.testing.assert_allclose(scaled / scale, plain, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(
        VariationForecaster().track(2.0**-40 * y, times), 2.0**-40 * plain
    )
    moved = VariationForecaster().track(y + 1000.0, times)
    np.testing.assert_allclose(moved[1:] - 1000.0, plain[1:], atol=1e-9)
    np.testing.assert_allclose(
        VariationForecaster().track(y, 1e-3 * times), plain, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(VariationForecaster().track(-y, times), -plain, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-12, 1.0, 1e12, 1e75])
def test_extremes_give_no_nan(scale):
    rng = np.random.default_rng(0)
    streams = [
        rng.uniform(-1, 1, 300),
        np.zeros(300),
        np.ones(300),
        np.repeat([0.0, 1.0, -1.0], 100),
        rng.random(300) ** 80,
    ]
    for y in streams:
        model = VariationForecaster()
        out = model.track(scale * y)
        assert np.isfinite(out).all()
        assert np.abs(out).max() <= scale * np.abs(y).max()
        assert all(np.isfinite(value).all() for value in model.arrays().values())
        assert math.isfinite(model.bound(3) + model.variance + model.variation_bound(scale))
    mixed = VariationForecaster().track(np.append(1e-150 * streams[0], scale * streams[0]))
    assert np.isfinite(mixed).all()
    np.testing.assert_array_equal(VariationForecaster().track(np.full(20, scale))[1:], scale)


def test_missing_observations_teach_nothing():
    model = VariationForecaster()
    model.track(noisy(100))
    expected = model.predict()
    for _ in range(10):
        model.skip()
    assert model.predict() == expected
    assert model.rounds == 110
    assert model.time == 111.0
    np.testing.assert_array_equal(VariationForecaster().track(np.full(50, np.nan)), 0.0)


def test_variance_covers_the_signal():
    u = np.sin(np.arange(4000) / 200.0) + (np.arange(4000) > 2000)
    y, model, inside = (
        u + 0.5 * np.random.default_rng(4).standard_normal(4000),
        VariationForecaster(),
        0,
    )
    assert model.variance == 0.0
    for t in range(4000):
        f = model.predict()
        inside += abs(f - u[t]) <= 2 * math.sqrt(model.variance)
        model.update(y[t])
    assert 0.9 < inside / 4000 < 0.995


def regret(model, u, seeds):
    values = []
    for seed in seeds:
        y = u + 0.5 * np.random.default_rng(seed).standard_normal(u.size)
        values.append(0.5 * ((model().track(y) - y) ** 2 - (u - y) ** 2).sum())
    return np.mean(values)


def test_regret_and_its_slope_on_smooth_signals_and_jumps():
    shapes = {
        "smooth": lambda x: np.sin(2 * np.pi * x + 0.7),
        "jumps": lambda x: np.floor(4.999 * x) % 2 - 0.5,
    }
    for name, limit in (("smooth", 1.02), ("jumps", 0.55)):
        T = np.array([2000, 16000])
        ours, theirs = (
            [regret(kind, shapes[name](np.arange(1, n + 1) / n), range(8)) for n in T]
            for kind in (VariationForecaster, KernelForecaster)
        )
        assert math.log(ours[1] / ours[0], 8) <= 0.36, name
        assert ours[1] <= limit * theirs[1], name


@pytest.mark.parametrize("opened", [False, True])
def test_bad_input_leaves_the_state_alone(opened):
    model = VariationForecaster()
    own = [
        *[
            (lambda bad=bad: model.bound(bad), "pieces must be a positive whole number")
            for bad in (0, 1.5, True)
        ],
        *[
            (lambda bad=bad: model.interval_bound(*bad), "first")
            for bad in ((0, 3), (5, 4), (3, 21), (1.0, 3))
        ],
        (lambda: model.variation_bound(-1.0), "variation must not be negative"),
        (lambda: model.predict(1e301), "time must"),
    ]
    check_refusals(model, opened, own)
