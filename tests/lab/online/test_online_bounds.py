"""Ensembles keep their guarantees, at places where a wrong constant would show."""

import math

import numpy as np
import pytest

import naive_online as naive
import stillpoint as sp
from stillpoint.domains import Ball
from stillpoint.lab.baselines import (
    AFLH,
    CBCE,
    FLH,
    OEGD,
    PSACS,
    SACS,
    SAOL,
    OptimisticOGD,
    Scream,
    SwordBest,
    SwordPP,
    SwordSmallLoss,
    SwordVariation,
)
from stillpoint.lab.online import (
    Base,
    CoinBetting,
    CompactCover,
    DenseCover,
    Descent,
    Ensemble,
    ExponentialWeights,
    FadingDescent,
    FixedShare,
    LeadingHistories,
    LossCover,
    NewtonStep,
    NormalHedge,
    Pool,
    Prod,
    ScaleFree,
    StronglyConvexDescent,
)
from stillpoint.lab.online._bank import AT
from stillpoint.losses import Absolute, Squared
from stillpoint.regret import path_length
from thorough import THOROUGH, some

R = 0.8


class Slope:
    """A linear loss, in one dimension too."""

    def __init__(self, g):
        self.g = g

    def value(self, w):
        return float(self.g @ w)

    def gradient(self, w):
        return self.g.copy()


def toward(w):
    size = np.linalg.norm(w)
    return w / size if size > 0 else np.ones(w.size) / np.sqrt(w.size)


