"""IntervalTracker: its slow twin, the coverage theorem on nasty streams, units, goals."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_twins import RARE_LEVELS, aggregation, pinball, slow_radii

from stillpoint.intervals import IntervalTracker
from stillpoint.lab.streams.scores import interval_scores, score_families
from thorough import some_of


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


@functools.cache
def twin(name, q):
    """The slow twin of a case, which two tests look at."""
    return slow_radii(CASES[name], q)


@pytest.mark.parametrize(("name", "q"), some_of(CASES, [0.5, 0.9, 0.99], every=6))
def test_radii_are_the_slow_twins(name, q):
    scores = CASES[name]
    band = IntervalTracker(q)
    lo, hi = band.track(np.zeros(len(scores)), scores)
    expected, pool = twin(name, q)
    np.testing.assert_allclose(hi, expected, rtol=1e-7)
    np.testing.assert_array_equal(lo, -hi)
    assert band.misses == (scores > expected).sum()
    if pool.k:
        np.testing.assert_allclose(
            band.weights,
            aggregation(np.ones(9), pool.R, pool.V, pool.L, pool.B, pool.k)[1],
            atol=1e-7,
        )


@pytest.mark.parametrize(("name", "q"), some_of(CASES, [0.5, 0.9, 0.99]))
def test_aggregation_guarantee(name, q):
    """R_i ≤ √((B + V_i)·A), A the sum of r²/(B + V) over rounds (1 for what sets the first B); R
    bounds the excess loss.
    """
    _, pool = twin(name, q)
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
