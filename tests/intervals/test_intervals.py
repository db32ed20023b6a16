"""IntervalTracker: a slow twin, the coverage theorem on nasty streams, units,
saving, wrapping.
"""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri, stdtrit

from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.forecasters.tracking_vaw import TrackingVAW
from stillpoint.intervals import IntervalTracker
from stillpoint.intervals._experts import widening
from stillpoint.lab.streams.scores import interval_scores, score_families

TAU, ETA = (2, 5, 15, 50, 200, 1000), (0.02, 0.06, 0.2)
RARE_LEVELS = st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.9, 0.97, 0.999])


def same(a, b):
    left, right = a.arrays(), b.arrays()
    return left.keys() == right.keys() and all(
        np.array_equal(left[key], right[key]) for key in left
    )


def copy(model):
    twin = type(model)(**model.config)
    twin.restore({key: np.array(value) for key, value in model.arrays().items()})
    return twin


def drive(band, forecasts, y):
    """The intervals of single calls; NaN is skipped."""
    rows = []
    for f, target in zip(forecasts, y, strict=True):
        rows.append(band.predict(f))
        if np.isnan(target):
            band.skip()
        else:
            band.update(target)
    lo, hi = zip(*rows, strict=True)
    return np.array(lo), np.array(hi)


def pinball(p, s, q):
    return np.where(p >= s, (1 - q) * (p - s), q * (s - p))


def aggregation(p, R, V, L, B, k):
    """ML-Poly's weights, and those of the blend."""
    w = np.maximum(R, 0) / (B + V) if (R > 0).any() else np.ones(len(p))
    u = np.exp(-0.25 * (L - L.min()))
    w, u, a = w / w.sum(), u / u.sum(), 300 / (300 + k)
    return w, (1 - a) * w + a * u


class SlowPool:
    """ML-Poly and its blend with the pinball loss; experts are heard within 3/min(q, 1 − q) mean
    losses of the aggregate.
    """

    def __init__(self, q):
        self.q, self.R, self.V, self.L, self.B = q, np.zeros(9), np.zeros(9), np.zeros(9), 0.0
        self.l, self.n, self.k, self.rows = 0.0, 0.0, 0, []

    def play(self, p):
        w, blend = aggregation(p, self.R, self.V, self.L, self.B, self.k)
        if self.l > 0:
            reach = 3 / min(self.q, 1 - self.q) * self.l
            p = np.clip(p, w @ p - reach, w @ p + reach)
        self.w, self.p, self.pm = w, p, w @ p
        return blend @ p

    def learn(self, played, s, least=0.0):
        q, loss = self.q, float(pinball(played, s, self.q))
        self.n = 0.99 * self.n + 1
        self.l += ((loss if self.n < 11 else min(loss, 100 * self.l)) - self.l) / self.n
        unit = max(self.l, loss / 100, least)
        r = (1 - q if self.pm >= s else -q) * (self.pm - self.p) / unit
        self.rows.append(
            (
                r,
                self.B,
                self.V.copy(),
                (pinball(self.pm, s, q) - pinball(self.p, s, q)) / unit,
                abs(self.w @ r),
            )
        )
        self.R, self.V, self.B = self.R + r, self.V + r**2, max(self.B, (r**2).max())
        self.L = self.L + pinball(self.p, s, q) / unit
        self.k += 1


def guard(misses, t, q):
    return (misses - (1 - q) * t) / (3 * math.sqrt(q * (1 - q) * (t + 100)))


def student(q, n):
    """t_n/z by Wallace's formula."""
    z = NormalDist().inv_cdf((1 + q) / 2)
    return math.sqrt(n * (math.exp((z * (8 * n + 3) / (8 * n + 1)) ** 2 / n) - 1)) / z