def adversaries(dim):
    """Name → gradient(t, w) of norm at most 1."""
    rng = np.random.default_rng(0)
    return {
        "noise": lambda t, w: rng.uniform(-1, 1, dim) / np.sqrt(dim),
        "never turns": lambda t, w: -np.ones(dim) / np.sqrt(dim),
        "against the play": lambda t, w: toward(w),
        "with the play": lambda t, w: -toward(w),
        "switches": lambda t, w: toward(w - 0.5 * (-1) ** (t // 25)),
    }


def against(learner, gradient, rounds):
    plays, gradients = np.empty((rounds, learner.dim)), np.empty((rounds, learner.dim))
    for t in range(rounds):
        plays[t] = learner.predict()
        gradients[t] = gradient(t + 1, plays[t].copy())
        learner.update_loss(Slope(gradients[t]))
    return plays, gradients


def comparators(gradients):
    """The best fixed point, and the best in each of several parts."""
    for parts in (1, 2, 10, len(gradients)):
        u = [
            np.broadcast_to(-R * toward(part.sum(axis=0)), part.shape)
            for part in np.array_split(gradients, min(parts, len(gradients)))
        ]
        yield np.concatenate(u)


def sword(T):
    return {"horizon": T, "lipschitz": 1.0, "smoothness": 1.0, "radius": R}


# how to build it for T rounds, and how much of its bound is lost at worst
POOLS = {
    "optimistic": (lambda d, T: OptimisticOGD(d, step=0.1, domain=Ball(R)), 0.85),
    "oegd": (lambda d, T: OEGD(d, step=0.1, domain=Ball(R)), 0.85),
    "sword variation": (lambda d, T: SwordVariation(d, **sword(T)), 0.8),
    "sword small loss": (lambda d, T: SwordSmallLoss(d, **sword(T)), 0.5),
    "sword best": (lambda d, T: SwordBest(d, **sword(T)), 0.4),
    "sword++": (lambda d, T: SwordPP(d, **sword(T)), 0.8),
    "scream": (
        lambda d, T: Scream(d, horizon=T, lipschitz=1.0, radius=R, switching=0.5),
        0.75,
    ),
}


@pytest.mark.parametrize("name", some(POOLS, every=2))
def test_pools_keep_their_bounds_and_come_near_them(name):
    make, share = POOLS[name]
    worst = 0.0
    for dim, rounds in ((1, 1), (1, 5), (2, 30), (1, 300)):
        for gradient in adversaries(dim).values():
            learner = make(dim, rounds)
            assert learner.bound(3.0) == 0.0  # nothing played yet
            plays, gradients = against(learner, gradient, rounds)
            for u in comparators(gradients):
                regret = float((gradients * (plays - u)).sum())
                if name == "scream":
                    moves = np.linalg.norm(np.diff(plays, axis=0), axis=1).sum()
                    regret += learner.switching * moves
                limit = learner.bound(path_length(u))
                assert regret <= limit * (1 + 1e-12)
                worst = max(worst, regret / limit)
    assert worst >= share


@pytest.mark.parametrize("make", [OptimisticOGD, OEGD])
def test_a_switch_from_end_to_end_costs_what_bounds_say(make):
    learner, g = make(1, step=0.02, domain=Ball(R)), np.repeat([1.0, -1.0] * 5, 100)
    plays, _ = against(learner, lambda t, w: g[t - 1 : t], g.size)
    u = -R * g[:, None]
    regret, path = float(g @ (plays - u)[:, 0]), path_length(u)
    assert 0.98 * learner.bound(path) <= regret <= learner.bound(path)
    assert regret > 1.9 * learner.bound(path / 2)


def test_the_mixed_hint_of_sword_is_nearly_as_good_as_the_better_one():
    learner, lost, most = SwordBest(1, **sword(400)), 0.0, 8 * math.log(2)  # 8G² ln 2
    for _ in range(400):
        learner.predict()
        (hint,), clock = learner._bank.extra, learner._bank.clock
        beta = 1 / (1 + math.exp((clock[AT.varied] - clock[AT.plain]) / 8))
        g = -1.0 if hint >= 0 else 1.0  # never the last one again
        lost += (g - beta * hint) ** 2
        learner.update_loss(Slope(np.array([g])))
        over = lost - min(clock[AT.varied], clock[AT.plain])
        assert over <= most
    assert over >= 0.85 * most


def smooth(rounds, dim, speed):
    """Squared losses whose targets move little, and Σ sup‖∇f_t − ∇f_{t−1}‖²."""
    y = 0.5 * np.sin(speed * np.arange(rounds))[:, None] * np.ones(dim) / np.sqrt(dim)
    return Squared().on(y), y, float((np.diff(y, axis=0) ** 2).sum())


def test_extra_gradients_keep_the_published_bound_of_smooth_losses():
    for dim, speed in ((1, 0.01), (3, 0.3), (1, 2.0)):
        losses, y, variation = smooth(300, dim, speed)
        for step in (0.05, 0.7):  # up to 1/(√2·L), L = 1
            learner = OEGD(dim, step=step, domain=Ball(R))
            run = sp.play(learner, losses)
            first = float(np.linalg.norm(run.gradients[0]))
            for u in (y, np.zeros(dim), np.full(dim, R / np.sqrt(dim))):
                path = path_length(run.sequence(u))
                published = learner.variation_bound(path, variation, first)
                assert run.regret(u)[-1] <= learner.bound(path) <= published * (1 + 1e-12)


def test_sword_loses_little_where_losses_vary_little_and_ader_does_not_see_that():
    totals = {}
    for rounds in (2000, 8000):
        losses, y, _ = smooth(rounds, 1, 2 * np.pi / rounds)  # one period, however long
        sizes = {"horizon": rounds, "lipschitz": 1.5, "radius": R}
        for make in (SwordVariation, SwordBest, SwordPP):
            run = sp.play(make(1, smoothness=1.0, **sizes), losses)
            totals.setdefault(make.__name__, []).append(run.regret(y)[-1])
    for name, (short, long) in totals.items():
        assert long <= 1.1 * short, name  # √T would be twice as much


def all_intervals(rounds):
    return ((a, b) for a in range(1, rounds + 1) for b in range(a, rounds + 1))


COVERS = {
    "saol": lambda d: SAOL(d, lipschitz=1.0, radius=R),
    "cbce": lambda d: CBCE(d, lipschitz=1.0, radius=R),
    "sacs": lambda d: SACS(d, lipschitz=1.0, radius=R),
    "aflh": lambda d: AFLH(d, horizon=150, lipschitz=1.0, radius=R),
    "saol losses": lambda d: SAOL(d, lipschitz=1.0, radius=R, surrogate=False),
}


@pytest.mark.parametrize("name", COVERS)
def test_covers_keep_their_bounds_on_every_interval(name):
    rounds = 120
    for dim in (1, 2):
        learner = COVERS[name](dim)
        limits = {ends: learner.interval_bound(*ends) for ends in all_intervals(rounds)}
        first, last = np.array(list(limits)).T - [[1], [0]]
        for gradient in adversaries(dim).values():
            learner = COVERS[name](dim)
            plays, gradients = against(learner, gradient, rounds)
            linear = np.append(0.0, np.cumsum((gradients * plays).sum(axis=1)))
            sums = np.concatenate([np.zeros((1, dim)), np.cumsum(gradients, axis=0)])
            best = -R * np.linalg.norm(sums[last] - sums[first], axis=1)
            assert (linear[last] - linear[first] - best <= list(limits.values())).all()


@pytest.mark.parametrize("kind", ["strong", "exp-concave"])
def test_flh_keeps_its_bound_on_every_interval_of_curved_losses(kind):
    rounds, G = 120, 2 * R
    rng = np.random.default_rng(0)
    y = np.repeat([0.7, -0.7, 0.1, 0.6], rounds // 4) + rng.uniform(-0.1, 0.1, rounds)
    curvature = 1.0 if kind == "strong" else 1.0 / G**2
    learner = FLH(1, lipschitz=G, radius=R, curvature=curvature, kind=kind)
    run = sp.play(learner, Squared().on(y))
    total, shares = np.append(0.0, np.cumsum(run.losses)), []
    for a, b in all_intervals(rounds):
        part = y[a - 1 : b]
        regret = total[b] - total[a - 1] - 0.5 * ((part - part.mean()) ** 2).sum()
        shares.append(regret / learner.interval_bound(a, b))
    assert max(shares) <= 1.0


def test_fixed_share_loses_at_most_ln_s_over_alpha_to_whoever_is_born():
    # one expert is right from its birth on, all others wrong: nearly ln(birth)/α is lost to it
    for born in (5, 40):
        logs, lost, last = {}, 0.0, 400
        for t in range(1, last + 1):
            total = np.logaddexp.reduce(list(logs.values())) if logs else 0.0
            logs = {k: v - total + np.log1p(-1 / t) for k, v in logs.items()} | {t: -np.log(t)}
            # −ln of mixed likelihoods is exp-concave with α = 1: right ones 1, wrong ones ½
            gain = {k: 0.0 if k == born else -np.log(2.0) for k in logs}
            if t >= born:
                lost -= np.logaddexp.reduce([logs[k] + gain[k] for k in logs])
            logs = {k: v + gain[k] for k, v in logs.items()}
        assert 0.9 * np.log(born) <= lost <= FixedShare(1.0).on(born, last, last - born + 1, last)


def test_kt_wealth_is_what_the_bound_of_coin_betting_inverts():
    # wealth after n fair-sized coins of sum x; the bound says x where wealth reaches 1/π
    for n in (1, 10, 200):
        for heads in range(n + 1):
            wealth, total = 1.0, 0.0
            for t in range(1, n + 1):
                coin = 1.0 if t <= heads else -1.0
                wealth, total = wealth * (1.0 + coin * total / t), total + coin
            floor = math.exp(total**2 / (2 * n)) / (math.e * math.sqrt(math.pi * n))
            assert floor <= wealth
        # at x = 0 the floor is short by a factor of e/√2 only: a smaller constant would fail
        if n % 2 == 0:
            central = math.comb(n, n // 2) / 2.0**n
            assert 1 / (math.e * math.sqrt(math.pi * n)) >= 0.5 * central / math.e
    prior = 6 / math.pi**2 / (8**2 * (1 + 3))
    limit = CoinBetting(1.0).on(8, 8, 8, 15)
    assert math.exp(limit**2 / 16) / (math.e * math.sqrt(8 * math.pi)) == pytest.approx(1 / prior)


def test_the_weights_of_prod_sum_to_the_intervals_begun():
    # with linear losses Σw/η changes at births only, by 1: what `Prod.on` takes the logarithm of
    losses = [Slope(g) for g in np.random.default_rng(0).uniform(-1, 1, (100, 2))]
    _, total = naive.cover(losses, 2, "dense", "prod", "fading", 2.0, R)
    assert total == pytest.approx(sum(100 // 2**k for k in range(7)))
    assert total < 200


class Puppet(Base):
    """Right, at −½, where it is born and ends as it is told; else wrong."""

    right = (1, 1)

    def move(self, bank, rule, i, g):
        own = bank.row("born")[i], bank.row("ends")[i]
        bank.x[i] = -0.5 if own == self.right else 0.5


def test_prod_loses_more_than_half_of_what_it_promises_to_who_is_born_late():
    base, meta, lost = Puppet(), Prod(1.0), 0.0
    learner = Ensemble(1, schedule=DenseCover(base), meta=meta, domain=Ball(0.5), lipschitz=1.0)
    bank = learner._bank
    for t in range(1, 256):  # first the longest are right, then one of 192..255
        base.right = (1 << t.bit_length() - 1, (2 << t.bit_length() - 1) - 1)
        if t >= 192:
            base.right = (192, 255)
            own = (bank.row("alive") > 0) & (bank.row("born") == 192) & (bank.row("ends") == 255)
            lost += float(learner.predict()[0] - learner.plays[own][0, 0])
        learner.update(1.0)
    assert 0.5 * meta.on(192, 64, 64, 255) < lost <= meta.on(192, 64, 64, 255)


def test_pieces_of_covers_are_beginnings_of_their_intervals():
    base = Descent(1.0)
    for cover, name in (
        (DenseCover(base), "dense"),
        (CompactCover(base), "compact"),
        (LeadingHistories(base), "history"),
    ):
        for first, last in all_intervals(70):
            at = first
            for begin, length, rounds in cover.pieces(first, last):
                assert begin == at
                assert 1 <= rounds <= length
                assert (begin, begin + length - 1) in naive.alive(name, begin)
                at += rounds
            assert at == last + 1
            if name == "compact":
                assert len(list(cover.pieces(first, last))) <= math.ceil(
                    math.log2(last - first + 2)
                )


def test_psacs_sets_a_marker_when_the_latest_has_lost_enough():
    losses = Squared().on(np.tile(np.repeat([0.5, -0.5], 10), 6))
    learner = PSACS(1, lipschitz=2.0, radius=R, threshold=0.2)
    watched, markers = 0.0, 1
    for loss in losses:
        watched += loss.value(learner.plays[int(learner._bank.clock[AT.latest])])
        learner.update_loss(loss)
        if watched > 0.2:
            markers, watched = markers + 1, 0.0
        assert learner._bank.clock[AT.marker] == markers
    assert 3 < markers < 60  # some, and not every round


@pytest.mark.parametrize("threshold", [0.01, 0.3, 50.0])
def test_psacs_keeps_its_bound_on_every_interval_wherever_markers_are(threshold):
    rounds, worst = 120 if THOROUGH else 60, 0.0
    rng = np.random.default_rng(0)
    for y in (
        np.repeat([0.7, -0.7, 0.1, 0.6], rounds // 4) + rng.uniform(-0.1, 0.1, rounds),
        R * np.where(np.arange(rounds) % 2, 1.0, -1.0),
        np.full(rounds, R),
    ):
        learner = PSACS(1, lipschitz=2 * R, radius=R, threshold=threshold)
        run = sp.play(learner, Squared().on(y))
        total = np.append(0.0, np.cumsum(run.losses))
        for a, b in all_intervals(rounds):
            part = y[a - 1 : b]
            regret = total[b] - total[a - 1] - 0.5 * ((part - part.mean()) ** 2).sum()
            limit = learner.interval_bound(a, b, largest=2 * R**2)
            assert limit <= learner.interval_bound(a, b)  # half the square of 2R is below GD
            worst = max(worst, regret / limit)
    assert 0.0 < worst <= 1.0


def test_a_cover_by_losses_has_no_bound_of_one_by_rounds():
    learner = Ensemble(
        1,
        schedule=LossCover(Descent(1.0), 1.0),  # the every that means each round elsewhere
        meta=NormalHedge(1.0),
        domain=Ball(R),
        lipschitz=1.0,
        losses="values",
    )
    with pytest.raises(ValueError, match="marker a round"):
        learner.interval_bound(1, 2)


BASES = {
    "descent": (Descent(0.1), 0.0),
    "fading": (FadingDescent(2 * R), 0.0),
    "scale-free": (ScaleFree(math.sqrt(2) * R, 1.0), 0.0),
    "strongly convex": (StronglyConvexDescent(0.05), 0.05),
    "newton": (NewtonStep(0.05, 1.0), 0.05),
}


@pytest.mark.parametrize("name", BASES)
def test_base_learners_lose_more_than_half_of_what_they_promise(name):
    # signs alternate and then stay, on losses g_tw + (H/2)(w − x_t)², which only curve as they must
    base, H = BASES[name]
    rounds, worst, t = 200, 0.0, np.arange(200)
    for turn in (0, 8, 14):
        g = np.where(t < rounds - turn, (-1.0) ** t, -1.0)
        learner = Ensemble(1, schedule=Pool([base]), meta=ExponentialWeights(1.0), domain=Ball(R))
        x, _ = against(learner, lambda t, w, g=g: g[t - 1 : t], rounds)
        for u in np.linspace(-R, R, 81):
            regret = g @ (x[:, 0] - u) - 0.5 * H * ((x[:, 0] - u) ** 2).sum()
            worst = max(worst, regret / base.static(rounds, 1.0, 2 * R, 1))
    assert 0.55 <= worst <= 1.0


def test_bounds_of_pools_know_that_steps_fall():
    g = np.repeat([0.02, -0.02] * 3, 200)  # small: with a constant step little would be lost

    def pool(base):
        learner = Ensemble(
            1, schedule=Pool([base]), meta=ExponentialWeights(1.0), domain=Ball(R), lipschitz=1.0
        )
        plays, _ = against(learner, lambda t, w: g[t - 1 : t], g.size)
        return learner, float(g @ plays[:, 0] + R * np.abs(g).sum())

    path = 2 * R * 5
    learner, regret = pool(ScaleFree(2 * R))
    assert 0.2 * learner.bound(path) <= regret <= learner.bound(path)
    for base in (FadingDescent(1.0), StronglyConvexDescent(1.0), NewtonStep(0.05, 1.0)):
        learner, regret = pool(base)
        with pytest.raises(NotImplementedError, match="moving comparators"):
            learner.bound(path)
    _, regret = pool(FadingDescent(1.0))
    assert regret > Descent(1.0).dynamic(path, float(g @ g), R, R)  # what it would have said


def test_moves_of_newton_steps_are_paid_for():
    for dim in (1, 2):
        learner = Ensemble(
            dim,
            schedule=Pool([NewtonStep(0.05, 1.0), NewtonStep(0.05, 1.0)]),
            meta=ExponentialWeights(1.0),
            domain=Ball(R),
            penalty=0.5,
            order=2,
        )
        before = learner.plays
        learner.update(np.full(dim, 0.1))
        moved = ((learner.plays - before) ** 2).sum(axis=1)
        assert moved.min() > 0.0
        assert learner._bank.row("penalty") == pytest.approx(0.5 * moved)


def test_curvature_that_nobody_sees_is_no_ground_for_a_bound():
    def cover(base, meta, gradients, losses):
        return Ensemble(
            1,
            schedule=LeadingHistories(base),
            meta=meta,
            domain=Ball(R),
            lipschitz=1.0,
            gradients=gradients,
            losses=losses,
        )

    strong, share = StronglyConvexDescent(1.0), FixedShare(1.0)
    assert cover(strong, share, "own", "values").interval_bound(2, 9) > 0.0
    assert cover(Descent(0.1), FixedShare(1.0, 1.0), "play", "linear").interval_bound(2, 9) > 0.0
    with pytest.raises(ValueError, match="gradients"):
        cover(strong, share, "play", "values").interval_bound(2, 9)
    with pytest.raises(ValueError, match="losses"):
        cover(strong, share, "own", "linear").interval_bound(2, 9)


@pytest.mark.parametrize(
    ("gradients", "losses"), [("play", "values"), ("play", "linear"), ("own", "values")]
)
def test_a_bound_is_of_one_kind_of_losses(gradients, losses):
    # the meta learner would see f, on which the slow base learner is as good as the other, nearly
    parts = {"domain": Ball(1.0), "lipschitz": 1.0, "gradients": gradients, "losses": losses}
    bases = [Descent(1e-6), Descent(1 / math.sqrt(4000))]
    pool = Pool(bases, prior=[9.0, 1.0])
    learner = Ensemble(1, schedule=pool, meta=ExponentialWeights(0.02), **parts)
    cover = Ensemble(1, schedule=DenseCover(FadingDescent(2.0)), meta=NormalHedge(2.0), **parts)
    run = sp.play(learner, Absolute().on(np.full(4000, 0.4)))
    if (gradients, losses) == ("play", "values"):
        assert run.regret([0.4])[-1] > 1000.0
        for bound in (learner.bound, lambda: cover.interval_bound(1, 4000)):
            with pytest.raises(ValueError, match="losses must be 'linear' for a bound"):
                bound()
    else:
        assert run.regret([0.4])[-1] <= learner.bound()
        assert cover.interval_bound(1, 4000) > 0.0


def test_a_penalty_has_no_bound_on_intervals():
    cover, meta = DenseCover(FadingDescent(2.0)), NormalHedge(2.0)
    learner = Ensemble(1, schedule=cover, meta=meta, domain=Ball(1.0), lipschitz=1.0, penalty=100.0)
    with pytest.raises(ValueError, match="penalty must be 0"):
        learner.interval_bound(2049, 4096)


class OwnDescent(Descent):
    """Descent by hand, or by the move of `Base`."""

    code = None
    by_hand = True

    def move(self, bank, rule, i, g):
        if self.by_hand:
            bank.x[i] -= self.step * g
        else:
            super().move(bank, rule, i, g)


class CountedTwice(OwnDescent):
    by_hand = False


@pytest.mark.parametrize("kind", [OwnDescent, CountedTwice])
def test_a_base_learner_of_ones_own_is_measured_like_the_compiled_one(kind):
    own, compiled = (
        Ensemble(1, schedule=Pool([make(1.0)]), meta=ExponentialWeights(0.1), domain=Ball(R))
        for make in (kind, Descent)
    )
    for g in np.where(np.arange(200) % 2, -1.0, 1.0):
        own.update(g)
        compiled.update(g)
    assert own.bound() == compiled.bound() > 100.0
    for row in ("age", "square"):
        assert own._bank.row(row).tolist() == compiled._bank.row(row).tolist() == [200.0]


def test_bounds_name_what_they_need():
    with pytest.raises(ValueError, match="interval_bound"):
        SAOL(1, lipschitz=1.0, radius=1.0).bound(1.0)
    with pytest.raises(ValueError, match="bound"):
        OptimisticOGD(1, domain=Ball(1.0)).interval_bound(1, 2)
    with pytest.raises(ValueError, match="first"):
        SAOL(1, lipschitz=1.0, radius=1.0).interval_bound(3, 2)
    free = OptimisticOGD(1)
    free.update(1.0)
    with pytest.raises(ValueError, match="domain"):
        free.bound(1.0)
    with pytest.raises(ValueError, match="domain"):
        OEGD(1).variation_bound(0.0, 1.0, 1.0)
