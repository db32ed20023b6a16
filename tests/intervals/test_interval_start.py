"""IntervalTracker in its first rounds: everything, then intervals from few scores."""

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from stillpoint.intervals import IntervalTracker
from stillpoint.intervals._experts import widening
from thorough import some_of


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


@pytest.mark.parametrize("delay", [0, 2])
def test_rare_coverage_misses_from_the_first_round_in_which_a_hit_is_too_many(delay):
    """αT − h − α misses are due at least, α = 1 − coverage, h = 3√(α(1 − α)(T + 100))."""
    y, due = np.random.default_rng(4).standard_normal(40), []
    for rounds in range(1, 41):
        band = IntervalTracker(0.001)
        band.track(np.zeros(rounds), y[:rounds], **({"delay": delay} if delay else {}))
        least = band.miss_bound()[0]
        due.append(least)
        assert band.misses >= least
    assert max(due) > 1.0


def test_exact_forecasts_have_intervals_of_no_width():
    lo, hi = IntervalTracker().track(np.append(0.0, np.full(19, 5.0)), np.full(20, 5.0))
    assert (lo[3:] == 5.0).all()
    assert (hi[3:] == 5.0).all()


@pytest.mark.parametrize(
    ("law", "two_sided", "q"),
    some_of(["normal", "t3", "laplace"], [False, True], [0.5, 0.9], every=4),
)
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


@pytest.mark.parametrize("coverage", [0.05, 0.9])
def test_scores_may_rise_from_the_smallest_float(coverage):
    """The regrets of such rounds are so small that their squares are 0."""
    band = IntervalTracker(coverage)
    for score in (5e-324, 5e-20, 5e-20, 1.0, 2.0, 1e-300, 1.0):
        band.predict(0.0)
        band.update(score)
    assert 0.0 < band.radius < 10.0
