"""IntervalTracker with a delay: a slow twin, coverage where one tracker fails, theorem, calls."""

import copy as copies
import math

import numpy as np
import pytest
from slow_twins import KEYWORDS, STREAMS

import stillpoint as sp
from states import copy, same
from stillpoint.intervals import IntervalTracker
from stillpoint.intervals._experts import AT
from stillpoint.intervals.base import promise
from thorough import some, some_of

T = 400


def stream(seed=0, rounds=T):
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.standard_normal(rounds))
    return rng.standard_normal(rounds), np.where(rng.random(rounds) < 0.1, np.nan, y)


def drive(band, forecasts, y, delay, first=0):
    """Single calls: row t is predicted, then row t − delay is closed."""
    rows = []
    for t in range(first, len(y)):
        rows.append(band.predict(forecasts[t]))
        if t >= delay:
            target = y[t - delay]
            band.skip() if np.isnan(target) else band.update(target)
    return tuple(np.array([row[side] for row in rows]) for side in (0, 1))


class Slow:
    """The slow estimate of radii from its definition."""

    def __init__(self, q, z, turns):
        self.q, self.z, self.c = q, z, turns
        self.first = self.m = math.log(z / 0.7979)
        self.scale = self.number = self.before = 0.0
        self.square = self.product = 1.0
        self.n = 0

    def wider(self):
        r = min(max(self.product / self.square, 0.0), 1.0) ** 2
        n = max(self.n * (1 - r) / (1 + r), 2.0)
        if n > 20:
            return 1.0
        b = (8 * n + 3) / (8 * n + 1)
        return math.sqrt(n * math.expm1((b * self.z) ** 2 / n)) / self.z

    def say(self):
        return math.nan if self.n < 2 else math.exp(self.m) * self.scale * self.wider()

    def learn(self, e, said):
        score = abs(e)
        if self.n:
            rare = min(self.q, 1 - self.q)
            if not math.isnan(said):
                step = max(1 / (3 * (1 + rare * self.n / self.c)), 0.02) / self.c
                self.m -= step * ((1 - self.q) if said >= score else -self.q)
                self.m = min(max(self.m, self.first - 3), 3 - math.log(rare))
            self.number = (1 - 1 / max(100.0, 4.0 * self.c)) * self.number + 1
            now, then = (np.clip(v / self.scale, -30, 30) for v in (e, self.before))
            self.square += (now * now - self.square) / self.number
            self.product += (now * then - self.product) / self.number
            most = 30 * (self.scale if math.isnan(said) else max(said, self.scale))
            self.scale += (min(score, most) - self.scale) / self.number
        else:
            self.scale, self.number = score, 1.0
        self.before = e
        self.n += 1


def twin(forecasts, y, delay, q=0.9):
    """Plain trackers in turn on scores in units of the slow estimate's scale; their intervals are
    replaced by the blend before they learn.
    """
    from statistics import NormalDist

    c = delay + 1
    trackers, slow = (
        [IntervalTracker(q) for _ in range(c)],
        Slow(q, NormalDist().inv_cdf(0.5 + q / 2), c),
    )
    said, units, radii, out = [math.nan] * c, [0.0] * c, [0.0] * c, []
    for t, f in enumerate(forecasts):
        band = trackers[t % c]
        band.predict(0.0)
        s = band._estimators.scalars[0]
        seen, misses = s[AT.seen], s[AT.misses]
        x = (misses - (1 - q) * seen) / (3 * math.sqrt(q * (1 - q) * (seen + 100)))
        known, said[t % c], units[t % c] = seen - 1, slow.say(), slow.scale
        part = 1.0 if known < 2 else max(1 - (known - 2) / 98, 0.0)
        if x >= 1 or (part > 0 and math.isnan(said[t % c])):
            radius = math.inf
        elif x <= -1:
            radius = -math.inf
        else:
            base = s[AT.forecast] * slow.scale
            if part > 0:
                base = part * said[t % c] + (1 - part) * base
            radius = base * math.exp(min(max(0.1 * x / (1 - x * x), -2.0), 2.0))
        radii[t % c] = radius
        out.append((f - radius, f + radius))
        if t >= delay:
            k = t - delay
            band, target = trackers[k % c], y[k]
            if np.isnan(target):
                band.skip()
                continue
            e = target - forecasts[k]
            if band.seen:
                slow.learn(e, said[k % c])
            unit = slow.scale if math.isnan(said[k % c]) else units[k % c]
            # a first target is not learnt from, whatever it is
            unit = unit if band.seen else 1.0
            radius = radii[k % c]
            band._ends[:] = [[-radius / unit], [radius / unit]]
            band.update(e / unit)
    return np.array(out).T