def slow_radii(scores, q):
    """IntervalTracker line by line: radii and the pool. The first score is not learnt from, and two
    more make a radius.
    """
    pool, radii, misses, s1, top, a = SlowPool(q), [], 0, 0.0, 0.0, min(q, 1 - q)
    m0 = math.log(NormalDist().inv_cdf((1 + q) / 2) / 0.7979)
    S, n, v, k = np.zeros(6), np.ones(6), np.full(9, m0), 0
    for t, s in enumerate(scores):
        raw = 0.0
        if s1 > 0:
            value = np.exp(v) * np.append(S, [s1] * 3)
            raw = pool.play(np.minimum(value, 2 * top))
        x = guard(misses, t, q)
        radius = (
            raw * math.exp(np.clip(0.1 * x / (1 - x * x), -2, 2))
            if abs(x) < 1
            else math.copysign(math.inf, x)
        )
        radius = math.inf if t < 3 else radius * student(q, t - 1) if t <= 21 else radius
        radii.append(radius)
        misses += s > radius
        if t == 0:
            continue
        if s1 == 0:
            if s > 0:
                s1 = top = s
                S = np.full(6, s)
            continue
        pool.learn(raw, s, 1e-40 * top)
        g = np.where(value >= s, 1 - q, -q)
        v = v - np.maximum(1 / (3 * (1 + a * k)), [0.02] * 6 + list(ETA)) * g
        v[:6] = np.clip(v[:6], m0 - 3, 3 - math.log(a))
        k += 1
        n = (1 - 1 / np.array(TAU)) * n + 1
        top = max(top, s)
        S = np.maximum(S + (np.minimum(s, 30 * np.maximum(value[:6], S)) - S) / n, 1e-40 * top)
    return np.array(radii), pool


