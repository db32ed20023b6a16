"""Streams are what they say, draw by draw, and adversaries keep their promises."""

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.lab import streams
from stillpoint.lab.streams import export
from stillpoint.lab.streams.reactive import ReactiveStream
from thorough import some


def reference_families(T, rng):
    out, t = {}, np.arange(T)
    for pieces in (1, 10, 100):
        u = np.repeat(rng.uniform(-1, 1, pieces), T // pieces)
        for noise in (0.1, 1.0):
            out[f"pieces{pieces}-noise{noise}"] = u, u + noise * rng.standard_normal(u.size)
    for periods in (1, 10, 100):
        u = np.sin(2 * np.pi * t * periods / T)
        out[f"sine{periods}"] = u, u + 0.3 * rng.standard_normal(T)
    u = 0.02 * np.cumsum(rng.standard_normal(T))
    out["walk"] = u, u + 0.3 * rng.standard_normal(T)
    u = np.full(T, 5.0)
    out["far"] = u, u + 0.3 * rng.standard_normal(T)
    return out


@pytest.mark.parametrize("T", [2000, 1234])
def test_families_are_the_reference_draw_by_draw(T):
    expected, drawn = reference_families(T, np.random.default_rng(3)), streams.families(T, 3)
    assert list(drawn) == list(expected)
    for name, (u, y) in expected.items():
        np.testing.assert_array_equal(drawn[name].target[:, 0], u, err_msg=name)
        np.testing.assert_array_equal(drawn[name].losses.y[:, 0], y, err_msg=name)
        np.testing.assert_array_equal(streams.get(name, T, 3).losses.y, drawn[name].losses.y)


def test_peer_streams_are_the_reference_draw_by_draw():
    rng = np.random.default_rng(5)
    u = np.repeat(rng.uniform(-1, 1, 10), 30)
    pieces = streams.ten_pieces(307, 5)
    np.testing.assert_array_equal(pieces.target[:, 0], u)
    np.testing.assert_array_equal(pieces.losses.y[:, 0], u + 0.1 * rng.standard_normal(u.size))

    rng, y, v = np.random.default_rng(5), np.empty(5000), 1.0
    for i in range(5000):
        v = v * (-1.0 if rng.random() < 0.0005 else 1.0) + 0.01 * (rng.random() - 0.5)
        y[i] = v
    flips = streams.sign_flips(5000, 5)
    np.testing.assert_array_equal(flips.losses.y[:, 0], y)
    np.testing.assert_array_equal(flips.target, flips.losses.y)


def test_stagewise_is_a_quarter_of_the_square():
    T, dim, stages, noise = 450, 3, 100, 0.05
    rng = np.random.default_rng(5)
    x = rng.standard_normal((T, dim))
    x *= (rng.random(T) ** (1 / dim) / np.linalg.norm(x, axis=1))[:, None]
    c = rng.standard_normal((stages, dim))
    c *= (rng.random(stages) / np.linalg.norm(c, axis=1))[:, None]
    u = np.repeat(c, 5, axis=0)[:T]
    y = (x * u).sum(1) + noise * rng.standard_normal(T)
    stream = streams.stagewise(T, 5)
    np.testing.assert_array_equal(stream.target, u)
    w = rng.standard_normal((T, dim))
    np.testing.assert_allclose(stream.losses.values(w), ((x * w).sum(1) - y) ** 2 / 4, rtol=1e-12)


def test_signals_have_the_stated_variation():
    drawn = streams.signals(10_000, 0)
    variation = {name: np.abs(np.diff(stream.target[:, 0])).sum() for name, stream in drawn.items()}
    assert variation["signals/smooth"] == pytest.approx(4.0, abs=0.01)
    assert variation["signals/jumps"] == 4.0
    residuals = np.concatenate([stream.losses.y - stream.target for stream in drawn.values()])
    assert residuals.std() == pytest.approx(0.5, rel=0.03)


def test_vectors_spread_the_same_norms_over_coordinates():
    T = 20_000
    line, space = streams.families(T, 1), streams.families(T, 1, dim=10)
    for name, stream in space.items():
        flat = line[name.removeprefix("d10/")]
        noise, flat_noise = stream.losses.y - stream.target, flat.losses.y - flat.target
        assert np.linalg.norm(noise, axis=1).mean() == pytest.approx(
            np.sqrt((flat_noise**2).mean()), rel=0.05
        )
        assert stream.radius <= max(5.0, 3 * flat.radius)
    assert space["d10/far"].radius == pytest.approx(5.0)


def test_scaled_families_are_multiples_and_so_are_the_steps_tried():
    plain, scaled = streams.families(500, 2), streams.families(500, 2, scale=1000.0)
    for name, stream in plain.items():
        np.testing.assert_allclose(scaled[f"x1000/{name}"].losses.y, 1000.0 * stream.losses.y)
        np.testing.assert_allclose(scaled[f"x1000/{name}"].target, 1000.0 * stream.target)
        np.testing.assert_allclose(scaled[f"x1000/{name}"].steps, 1000.0 * stream.steps)
    np.testing.assert_array_equal(plain["walk"].steps, 2.0 ** (np.arange(-56, 9) / 4))


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_pinball_targets_are_the_quantiles(level):
    for name, stream in streams.pinball_families(20_000, 4, level=level, unit=7.0).items():
        covered = (stream.losses.y <= stream.target).mean()
        assert covered == pytest.approx(level, abs=0.01), name
        nearby = [stream.losses.values(stream.target * factor).sum() for factor in (0.9, 1.0, 1.1)]
        assert np.argmin(nearby) == 1, name


def test_gradient_sizes_of_the_hard_streams():
    jumps = streams.scale_jumps(1000, 0)
    run = sp.play(sp.KernelFTRL(1, kernel=sp.kernels.OU(rate=0.1)), jumps.losses)
    sizes = np.abs(run.gradients[:, 0])
    assert set(sizes[:500]) == {1.0}
    assert set(sizes[500:]) == {1e6}
    assert jumps.lipschitz == 1e6

    quiet = streams.bursts(1000, 0, active=0.2)
    heard = np.array([loss.gradient([9.0])[0] != 0.0 for loss in quiet.losses])
    assert heard.mean() == pytest.approx(0.2)
    assert heard[:20].all()
    assert not heard[20:100].any()

    heavy = streams.heavy_gradients(5000, 0, sigma=2.0)
    assert np.log(heavy.losses.x).std() == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(
        heavy.losses.values([[3.0]]),
        heavy.losses.x[:, 0] * np.abs(3.0 - heavy.losses.y / heavy.losses.x)[:, 0],
    )


def test_irregular_times_carry_the_target():
    stream = streams.irregular(4000, 1)
    times = stream.losses.times
    assert np.diff(times).min() > 0
    assert np.diff(times).max() > 20 * np.median(np.diff(times))
    np.testing.assert_allclose(stream.target[:, 0], np.sin(20 * np.pi * times / times[-1]))
    np.testing.assert_array_equal(
        sp.play(sp.KernelFTRL(1, lipschitz=1.0, kernel=sp.kernels.OU(0.1)), stream.losses).times,
        times,
    )


@pytest.mark.parametrize("dim", [1, 4])
def test_pure_noise_has_unit_gradients_after_equal_ones(dim):
    stream = streams.pure_noise(3000, 0, dim=dim, push=20)
    np.testing.assert_allclose(np.linalg.norm(stream.losses.y, axis=1), 1.0)
    assert (stream.losses.y[:20] == stream.losses.y[0]).all()
    assert np.linalg.norm(stream.losses.y[20:].mean(axis=0)) < 0.05
    assert not stream.target.any()


class Follower:
    """A stand-in for any learner: plays `rule(last answer, round)`."""

    def __init__(self, dim, rule):
        self.dim, self.time, self.rule, self.g = dim, 0.0, rule, np.zeros(dim)

    def predict(self, time=None):
        self.time = self.time if time is None else time
        return np.broadcast_to(
            np.asarray(self.rule(self.g, self.time), dtype=float), (self.dim,)
        ).copy()

    def update(self, g, time=None):
        self.g = np.asarray(g)


RULES = {
    "still": lambda g, t: 0.0,
    "with the gradient": lambda g, t: g,
    "against the gradient": lambda g, t: -3.0 * g,
    "wave": lambda g, t: np.sin(t / 7),
}


@pytest.mark.parametrize("rule", some(RULES, every=2))
@pytest.mark.parametrize("dim", [2, 5])
def test_no_learner_escapes_the_orthogonal_adversary(rule, dim):
    stream = streams.orthogonal(605, 3, dim=dim, blocks=6, radius=2.0)
    run = sp.play(Follower(dim, RULES[rule]), stream)
    assert (run.linear >= -1e-9).all()
    lengths = np.array([101] * 5 + [100])
    assert run.regret(stream.target)[-1] >= 2.0 * np.sqrt(lengths).sum() - 1e-6
    np.testing.assert_allclose(np.linalg.norm(stream.target, axis=1), 2.0)


def test_the_future_depends_on_past_plays_and_games_repeat():
    stream = streams.orthogonal(200, 3)
    runs = [sp.play(Follower(2, RULES[rule]), stream) for rule in ("wave", "still", "wave")]
    np.testing.assert_array_equal(runs[0].gradients, runs[2].gradients)
    assert not np.array_equal(runs[0].gradients, runs[1].gradients)
    first = runs[0].stream[0].game
    np.testing.assert_allclose(runs[0].regret(first.target), runs[2].regret(stream.target))


def test_random_signs_are_the_best_of_each_block():
    stream = streams.random_signs(1000, 1, blocks=10, radius=3.0)
    run = sp.play(Follower(1, RULES["still"]), stream)
    sums = run.gradients.reshape(10, 100).sum(axis=1)
    assert run.regret(stream.target)[-1] == pytest.approx(3.0 * np.abs(sums).sum())


def test_the_fleeing_target_moves_only_when_caught_and_once_a_block():
    stream = streams.fleeing(400, 2, blocks=8)
    still = sp.play(Follower(1, RULES["still"]), stream)
    side = stream.target[0, 0]
    assert 0.5 <= abs(side) <= 1.0
    assert (stream.target == side).all()
    assert still.regret(stream.target)[-1] == pytest.approx(400 * abs(side))

    def chase(g, t):
        return -np.sign(g) * abs(side)

    sp.play(Follower(1, chase), stream)
    jumps = np.flatnonzero(np.diff(stream.target[:, 0]))
    assert len(jumps) == 8
    assert len(set((jumps + 1) // 50)) == 8


def test_a_game_refuses_rounds_out_of_order_and_an_early_comparator():
    stream = streams.fleeing(100, 0)
    rounds = list(stream)
    with pytest.raises(ValueError, match="in order"):
        rounds[3].gradient([0.0])
    rounds[0].gradient([0.0])
    before = rounds[0].value([2.0])
    assert rounds[0].value([2.0]) == before
    with pytest.raises(ValueError, match="1 of 100 rounds"):
        _ = stream.target


@pytest.mark.parametrize("spec", some(streams.all_streams(), every=2), ids=lambda spec: spec.name)
def test_every_stream_is_seeded_and_says_what_it_is(spec):
    one, two, other = spec.make(200, 1), spec.make(200, 1), spec.make(200, 2)
    assert one.name == spec.name
    assert one.group == spec.group
    assert len(spec.note) > 10
    assert len(one) == 200
    if isinstance(one, ReactiveStream):
        for stream in (one, two, other):
            sp.play(Follower(stream.dim, RULES["wave"]), stream)
        answers = [stream.game.losses.y for stream in (one, two, other)]
    else:
        answers = [stream.losses.y for stream in (one, two, other)]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert not np.array_equal(answers[0], answers[2])
    np.testing.assert_array_equal(one.target, two.target)
    assert one.target.shape == (len(one), one.dim)


def test_the_stated_gradient_bound_holds_and_is_tight():
    for spec in streams.all_streams():
        stream = spec.make(200, 1)
        if isinstance(stream, ReactiveStream) or not np.isfinite(stream.lipschitz):
            continue
        w = stream.target[0] + 1e4
        sizes = [np.linalg.norm(loss.gradient(w)) for loss in stream.losses]
        sizes += [np.linalg.norm(loss.gradient(-w)) for loss in stream.losses]
        assert max(sizes) == pytest.approx(stream.lipschitz, rel=1e-6), spec.name


@pytest.mark.parametrize("name", ["signals/jumps", "stagewise"])
def test_squared_losses_have_a_bound_inside_a_ball(name):
    stream = streams.get(name, 300, 1)
    assert stream.lipschitz == np.inf
    bound, rng = stream.lipschitz_within(2.0), np.random.default_rng(0)
    points = rng.standard_normal((300, stream.dim))
    points *= 2.0 / np.linalg.norm(points, axis=1, keepdims=True)
    worst = max(np.linalg.norm(loss.gradient(w)) for loss in stream.losses for w in points[:20])
    assert 0.8 * bound < worst <= bound
    assert streams.get("walk", 100, 1).lipschitz_within(2.0) == 1.0


def test_only_the_eleven_families_chose_constants():
    chosen = [spec.name for spec in streams.all_streams() if spec.group == streams.CHOSEN]
    assert chosen == list(streams.families(100, 0))
    assert len({spec.name for spec in streams.all_streams()}) == len(streams.all_streams())


def test_find_takes_names_sets_groups_and_wildcards():
    assert [spec.name for spec in streams.find(["walk", "walk"])] == ["walk"]
    assert (
        len(streams.find(["chosen"]))
        == len(streams.find(["vectors"]))
        == len(streams.find(["x1000/*"]))
        == 11
    )
    assert len(streams.find(["all"])) == len(streams.all_streams())
    with pytest.raises(ValueError, match=r"did you mean .*scale-jumps"):
        streams.find(["scale-jump"])
    assert streams.find("walk") == streams.find(["walk"])


@pytest.mark.parametrize("name", ["chosen", "vectors", "all", "x1000/*", "sine?", "scale-jump"])
def test_get_takes_the_name_of_one_stream(name):
    with pytest.raises(ValueError, match=r"stream must be known: got .*lists all"):
        streams.get(name, 100, 0)


def test_a_mistaken_real_name_is_seen_by_export():
    with pytest.raises(
        ValueError, match=r"stream must be known: got 'sunspot'; did you mean sunspots"
    ):
        export.columns("sunspot", 100, 0)


def test_lipschitz_of_linear_losses_has_the_features_in_it():
    rng = np.random.default_rng(0)
    y, x = rng.standard_normal(50), rng.standard_normal((50, 3))
    stream = streams.Stream("made", sp.losses.Linear().on(y, x=x), np.zeros((50, 3)))
    largest = max(float(np.linalg.norm(loss.gradient(np.zeros(3)))) for loss in stream.losses)
    assert stream.lipschitz == pytest.approx(largest, rel=1e-12)


def test_seeds_of_numpy_draw_the_same():
    ours, theirs = (streams.score_families(50, seed) for seed in (3, np.int64(3)))
    for name, stream in ours.items():
        np.testing.assert_array_equal(theirs[name].losses.y, stream.losses.y)


@pytest.mark.parametrize("push", [-1, 0.5, True])
def test_a_push_is_a_number_of_rounds(push):
    with pytest.raises(ValueError, match=r"push must be a positive whole number: got .*0 or more"):
        streams.pure_noise(100, 0, push=push)


def test_signals_have_the_total_variation_they_name():
    found = [
        np.abs(np.diff(stream.target[:, 0])).sum() for stream in streams.signals(20_000, 0).values()
    ]
    np.testing.assert_allclose(found, [4.0, 4.0, 5.17], atol=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: streams.families(99, 0), "T must be 100 or more"),
        (lambda: streams.ten_pieces(9, 0), "T must be 10 or more"),
        (lambda: streams.families(100, 0, scale=0.0), "scale must be positive"),
        (lambda: streams.orthogonal(100, 0, dim=1), "random_signs"),
        (lambda: streams.pinball_families(100, 0, level=1.0), "level"),
        (
            lambda: streams.Stream("s", sp.losses.Absolute().on([1.0, 2.0]), np.zeros((3, 1))),
            "target must have shape",
        ),
        (
            lambda: streams.Stream("s", sp.losses.Absolute().on([1.0, 2.0]), None),
            "got a LossStream and a NoneType; return an OwnStream",
        ),
        (
            lambda: streams.Stream("s", [sp.losses.Absolute().on([1.0])[0]], np.zeros((1, 1))),
            "got a list and a ndarray; return an OwnStream",
        ),
    ],
)
def test_bad_arguments_name_the_remedy(make, message):
    with pytest.raises(ValueError, match=message):
        make()