@pytest.mark.parametrize("delay", [1, 4, 30])
def test_turns_are_plain_trackers_blended_with_one_slow_estimate(delay):
    for seed in range(2):
        forecasts, y = stream(seed, 1500)
        y = forecasts + np.random.default_rng(seed).standard_normal(1500) * (1 + (y % 7 > 3))
        lo, hi = IntervalTracker(delay=delay).track(forecasts, y)
        expected = twin(forecasts, y, delay)
        np.testing.assert_allclose([lo, hi], expected, rtol=1e-9, atol=1e-9)
        finite = np.isfinite(hi)
        # after the first target of every turn, two more are needed
        assert not finite[: 2 * (delay + 1) + 1].any()
        assert finite[2 * (delay + 1) + 1 + np.isnan(y).sum() :].all()


@pytest.mark.parametrize("delay", [1, 7, T - 1, T, T + 5])
@pytest.mark.parametrize("keywords", some(KEYWORDS, every=2))
def test_bulk_equals_single_calls_bit_for_bit(keywords, delay):
    forecasts, y = stream()
    single, bulk = (IntervalTracker(**keywords, delay=delay) for _ in "ab")
    expected = drive(single, forecasts, y, delay)
    np.testing.assert_array_equal(bulk.track(forecasts, y), expected)
    assert same(single, bulk)
    assert bulk.rounds == single.rounds == max(T - delay, 0)
    assert bulk.open_rounds == single.open_rounds == min(delay, T)


@pytest.mark.parametrize("cuts", [[1], [3, 4, 5], [200], [5, 5, 399]])
@pytest.mark.parametrize("keywords", [{}, {"two_sided": True}])
def test_pieces_and_resumed_runs_are_the_whole(keywords, cuts, tmp_path):
    forecasts, y = stream(1)
    whole, band, parts = IntervalTracker(**keywords, delay=6), None, []
    expected = whole.track(forecasts, y)
    band = IntervalTracker(**keywords, delay=6)
    for start, stop in zip([0, *cuts], [*cuts, T], strict=True):
        first = min(start, 6)
        rows = slice(start - first, stop)
        parts.append(band.track(forecasts[rows], y[rows], first=first))
        sp.save(band, tmp_path / "band")
        band = copies.deepcopy(sp.load(tmp_path / "band"))
    np.testing.assert_array_equal(np.concatenate(parts, axis=-1), expected)
    assert same(whole, band)


@pytest.mark.parametrize("keywords", KEYWORDS)
def test_a_run_killed_with_rounds_open_goes_on_bit_for_bit(keywords, tmp_path):
    forecasts, y = stream(2)
    whole, band = (IntervalTracker(**keywords, delay=5) for _ in "ab")
    expected = drive(whole, forecasts, y, 5)
    before = drive(band, forecasts[:123], y[:123], 5)
    sp.save(band, tmp_path / "band")
    loaded = sp.load(tmp_path / "band")
    assert loaded.open_rounds == 5
    assert loaded.rounds == 118
    other = copies.copy(loaded)
    other.predict(99.0)
    after = drive(loaded, forecasts, y, 5, first=123)
    np.testing.assert_array_equal(np.concatenate([before, after], axis=1), expected)
    assert same(whole, loaded)


def autoregression(rounds, ahead, seed, damping=0.95):
    """A series and its best forecasts from so many rounds before."""
    noise, y = np.random.default_rng(seed).standard_normal(rounds), np.zeros(rounds)
    for t in range(1, rounds):
        y[t] = damping * y[t - 1] + noise[t]
    return np.append(np.zeros(ahead), damping**ahead * y[:-ahead]), y


def drifting(rounds, ahead, seed):
    """A level that walks, exponentially smoothed; noise whose scale moves by a factor of 4."""
    rng = np.random.default_rng(seed)
    scale = np.exp(0.7 * np.sin(2 * np.pi * np.arange(rounds) / 2000))
    y, level = 0.1 * np.cumsum(rng.standard_normal(rounds)), np.zeros(rounds)
    y += scale * rng.standard_normal(rounds)
    for t in range(1, rounds):
        level[t] = 0.8 * level[t - 1] + 0.2 * y[t - 1]
    return np.append(np.zeros(ahead - 1), level[: rounds - ahead + 1]), y