def cases():
    rng = np.random.default_rng(0)
    swell = interval_scores(1500, 3).losses.y[:, 0]
    yield "swell", swell
    yield "late", np.append(np.zeros(40), swell[:900])
    yield (
        "jumps",
        np.where(np.arange(1500) // 300 % 2 == 0, 1.0, 1e-5) * np.abs(rng.standard_normal(1500)),
    )
    yield "heavy", np.abs(rng.standard_cauchy(1200)) ** 2
    yield "sparse", np.where(rng.random(1200) < 0.3, rng.exponential(size=1200), 0.0)
    yield "steady", np.full(600, 2.5)
    yield (
        "stuck",
        np.where(np.abs(np.arange(2800) - 1450) < 1100, 0.0, np.abs(rng.standard_normal(2800))),
    )


CASES = dict(cases())


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("name", CASES)
def test_radii_are_the_slow_twins(name, q):
    scores = CASES[name]
    band = IntervalTracker(q)
    lo, hi = band.track(np.zeros(len(scores)), scores)
    expected, pool = slow_radii(scores, q)
    np.testing.assert_allclose(hi, expected, rtol=1e-7)
    np.testing.assert_array_equal(lo, -hi)
    assert band.misses == (scores > expected).sum()
    if pool.k:
        np.testing.assert_allclose(
            band.weights,
            aggregation(np.ones(9), pool.R, pool.V, pool.L, pool.B, pool.k)[1],
            atol=1e-7,
        )


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("name", CASES)
def test_aggregation_guarantee(name, q):
    """R_i ≤ √((B + V_i)·A), A the sum of r²/(B + V) over rounds (1 for what sets the first B); R
    bounds the excess loss.
    """
    _, pool = slow_radii(CASES[name], q)
    paid = 0.0
    for r, B, V, _, residue in pool.rows:
        assert residue <= 1e-9 * max(np.abs(r).max(), 1)
        paid += (r**2 / (B + V)).sum() if B > 0 else float((r != 0).sum())
    assert (pool.R <= np.sqrt((pool.B + pool.V) * paid) + 1e-9).all()
    excess = np.sum([row[3] for row in pool.rows], axis=0)
    assert (excess <= pool.R + 1e-6 * (1 + np.abs(pool.R))).all()


def hostile(seed, rounds, kind):
    """A target for each interval seen: forecasts, and a rule from (t, lo, hi) to y."""
    rng = np.random.default_rng(seed)
    forecasts = rng.standard_normal(rounds) * rng.choice([0.0, 1.0, 1e6])
    scale = 10.0 ** rng.uniform(-6, 6)

    def just_miss(t, lo, hi):
        """Barely outside, on a side that is there; something else where nothing is, or where
        targets would leave the floats.
        """
        ends = [
            end for end in (np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)) if abs(end) < 1e149
        ]
        return float(ends[rng.integers(len(ends))] if lo <= hi and ends else forecasts[t] + scale)

    def sit_inside(t, lo, hi):
        return float(lo if lo <= hi and abs(lo) < 1e149 else forecasts[t])

    def switch(t, lo, hi):
        return (just_miss if t // 200 % 2 == 0 else sit_inside)(t, lo, hi)

    def heavy(t, lo, hi):
        return float(forecasts[t] + scale * rng.standard_cauchy() ** 3)

    def still(t, lo, hi):
        return float(forecasts[t])

    rules = {"miss": just_miss, "hit": sit_inside, "switch": switch, "heavy": heavy, "still": still}
    return forecasts, rules[kind]


KINDS = st.sampled_from(["miss", "hit", "switch", "heavy", "still"])


@settings(max_examples=50)
@given(
    seed=st.integers(0, 10**6),
    kind=KINDS,
    q=RARE_LEVELS,
    empty=st.booleans(),
    two_sided=st.booleans(),
)
def test_coverage_theorem_against_adversaries(seed, kind, q, empty, two_sided):
    forecasts, rule = hostile(seed, 500, kind)
    band, missed = IntervalTracker(q, two_sided=two_sided, empty=empty), 0
    side = (1 + q) / 2 if two_sided else q
    for t, f in enumerate(forecasts):
        lo, hi = band.predict(f)
        assert empty or lo <= hi
        y = rule(t, lo, hi)
        band.update(y)
        missed += not lo <= y <= hi
        h = 3 * math.sqrt(side * (1 - side) * (t + 101))
        most = ((1 - side) * (t + 1) + h + side) * (2 if two_sided else 1)
        least = (1 - q) * t - h if empty and not two_sided else 0.0
        assert least - 1e-9 <= missed <= most + 1e-9
        if t % 50 == 0:
            assert band.misses == missed
            assert band.miss_bound() == pytest.approx((max(least, 0.0), min(most, t + 1)))
    assert band.coverage_so_far == 1 - missed / 500


@pytest.mark.parametrize("zeros", [300, 2000, 20_000])
def test_recovers_after_scores_of_zero(zeros):
    """What decays during a long run of exact forecasts grows back: within 200 rounds coverage is
    there again.
    """
    s = np.abs(np.random.default_rng(12).standard_normal(3000 + zeros))
    s[1000 : 1000 + zeros] = 0.0
    hi = IntervalTracker(0.9).track(np.zeros(s.size), s)[1][1200 + zeros :]
    assert np.isfinite(hi).all()
    assert abs((s[1200 + zeros :] <= hi).mean() - 0.9) < 0.03


def test_the_guard_is_needed_and_bites():
    """An adversary that always just misses drives D to h and no further; one that always sits
    inside, to −h.
    """
    for kind, sign in (("miss", 1), ("hit", -1)):
        forecasts, rule = hostile(1, 3000, kind)
        band, infinite, none = IntervalTracker(0.9), 0, 0
        for t, f in enumerate(forecasts):
            lo, hi = band.predict(f)
            infinite, none = infinite + (lo == -np.inf), none + (lo > hi)
            band.update(rule(t, lo, hi))
        D, h = band.misses - 300, 3 * math.sqrt(0.09 * 3100)
        assert abs(sign * D - h) <= 1.1
        assert (infinite if sign > 0 else none) > 100


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    kind=KINDS,
    coverage=st.lists(RARE_LEVELS, min_size=1, max_size=4),
    two_sided=st.booleans(),
    empty=st.booleans(),
    target=st.integers(0, 3),
)
def test_several_coverages_nest_and_keep_the_bound_on_misses(
    seed, kind, coverage, two_sided, empty, target
):
    forecasts, rule = hostile(seed, 300, kind)
    band = IntervalTracker(coverage, two_sided=two_sided, empty=empty)
    missed, order, j = (
        np.zeros(len(coverage), int),
        np.argsort(coverage, kind="stable"),
        target % len(coverage),
    )
    for t, f in enumerate(forecasts):
        lo, hi = band.predict(f)
        assert lo.shape == hi.shape == (len(coverage),)
        assert (lo[order][1:] <= lo[order][:-1]).all()
        assert (hi[order][1:] >= hi[order][:-1]).all()
        y = rule(t, lo[j], hi[j])
        band.update(y)
        missed += (y < lo) | (y > hi)
        least, most = band.miss_bound()
        assert (missed <= most + 1e-9).all()
        assert (least == 0).all()
    np.testing.assert_array_equal(band.misses, missed)


