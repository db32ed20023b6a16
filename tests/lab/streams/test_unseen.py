"""The set "unseen": its comparators minimise the expected loss, and its laws are as stated."""

import numpy as np
import pytest

from stillpoint.lab import streams
from stillpoint.lab.baselines import hindsight_ogd
from stillpoint.lab.streams import drifts
from stillpoint.losses import Hinge
from thorough import some

SPECS = streams.find("unseen")
DISCRETE = {"unseen/rounded", "unseen/counts", "unseen/categories"}  # the minimiser is at a kink
every = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)


def draw(name, T=20_000, seed=11):
    return streams.get(f"unseen/{name}", T, seed)


def gradients(stream):
    losses, u = stream.losses, stream.target
    if losses.y.shape[1] == 1:  # the slope at the prediction, times the features if there are any
        x = losses.x if losses.x.size else np.ones((len(losses), 1))
        return losses.loss.gradient((x * u).sum(axis=1, keepdims=True), losses.y) * x
    return np.array(
        [loss.gradient(u) for loss, u in zip(stream.losses, stream.target, strict=True)]
    )


def test_the_set_is_only_reported_on_and_has_many_vectors():
    dims = [spec.make(100, 0).dim for spec in SPECS]
    assert {spec.group for spec in SPECS} == {streams.REPORTED}
    assert (dims.count(1), dims.count(10)) == (15, 9)
    assert [spec.name for spec in streams.find("unseen/*")] == [spec.name for spec in SPECS]


@every
@pytest.mark.parametrize("T", some([100, 101, 357], every=2))
def test_any_number_of_rounds_is_finite_and_seeded(spec, T):
    one, two = spec.make(T, 7), spec.make(T, 7)
    assert len(one) == len(one.target) == T
    for array in (one.target, one.losses.y, one.losses.x):
        assert np.isfinite(array).all()
    np.testing.assert_array_equal(one.losses.y, two.losses.y)
    np.testing.assert_array_equal(one.losses.x, two.losses.x)
    np.testing.assert_array_equal(one.target, two.target)


@every
def test_too_few_rounds_are_refused(spec):
    with pytest.raises(ValueError, match="T must be 100 or more: got 99"):
        spec.make(99, 0)


@every
def test_moving_the_comparator_costs_in_every_direction(spec):
    stream = spec.make(20_000, 5)
    least = stream.losses.values(stream.target).sum()
    for move in 0.2 * stream.unit * np.vstack([np.eye(stream.dim), -np.eye(stream.dim)]):
        assert stream.losses.values(stream.target + move).sum() > least


@pytest.mark.parametrize(
    "spec", [s for s in SPECS if s.name not in DISCRETE], ids=lambda spec: spec.name
)
def test_gradients_at_the_comparator_have_mean_zero(spec):
    stream = spec.make(10_000, 3)
    g, t = gradients(stream), np.arange(len(stream))[:, None]
    side = np.sign(stream.target - np.median(stream.target, axis=0))
    for weight in (1.0, side, np.sin(t / 300), t / len(stream)):
        sums, spread = (weight * g).sum(axis=0), np.sqrt(((weight * g) ** 2).sum(axis=0))
        # autocorrelated noise (sawtooth) spreads sums by up to √(1.3/0.7) = 1.36
        assert (np.abs(sums) <= 4.5 * spread).all()


def test_rounded_and_counted_values_have_the_stated_quantile():
    for name, level in (("rounded", 0.5), ("counts", 0.9)):
        stream = draw(name, 100_000)
        y, q = stream.losses.y, stream.target
        np.testing.assert_array_equal(y, np.rint(y))
        np.testing.assert_array_equal(q, np.rint(q))
        for low in np.unique(q):
            here = y[q == low]
            if here.size > 1000:
                assert (here < low).mean() < level + 0.03
                assert (here <= low).mean() > level - 0.03


def test_the_best_weight_of_a_category_is_its_label_over_the_size_of_the_feature():
    stream = draw("categories")
    assert set(np.unique(stream.target)) == {-0.25, 0.25}
    agree = (stream.losses.x * stream.target).sum(1) == stream.losses.y[:, 0]
    assert agree.mean() == pytest.approx(0.9, abs=0.01)
    p = np.linspace(-2, 2, 401)  # the expected loss of a label that is +1 in 90%
    expected = 0.9 * Hinge().value(p, np.ones(401)) + 0.1 * Hinge().value(p, -np.ones(401))
    assert p[np.argmin(expected)] == pytest.approx(1.0)


@every
def test_tuned_ogd_has_a_regret_to_compare_with(spec):
    for seed in some((0, 1)):
        stream = spec.make(2000, seed)
        found = hindsight_ogd(stream.losses, steps=stream.steps, radius=30 * stream.unit)
        assert found.total > stream.losses.values(stream.target).sum()
        assert stream.steps[0] < found.step < stream.steps[-1]
        assert stream.radius < 30 * stream.unit


def test_two_of_ten_coordinates_move():
    for name in ("sparse-squares", "sparse-regimes"):
        assert (np.ptp(draw(name).target, axis=0) > 0).sum() == 2
    moves = (np.diff(draw("sparse-jumps").target, axis=0) != 0).sum(axis=1)
    assert set(moves) == {0, 2}
    assert (moves > 0).mean() == pytest.approx(1 / 400, rel=0.5)


def test_noise_is_as_stated():
    noise = {
        name: (found.losses.y - found.target)[:, 0]
        for name, found in ((name, draw(name)) for name in ("sawtooth", "kinks", "integrated-walk"))
    }
    saw = noise["sawtooth"]
    assert np.corrcoef(saw[1:], saw[:-1])[0, 1] == pytest.approx(0.3, abs=0.03)
    assert saw.std() == pytest.approx(0.5, rel=0.03)
    assert np.median(noise["kinks"]) == pytest.approx(0.0, abs=0.5)
    assert noise["kinks"].mean() == pytest.approx(15 * (1 - np.log(2)), rel=0.1)
    assert (np.abs(noise["integrated-walk"]) > 1.5).mean() == pytest.approx(0.034, abs=0.005)
    days = draw("days")
    assert (days.losses.x == 0).mean() == pytest.approx(0.3, abs=0.01)
    growth = draw("growth")
    size = np.abs(growth.losses.y - growth.target)
    high = growth.target > np.median(growth.target)
    assert size[high].mean() > 1.2 * size[~high].mean()


def test_drifts_are_as_stated():
    rng = np.random.default_rng(2)
    u = drifts.reverting(50_000, rng, 20.0, dim=2)
    np.testing.assert_allclose(u.std(axis=0), 1.0, atol=0.06)
    assert np.corrcoef(u[20:, 0], u[:-20, 0])[0, 1] == pytest.approx(np.exp(-1), abs=0.05)
    states = drifts.two_states(200_000, rng, 600.0, 200.0)
    assert states[:-1].mean() == pytest.approx(0.25, abs=0.04)
    assert (np.diff(states) == 1).sum() == pytest.approx(250, rel=0.2)
    piece = drifts.pieces(100_000, rng, 100.0)
    assert piece[0] == 0
    assert set(np.diff(piece)) == {0, 1}
    assert piece[-1] == pytest.approx(1000, rel=0.1)
    line = drifts.polyline(20_000, rng, 400.0)[:, 0]
    kinks = np.abs(np.diff(line, 2)) > 1e-12
    assert kinks.mean() == pytest.approx(2 / 400, rel=0.4)  # a knot between rounds bends at two
    assert np.abs(line).max() <= 1.0
    assert line[-1000:].std() > 0