def covered(lo, hi, y, start):
    return np.mean(((lo <= y) & (y <= hi))[start:])


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("delay", some([0, 5, 24], every=2))
def test_coverage_is_what_was_asked(delay, two_sided):
    for make in (autoregression, drifting):
        for seed in range(3):
            forecasts, y = make(4000, delay + 1, seed)
            band = IntervalTracker(delay=delay, two_sided=two_sided)
            lo, hi = band.track(forecasts, y)
            assert abs(covered(lo, hi, y, 3 * (delay + 1)) - 0.9) < 0.02, (make, seed)
            hits = covered(lo[: 4000 - delay], hi[: 4000 - delay], y[: 4000 - delay], 0)
            assert band.coverage_so_far == pytest.approx(hits)
            assert np.isfinite(hi[4 * (delay + 1) :]).all()


@pytest.mark.parametrize(("delay", "most"), [(5, 0.87), (24, 0.8)])
def test_one_tracker_looked_at_ahead_of_its_targets_covers_less(delay, most):
    for seed in range(3):
        forecasts, y = autoregression(4000, delay + 1, seed)
        lo, hi = IntervalTracker().track(forecasts, y, delay=delay)
        assert covered(lo, hi, y, 3 * (delay + 1)) < most


def test_few_rounds_a_turn_are_covered_too():
    """Of 25 turns with about 15 scored rounds each: a turn alone would play everything for three
    of them, and wide intervals for all of them.
    """
    found, radii = [], []
    for seed in range(20):
        noise = np.random.default_rng(seed).standard_normal(400)
        lo, hi = IntervalTracker(delay=24).track(np.zeros(400), noise)
        found.append(covered(lo, hi, noise, 60))
        radii.append(np.mean(hi[60:]))
    assert abs(np.mean(found) - 0.9) < 0.03
    assert 1.5 < np.mean(radii) < 1.9  # 1.645 is the normal's