def test_one_coverage_of_several_is_as_alone_while_nothing_crosses():
    y = np.random.default_rng(2).standard_normal(800)
    several = IntervalTracker((0.99, 0.5)).track(np.zeros(800), y)
    for j, q in enumerate((0.99, 0.5)):
        for end, ends in zip(IntervalTracker(q).track(np.zeros(800), y), several, strict=True):
            np.testing.assert_array_equal(ends[:, j], end)
    crossing = IntervalTracker((0.90, 0.901))
    hi = crossing.track(np.zeros(800), y)[1]
    assert (hi[:, 1] >= hi[:, 0]).all()
    alone = IntervalTracker(0.901).track(np.zeros(800), y)[1]
    assert (hi[:, 1] > alone).any()  # it was widened


STREAMS = {
    "normal": lambda rng, T: rng.standard_normal(T),
    "gaps": lambda rng, T: np.where(rng.random(T) < 0.1, np.nan, rng.standard_normal(T)),
    "zeros": lambda rng, T: np.zeros(T),
    "zeros, then not": lambda rng, T: np.where(np.arange(T) < T // 2, 0.0, rng.standard_normal(T)),
    "stuck": lambda rng, T: np.where(np.arange(T) // 150 % 2 == 1, 0.0, rng.standard_normal(T)),
    "constant": lambda rng, T: np.full(T, -7.25),
    "cauchy": lambda rng, T: rng.standard_cauchy(T) ** 3,
    "denormal": lambda rng, T: 1e-320 * rng.integers(0, 5, T),
    "mixed": lambda rng, T: np.where(rng.random(T) < 0.5, 1e-320, rng.standard_normal(T)),
    "huge": lambda rng, T: 1e140 * rng.standard_normal(T),
    "tiny": lambda rng, T: 1e-240 * rng.standard_normal(T),
    "jumps": lambda rng, T: (
        10.0 ** np.where(np.arange(T) // 50 % 2, 100, -100) * rng.standard_normal(T)
    ),
    "growing": lambda rng, T: np.exp(np.linspace(-330, 330, T)),
    "falling": lambda rng, T: np.exp(np.linspace(330, -330, T)),
}
KEYWORDS = [
    {},
    {"empty": False},
    {"two_sided": True},
    {"coverage": (0.5, 0.99, 0.9)},
    {"coverage": 0.999, "two_sided": True, "empty": False},
]


@pytest.mark.parametrize("keywords", KEYWORDS)
@pytest.mark.parametrize("name", STREAMS)
def test_bulk_is_single_calls_and_nothing_is_ever_nan(name, keywords):
    rng = np.random.default_rng(4)
    y, forecasts = STREAMS[name](rng, 700), rng.choice([0.0, 1.0]) * rng.standard_normal(700)
    single, bulk = IntervalTracker(**keywords), IntervalTracker(**keywords)
    lo, hi = drive(single, forecasts, y)
    some = [
        bulk.track(forecasts[part], y[part])
        for part in (slice(0, 1), slice(1, 300), slice(300, None))
    ]
    np.testing.assert_array_equal(np.concatenate([row[0] for row in some]), lo)
    np.testing.assert_array_equal(np.concatenate([row[1] for row in some]), hi)
    assert same(single, bulk)
    assert not any(np.isnan(value).any() for value in bulk.arrays().values())
    assert not (np.isnan(lo) | np.isnan(hi)).any()
    assert bulk.rounds == 700
    assert bulk.seen == 700 - np.isnan(y).sum()


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), power=st.floats(-6, 6), q=RARE_LEVELS, two_sided=st.booleans())
def test_radii_follow_the_unit(seed, power, q, two_sided):
    y = np.random.default_rng(seed).standard_t(3, 400)
    plain = IntervalTracker(q, two_sided=two_sided).track(np.zeros(400), y)
    scaled = IntervalTracker(q, two_sided=two_sided).track(np.zeros(400), 10.0**power * y)
    for a, b in zip(plain, scaled, strict=True):
        # sides may be near 0
        np.testing.assert_allclose(b / 10.0**power, a, rtol=1e-12, atol=1e-12 if two_sided else 0.0)


@pytest.mark.parametrize("unit", [1e100, 1e-100, 1e149, 1e-200])
def test_extreme_units(unit):
    y = np.random.default_rng(0).standard_normal(500)
    plain, scaled = (IntervalTracker(0.9).track(np.zeros(500), c * y)[1] for c in (1.0, unit))
    np.testing.assert_allclose(scaled / unit, plain, rtol=1e-11)


@pytest.mark.parametrize("two_sided", [False, True])
def test_two_sided_bands_mirror(two_sided):
    y = np.random.default_rng(5).exponential(size=900)
    lo, hi = IntervalTracker(0.9, two_sided=two_sided).track(np.zeros(900), y)
    low, high = IntervalTracker(0.9, two_sided=two_sided).track(np.zeros(900), -y)
    np.testing.assert_array_equal(low, -hi)
    np.testing.assert_array_equal(high, -lo)


def test_two_sided_fits_skewed_residuals():
    y = np.random.default_rng(6).exponential(size=4000)
    one, two = IntervalTracker(0.9), IntervalTracker(0.9, two_sided=True)
    widths = [
        np.median(hi - lo) for lo, hi in (band.track(np.zeros(4000), y) for band in (one, two))
    ]
    assert widths[1] < 0.7 * widths[0]
    assert abs(two.coverage_so_far - 0.9) < 0.01


@pytest.mark.parametrize("keywords", KEYWORDS)
@pytest.mark.parametrize("opened", [False, True])
def test_restored_trackers_go_on_bit_for_bit(keywords, opened):
    rng = np.random.default_rng(7)
    forecasts, y = rng.standard_normal(300), rng.standard_normal(300)
    band = IntervalTracker(**keywords)
    drive(band, forecasts[:150], y[:150])
    if opened:
        band.predict(forecasts[150])
    twin = copy(band)
    assert same(band, twin)
    for a, b in zip(
        drive(band, forecasts[150:], y[150:]), drive(twin, forecasts[150:], y[150:]), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert same(band, twin)


@pytest.mark.parametrize("opened", [False, True])
def test_refuses_bad_input_unchanged(opened):
    rng = np.random.default_rng(8)
    band = IntervalTracker(0.9)
    band.track(rng.standard_normal(50), rng.standard_normal(50))
    if opened:
        first = band.predict(0.5)
        assert band.predict(0.5) == first
    before = copy(band)
    calls = [
        (lambda: band.predict(np.nan), "forecast must be finite"),
        (lambda: band.predict("a"), "forecast must be a number"),
        (lambda: band.predict(1e151), "forecast must be within"),
        (lambda: band.update(np.inf), r"y must be finite.*skip\(\)"),
        (lambda: band.update(None), "y must be a number"),
        (
            lambda: band.track([0.0, np.nan], [0.0, 0.0]),
            "forecasts must be finite: got nan at index 1",
        ),
        (lambda: band.track([0.0, 0.0], [0.0, np.inf]), "y must be finite: got inf at index 1"),
        (lambda: band.track([0.0], [-1e200]), "y must be within"),
        (lambda: band.track([0.0, 1.0], [0.0]), "forecasts must be as many as y"),
        (lambda: band.track([[0.0]], [[0.0]]), "forecasts must be one-dimensional"),
    ]
    if opened:
        calls.append(
            (
                lambda: band.predict(0.6),
                "forecast must be that of the open round: got 0.6, open with 0.5; call update or",
            )
        )
        calls.append((lambda: band.track([0.0], [0.0]), "must start a new round"))
    else:
        calls.append(
            (
                lambda: band.update(0.0),
                r"y must belong to an open round.*call predict\(forecast\) first",
            )
        )
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert same(band, before)


@pytest.mark.parametrize(
    "coverage", [0.0, 1.0, 1.5, -0.1, np.nan, "a", [], [[0.5]], [0.5, 1.0], None]
)
def test_refuses_bad_coverage(coverage):
    with pytest.raises(ValueError, match="coverage must be"):
        IntervalTracker(coverage)


def test_skipped_rounds_teach_nothing():
    rng = np.random.default_rng(9)
    y = rng.standard_normal(200)
    plain, gappy = IntervalTracker(0.9), IntervalTracker(0.9)
    for target in y:
        plain.predict(0.0)
        plain.update(target)
        gappy.skip()
        gappy.predict(3.0)
        gappy.skip()
        gappy.predict(0.0)
        gappy.update(target)
    assert gappy.rounds == 600
    assert gappy.seen == plain.seen == 200
    assert gappy.predict(0.0) == plain.predict(0.0)


def test_what_it_tells_about_itself():
    rng = np.random.default_rng(10)
    band = IntervalTracker(0.9)
    assert (band.rounds, band.misses, band.coverage_so_far, band.radius) == (0, 0, 1.0, np.inf)
    assert band.miss_bound() == (0.0, 0.0)
    assert band.predict(2.0) == (-np.inf, np.inf)
    band.update(3.0)
    assert band.misses == 0
    band.track(np.zeros(300), rng.standard_normal(300))
    before = copy(band)
    radius = band.radius
    assert same(band, before)
    lo, hi = band.predict(0.0)
    assert hi == radius == -lo == band.radius
    assert band.weights.shape == (9,)
    assert band.weights.sum() == pytest.approx(1.0)
    assert IntervalTracker([0.5, 0.9]).weights.shape == (2, 9)
    assert IntervalTracker([0.5, 0.9], two_sided=True).weights.shape == (2, 2, 9)
    assert IntervalTracker([0.5, 0.9]).config == {
        "coverage": (0.5, 0.9),
        "two_sided": False,
        "empty": True,
    }
    assert IntervalTracker((0.5,)).predict(1.0)[0].shape == (1,)


@pytest.mark.parametrize("unit", [0.01, 1.0, 1000.0])
def test_goal_on_the_swelling_stream(unit):
    """The goal, 1.05 of the oracle's pinball loss, on seeds of its own."""
    ratios = []
    for seed in range(9000, 9008):
        stream = interval_scores(10_000, seed, unit=unit)
        s, oracle = stream.losses.y[:, 0], stream.target[:, 0]
        band = IntervalTracker(0.9)
        # everything, at the start, counts as the largest score
        hi = np.minimum(band.track(np.zeros(10_000), s)[1], s.max())
        ratios.append(pinball(hi, s, 0.9).mean() / pinball(oracle, s, 0.9).mean())
        assert abs(band.coverage_so_far - 0.9) < 0.01
    assert np.mean(ratios) <= 1.05


@pytest.mark.parametrize("two_sided", [False, True])
def test_until_scores_are_in_everything_is_answered_and_counts_as_a_hit(two_sided):
    band, known = IntervalTracker((0.5, 0.9), two_sided=two_sided), 4 if two_sided else 3
    # the first forecast, 0, is that of nothing
    y = np.random.default_rng(3).standard_normal(40) + 1e6
    y[2:6:2] = np.nan  # targets that are missing say nothing
    forecasts = np.append(0.0, np.full(39, 1e6))
    lo, hi = band.track(forecasts, y)
    everything = np.isneginf(lo).all(axis=1) & np.isposinf(hi).all(axis=1)
    assert everything.tolist() == [np.isfinite(y[:t]).sum() < known for t in range(40)]
    assert (hi - lo)[~everything].max() < 60  # what the first round missed by is not learnt from
    assert (band.seen, band.misses.tolist()) == (
        38,
        [int(((y < lo[:, j]) | (y > hi[:, j])).sum()) for j in (0, 1)],
    )


def test_exact_forecasts_have_intervals_of_no_width():
    lo, hi = IntervalTracker().track(np.append(0.0, np.full(19, 5.0)), np.full(20, 5.0))
    assert (lo[3:] == 5.0).all()
    assert (hi[3:] == 5.0).all()


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("law", ["normal", "t3", "laplace"])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_first_finite_intervals_cover_their_share(law, two_sided, q):
    """Without Student's widening the first of them covers 0.71 of 0.9, and the next 0.80."""
    rng, streams, rounds = np.random.default_rng(8), 1500, 24
    shape = streams, rounds
    draws = {
        "normal": rng.standard_normal(shape),
        "t3": rng.standard_t(3, shape),
        "laplace": rng.laplace(size=shape),
    }
    y, hits = draws[law], np.zeros(rounds)
    for each in y:
        lo, hi = IntervalTracker(q, two_sided=two_sided).track(np.zeros(rounds), each)
        hits += (lo <= each) & (each <= hi)
    assert (np.abs(hits[4:] / streams - q) < 0.1).all()  # four standard errors at 0.5 are 0.05
    assert hits[4:12].mean() / streams > q - 0.025


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9, 0.95])
def test_the_widening_is_students_quantile_over_the_normal_one(coverage):
    z = ndtri(0.5 + 0.5 * coverage)
    for n in range(2, 21):
        exact = stdtrit(n, 0.5 + 0.5 * coverage) / z
        assert exact * 0.99 < widening(z, float(n)) < exact * (1.06 if n == 2 else 1.02)