@pytest.mark.parametrize(
    ("keywords", "kind"),
    some_of(
        [{}, {"empty": False}, {"two_sided": True}, KEYWORDS[3]],
        ["far", "hit", "alternate", "grow"],
        every=4,
    ),
)
def test_the_bound_holds_against_targets_chosen_when_the_interval_is_known(keywords, kind):
    for delay in (1, 3, 10):
        band = IntervalTracker(**keywords, delay=delay)
        rng, waits = np.random.default_rng(delay), []
        for t in range(600):
            lo, hi = band.predict(0.0)
            low, high = np.min(lo), np.max(hi)
            finite = np.isfinite(low) and np.isfinite(high) and high < 1e100
            outside = 2.0 * high + 1.0 if finite and high >= low else rng.standard_normal()
            waits.append(
                {
                    "far": outside,
                    "hit": 0.0,
                    "alternate": outside if (t // 40) % 2 else 0.0,
                    "grow": outside * rng.choice([-1.0, 1.0]),
                }[kind]
            )
            if len(waits) > delay:
                band.update(waits.pop(0))
                least, most = band.miss_bound()
                assert np.all(least <= band.misses)
                assert np.all(band.misses <= most)
        assert band.seen == 600 - delay
        if kind != "hit":
            assert np.max(band.misses) > 0.1 * band.seen  # the guard had something to do


def test_the_bound_is_the_sum_over_turns():
    band = IntervalTracker(delay=3)
    band.track(np.zeros(403), np.random.default_rng(0).standard_normal(403))
    assert band.seen == 400
    least, most = promise(0.9, 100.0)
    assert band.miss_bound() == (4 * max(least, 0.0), pytest.approx(4 * most))
    # αT + c(3√(qα(T/c + 100)) + 1 − α)
    assert 4 * most == pytest.approx(40 + 4 * (3 * math.sqrt(0.09 * 200) + 0.9))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("keywords", [{}, {"two_sided": True}])
def test_no_stream_gives_nan_and_units_do_not_matter(name, keywords):
    y = STREAMS[name](np.random.default_rng(3), 500)
    with np.errstate(all="ignore"):
        y = np.where(np.abs(y) > 1e140, np.sign(y) * 1e140, y)
    band = IntervalTracker(**keywords, delay=3)
    lo, hi = band.track(np.zeros(500), y)
    assert not (np.isnan(lo) | np.isnan(hi)).any()
    assert not np.isnan(band.arrays()["slow"]).any()
    if name in ("normal", "gaps", "stuck", "zeros, then not"):
        other = IntervalTracker(**keywords, delay=3).track(np.zeros(500), 2.0**60 * y)
        np.testing.assert_array_equal(other, 2.0**60 * np.array([lo, hi]))


def test_looks_change_nothing_and_are_what_comes():
    forecasts, y = stream(4)
    for keywords in KEYWORDS:
        band = IntervalTracker(**keywords, delay=4)
        band.track(forecasts, y)
        before = copy(band)
        shown, radius = band.peek(3.0), band.radius
        assert same(band, before)
        np.testing.assert_array_equal(shown, band.predict(3.0))
        np.testing.assert_allclose(
            radius, 0.5 * (np.asarray(shown[1]) - np.asarray(shown[0])), rtol=1e-12
        )
        assert band.weights.shape == IntervalTracker(**keywords).weights.shape
        assert band.weights.sum(-1) == pytest.approx(1.0)


def test_rounds_open_and_close_in_order():
    band = IntervalTracker(delay=2)
    assert (band.is_open, band.open_rounds, band.rounds) == (False, 0, 0)
    for forecast in (1.0, 1.0, 2.0):  # every call opens a round
        assert band.predict(forecast) == (-math.inf, math.inf)
    assert (band.is_open, band.open_rounds, band.rounds) == (True, 3, 0)
    before = copy(band)
    for call, message in (
        (lambda: band.predict(3.0), "oldest open round is closed: 3 are open, the most with delay"),
        (lambda: band.predict(math.nan), "forecast must be finite"),
        (lambda: band.update(math.nan), "y must be finite"),
        (lambda: band.update("1"), "y must be a number"),
        (lambda: band.track([3.0], [1.0]), "first must count the open rounds, 3"),
        (lambda: band.track([1.0, 1.0, 2.0, 4.0], [0.0] * 4, first=3), "first must be at most"),
        (lambda: band.track([1.0], [1.0], delay=5), "delay must be that of the tracker, 2: got 5"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert same(band, before)
    band.update(1.5)
    with pytest.raises(ValueError, match="forecasts begin with theirs"):
        band.track([1.0, 2.5, 4.0], [0.0] * 3, first=2)
    band.track([1.0, 2.0, 4.0], [0.0] * 3, first=2)
    assert (band.open_rounds, band.rounds) == (2, 2)
    band.skip()
    band.update(0.0)
    with pytest.raises(ValueError, match="none is open; call predict"):
        band.update(0.0)
    band.skip()  # a round that nobody forecast
    assert (band.is_open, band.rounds, band.seen) == (False, 5, 3)


@pytest.mark.parametrize("bad", [-1, 1.5, True, None, "2", math.nan, 10**9])
def test_delays_that_make_no_sense_are_refused(bad):
    with pytest.raises(ValueError, match="delay must be"):
        IntervalTracker(delay=bad)


def test_states_that_cannot_be_are_refused():
    band = IntervalTracker(delay=2)
    band.predict(1.0)
    state = band.arrays()
    for counts in (np.array([5, 1]), np.array([0, 1]), np.array([1.0, 0.0]), np.array([1])):
        with pytest.raises(ValueError, match="counts"):
            IntervalTracker(delay=2).restore({**state, "counts": counts})
    with pytest.raises(ValueError, match="experts"):
        IntervalTracker(delay=3).restore(state)


def test_a_model_with_late_targets_is_looked_at_and_taught_late():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = X @ [1.0, -2.0] + 0.1 * rng.standard_normal(300)
    model, plain = sp.TrackingForecaster(2), sp.TrackingForecaster(2)
    band = IntervalTracker(delay=3).wrap(model)
    rows = []
    for t in range(300):
        rows.append(band.predict(X[t]))
        if t >= 3:
            band.update(X[t - 3], y[t - 3])
    lo, hi = np.array(rows).T
    centres = plain.track(X, y, delay=3)
    np.testing.assert_array_equal((lo, hi), IntervalTracker(delay=3).track(centres, y))
    assert abs(covered(lo, hi, y, 30) - 0.9) < 0.05
    assert (model.rounds, band.tracker.rounds, band.tracker.open_rounds) == (297, 297, 3)
    band.skip()
    assert (model.rounds, band.tracker.rounds) == (297, 298)
    fresh = IntervalTracker(delay=1).wrap(lambda x: x)
    with pytest.raises(ValueError, match="none is open"):
        fresh.update(1.0, 2.0)