def test_streams_follow_their_definition():
    rng, t, T = np.random.default_rng(5), np.arange(1000), 1000
    sigma = (
        np.where(t < 0.3 * T, 1.0, np.where(t < 0.6 * T, 4.0, 0.5))
        * (1 + 0.5 * np.sin(t / 200))
        * 7.0
    )
    stream = interval_scores(1000, 5, unit=7.0)
    np.testing.assert_allclose(
        stream.losses.y[:, 0], np.abs(sigma * rng.standard_normal(T)), rtol=1e-12
    )
    np.testing.assert_allclose(stream.target[:, 0], 1.6448536 * sigma, rtol=1e-7)
    for name, each in score_families(20_000, 3, level=0.8).items():
        assert each.name == name
        assert abs((each.losses.y <= each.target).mean() - 0.8) < 0.01
    with pytest.raises(ValueError, match="T must be 10 or more"):
        score_families(9, 0)


@pytest.mark.parametrize("coverage", [0.05, 0.9])
def test_scores_may_rise_from_the_smallest_float(coverage):
    """The regrets of such rounds are so small that their squares are 0."""
    band = IntervalTracker(coverage)
    for score in (5e-324, 5e-20, 5e-20, 1.0, 2.0, 1e-300, 1.0):
        band.predict(0.0)
        band.update(score)
    assert 0.0 < band.radius < 10.0


def test_peek_is_predict_and_changes_nothing():
    rng = np.random.default_rng(12)
    for arguments in ({}, {"two_sided": True}, {"coverage": [0.9, 0.5]}):
        band = IntervalTracker(**arguments)
        late = []  # targets five rounds late
        for t, z in enumerate(rng.standard_normal(200)):
            before = copy(band)
            shown = band.peek(0.1 * t)
            assert same(band, before)
            np.testing.assert_array_equal(shown, copy(band).predict(0.1 * t))
            late.append((0.1 * t, 0.1 * t + z))
            if len(late) > 5:
                forecast, y = late.pop(0)
                band.predict(forecast)
                band.update(y)
        assert band.seen == 195
    band.predict(1.0)
    with pytest.raises(
        ValueError, match="call update or skip first, or peek for rounds whose targets come late"
    ):
        band.predict(2.0)
    assert np.all(band.peek(2.0)[0] < 2.0)
    for call in (lambda: band.update("1.0"), lambda: band.peek("1.0")):
        with pytest.raises(ValueError, match=r"must be a number: got '1\.0'; convert it first"):
            call()


# --- wrapped forecasters


class River:
    def __init__(self):
        self.total, self.n, self.learnt = 0.0, 0, []

    def predict_one(self, x):
        return x["level"] + self.total / max(self.n, 1)

    def learn_one(self, x, y):
        self.total, self.n = self.total + y - x["level"], self.n + 1
        self.learnt.append((x["level"], y))


class NotFittedError(ValueError):
    pass


class Sklearn:
    def __init__(self):
        self.mean = None

    def predict(self, X):
        assert X.shape == (1, 2)
        if self.mean is None:
            raise NotFittedError("call partial_fit")
        return np.array([self.mean])

    def partial_fit(self, X, y):
        assert X.shape == (1, 2)
        assert y.shape == (1,)
        if y[0] > 100:
            raise ValueError("too large for me")
        self.mean = float(y[0])


def test_wraps_models_of_any_make():
    rng = np.random.default_rng(11)
    levels, noise = np.arange(300) / 10, rng.standard_normal(300)
    model = River()
    band = IntervalTracker(0.9).wrap(model)
    plain = IntervalTracker(0.9)
    twin = River()
    for level, z in zip(levels, noise, strict=True):
        x = {"level": level}
        assert band.predict(x) == plain.predict(twin.predict_one(x))
        band.learn_one(x, level + z)
        plain.update(level + z)
        twin.learn_one(x, level + z)
    assert model.learnt == twin.learnt
    assert same(band.tracker, plain)

    band = IntervalTracker([0.5, 0.9]).wrap(Sklearn())
    assert [end.tolist() for end in band.predict([1.0, 2.0])] == [
        [-np.inf, -np.inf],
        [np.inf, np.inf],
    ]
    band.update([1.0, 2.0], 5.0)
    assert band.predict([1.0, 2.0])[0][0] < 5.0

    forecaster = TrackingForecaster(1)
    band = IntervalTracker(0.9).wrap(forecaster)
    for t in range(100):
        band.update([t / 10], 2.0 * t)
    assert forecaster.rounds == band.tracker.rounds == 100

    before = forecaster.arrays()["means"].copy()
    lo, hi = band.peek([3.0])
    assert lo < band.peek([4.0])[0] < hi + 20.0
    np.testing.assert_array_equal(forecaster.arrays()["means"], before)
    band.update([10.0], 200.0)  # no round was opened
    with pytest.raises(ValueError, match=r"model must have peek\(x\)"):
        IntervalTracker(0.9).wrap(TrackingVAW(1)).peek([1.0])

    band = IntervalTracker(0.9).wrap(lambda x: 3.0 * x)
    assert band.predict(2.0) == (-np.inf, np.inf)
    band.skip()
    band.update(2.0, 7.0)
    assert band.tracker.rounds == 2
    lo, hi = band.predict(2.0)
    assert lo < 6.0 < hi


def test_wrapped_models_refuse_bad_input_unchanged():
    band = IntervalTracker(0.9).wrap(Sklearn())
    band.update([0.0, 0.0], 1.0)
    band.predict([0.0, 0.0])
    before = copy(band.tracker)
    with pytest.raises(ValueError, match="y must be finite"):
        band.update([0.0, 0.0], np.nan)
    with pytest.raises(ValueError, match="too large for me"):
        band.update([0.0, 0.0], 101.0)
    assert same(band.tracker, before)
    with pytest.raises(ValueError, match="model must forecast"):
        IntervalTracker().wrap(3.0)
    river = IntervalTracker().wrap(River())
    river.predict({"level": 1.0})
    with pytest.raises(ValueError, match="forecast must be that of the open round"):
        river.update({"level": 2.0}, 0.0)


def test_a_model_that_refused_a_target_may_be_given_the_next_one_with_the_same_row():
    """Scikit-learn's cannot be put back, so only the tracker is: the round must be opened again
    before anything learns.
    """
    band, twin, row = (
        IntervalTracker(0.9).wrap(Sklearn()),
        IntervalTracker(0.9).wrap(Sklearn()),
        [0.0, 0.0],
    )
    for each in (band, twin):
        each.update([1.0, 0.0], 1.0)
    with pytest.raises(ValueError, match="too large for me"):
        band.update(row, 101.0)
    assert not band.tracker.is_open
    for each in (band, twin):
        each.update(row, 5.0)
    assert same(band.tracker, twin.tracker)
    assert band.predict(row) == twin.predict(row)
    assert band.tracker.is_open


class Frame(np.ndarray):
    """As much of a data frame as wrapping looks at."""

    columns = ("a", "b")


def test_wrapped_models_keep_the_names_of_tables():
    seen = []

    class Model(Sklearn):
        def predict(self, X):
            seen.append(type(X))
            return super().predict(X)

    band = IntervalTracker(0.9).wrap(Model())
    row = np.array([[1.0, 2.0]]).view(Frame)
    band.update(row, 1.0)
    assert band.peek(row) == band.predict(row)
    assert seen == [Frame] * 3
    for x, message in (
        ({"a": 1.0, "b": 2.0}, r"x must be a row of numbers or of a data frame: got .*; pass list"),
        (np.zeros((3, 2)).view(Frame), "x must have one row: got 3"),
        (["red", 1.0], "x must be numeric"),
    ):
        with pytest.raises(ValueError, match=message):
            IntervalTracker(0.9).wrap(Model()).predict(x)
