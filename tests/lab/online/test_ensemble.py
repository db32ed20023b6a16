"""Parts combine: those of the library in one compiled loop, one's own in Python."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import stillpoint as sp
from stillpoint import checks
from stillpoint.domains import Ball, Box, Projection, Simplex
from stillpoint.lab.online import (
    Base,
    CoinBetting,
    CompactCover,
    Cover,
    DenseCover,
    Descent,
    Ensemble,
    ExponentialWeights,
    ExtraDescent,
    FixedShare,
    LeadingHistories,
    LossCover,
    Meta,
    NewtonStep,
    NormalHedge,
    OptimisticDescent,
    Pool,
    Prod,
    ScaleFree,
    StronglyConvexDescent,
    bear,
    grid,
)
from stillpoint.lab.online._bank import AT
from stillpoint.losses import Absolute, Squared

Y = np.sin(np.arange(200) / 15) + 0.2 * np.random.default_rng(0).standard_normal(200)


# a learner of one's own, in about twenty lines


@dataclass(frozen=True)
class Momentum(Base):
    """v ← βv + g, x ← Π(x − ηv)."""

    step: float
    beta: float = 0.5

    def move(self, bank, rule, i, g):
        bank.y[i] = self.beta * bank.y[i] + g
        bank.x[i] -= self.step * bank.y[i]


@dataclass(frozen=True)
class BestOfWindow(Meta):
    """All weight to the base learner with the least loss, old losses discounted."""

    def learn(self, bank, rule, losses, mean):
        bank.row("loss")[:] = 0.9 * bank.row("loss") + losses

    def weigh(self, bank, rule):
        best = np.where(bank.row("alive") > 0, bank.row("loss"), np.inf).argmin()
        bank.row("weight")[:] = np.arange(bank.row("weight").size) == best


@dataclass(frozen=True)
class Restarts(Cover):
    """Two base learners, of which one is born anew every ten rounds."""

    places = 2

    def advance(self, bank, rule):
        t = int(bank.clock[0])
        bank.clock[0] += 1
        if t % 10 == 0:
            bear(bank, rule, (t // 10) % 2, t + 1, t + 20)


def test_a_learner_of_ones_own_runs():
    pool = Pool([Momentum(0.05), Momentum(0.2), Descent(0.1)])
    mine = Ensemble(1, schedule=pool, meta=BestOfWindow(), domain=Ball(2.0))
    run = sp.play(mine, Absolute().on(Y))
    # by hand
    x, v, score, plays = np.zeros(3), np.zeros(3), np.zeros(3), []
    for y in Y:
        plays.append(x[score.argmin()])
        g = np.sign(plays[-1] - y)
        score = 0.9 * score + g * x
        v = np.array([0.5, 0.5, 0.0]) * v + g
        x = np.clip(x - np.array([0.05, 0.2, 0.1]) * v, -2.0, 2.0)
    assert np.allclose(run.plays[:, 0], plays)


def test_a_schedule_of_ones_own_runs_with_compiled_parts():
    mine = Ensemble(1, schedule=Restarts(Descent(0.1)), meta=FixedShare(0.5), domain=Ball(2.0))
    run = sp.play(mine, Absolute().on(Y))
    assert np.isclose(mine.weights.sum(), 1.0)
    assert run.losses[100:].mean() < np.abs(Y).mean()


class Shown(ExponentialWeights):
    """The same, without a code: everything around it runs in Python."""

    code = None

    def learn(self, bank, rule, losses, mean):
        super().learn(bank, rule._replace(meta=0), losses, mean)

    def weigh(self, bank, rule):
        super().weigh(bank, rule._replace(meta=0))


@pytest.mark.parametrize("hints", ["none", "last", "ahead", "best"])
def test_the_path_through_python_gives_the_compiled_numbers(hints):
    steps = grid(0.05, 0.5)
    for kind in (Descent, OptimisticDescent, ExtraDescent):
        a, b = (
            sp.play(
                Ensemble(
                    2,
                    schedule=Pool([kind(step) for step in steps]),
                    meta=meta(0.5, numerator=1.0, range=4.0),
                    domain=Ball(1.0),
                    lipschitz=4.0,
                    gradients="own" if kind is ExtraDescent else "play",
                    hints=hints,
                    penalty=0.3,
                    order=2,
                ),
                Squared().on(np.stack([Y, -Y], axis=1)),
            )
            for meta in (ExponentialWeights, Shown)
        )
        assert np.array_equal(a.plays, b.plays)


@pytest.mark.parametrize("meta", [Prod(4.0), NormalHedge(4.0), CoinBetting(4.0), FixedShare(0.3)])
@pytest.mark.parametrize("cover", [DenseCover, CompactCover, LeadingHistories])
def test_every_meta_learner_goes_with_every_cover(cover, meta):
    for every in (1, 7):
        learner = Ensemble(
            1,
            schedule=cover(ScaleFree(1.0), every=every),
            meta=meta,
            domain=Box(-2.0, 2.0),
            lipschitz=1.0,
        )
        run = sp.play(learner, Absolute().on(Y))
        assert np.isclose(learner.weights.sum(), 1.0)
        assert (learner.weights >= 0).all()
        assert run.losses.mean() < np.abs(Y).mean()


@pytest.mark.parametrize("bulk", [True, False])
def test_a_pool_gives_every_base_learner_its_own_constants_whoever_is_first(bulk):
    losses = Absolute().on(Y) if bulk else list(Absolute().on(Y))
    for base in (ScaleFree(1.0, 100.0), StronglyConvexDescent(0.1), NewtonStep(0.05, 0.1)):
        last, alone = (
            Ensemble(1, schedule=Pool(bases), meta=ExponentialWeights(0.1), domain=Ball(5.0))
            for bases in ([Descent(0.1), base], [base])
        )
        for learner in (last, alone):
            for g in np.sign(np.sin(np.arange(50.0))):
                learner.update(g)
        assert np.array_equal(last.plays[1], alone.plays[0])
        assert sp.play(last, losses).losses.sum() > 0.0


@pytest.mark.parametrize(
    ("bases", "name"),
    [
        ([ScaleFree(1.0, 1.0), ScaleFree(1.0, 2.0)], "offset"),
        ([StronglyConvexDescent(1.0), StronglyConvexDescent(2.0)], "curvature"),
        ([StronglyConvexDescent(1.0), NewtonStep(2.0, 1.0)], "curvature"),
        ([NewtonStep(1.0, 1.0), NewtonStep(1.0, 2.0)], "step"),
    ],
)
def test_a_pool_of_different_constants_that_it_has_once_is_refused(bases, name):
    with pytest.raises(ValueError, match=f"agree on {name}"):
        Ensemble(1, schedule=Pool(bases), meta=ExponentialWeights(1.0))


@pytest.mark.parametrize("cover", [CompactCover, LeadingHistories])
def test_exponential_weights_go_with_covers_where_nobody_is_missing(cover):
    base, meta = ScaleFree(1.0), ExponentialWeights(0.5)
    with pytest.raises(ValueError, match="retired"):
        Ensemble(1, schedule=cover(base), meta=meta)
    with pytest.raises(ValueError, match="retired"):
        Ensemble(1, schedule=LossCover(base, 1.0), meta=meta, losses="values")
    dense = Ensemble(1, schedule=DenseCover(base), meta=meta, domain=Ball(2.0))
    sp.play(dense, Absolute().on(Y))
    assert dense.weights[dense._bank.row("alive") == 0.0].sum() == 0.0


def test_meta_learners_that_a_pool_gives_nothing_to_go_by_are_refused():
    bases = [Descent(0.1), Descent(0.5)]
    with pytest.raises(ValueError, match="ExponentialWeights"):
        Ensemble(1, schedule=Pool(bases), meta=Prod(1.0))
    with pytest.raises(ValueError, match="prior"):
        Ensemble(1, schedule=Pool(bases, prior=[1.0, 9.0]), meta=FixedShare(0.1))
    for prior in (None, [2.0, 2.0]):
        equal = Ensemble(1, schedule=Pool(bases, prior=prior), meta=FixedShare(0.1))
        assert equal.weights.tolist() == [0.5, 0.5]


def test_a_cover_by_losses_must_see_them():
    cover, meta = LossCover(ScaleFree(1.0), 1.0), NormalHedge(4.0)
    with pytest.raises(ValueError, match="losses='values'"):
        Ensemble(1, schedule=cover, meta=meta)
    for seen in ({"losses": "values"}, {"gradients": "own"}):
        learner = Ensemble(1, schedule=cover, meta=meta, domain=Ball(2.0), **seen)
        sp.play(learner, Absolute().on(Y))
        assert learner._bank.clock[AT.marker] > 2.0


def test_other_domains_do():
    for domain in (Simplex(1.0), Box(0.1, 0.5)):
        learner = Ensemble(
            3,
            schedule=Pool([Descent(0.1), Descent(0.5)]),
            meta=ExponentialWeights(0.1),
            domain=domain,
        )
        run = sp.play(learner, Squared().on(np.stack([Y, -Y, Y], axis=1)))
        assert all(domain.contains(w) for w in run.plays[::20])
        assert learner.bound(1.0) >= run.regret(domain.project(np.ones(3)))[-1]


def test_a_refused_loss_leaves_the_round_open_and_nothing_learnt():
    y = np.array([0.1, -0.2, 50.0, 0.3])
    for losses in (Squared().on(y), list(Squared().on(y))):
        for kind in (Descent, ExtraDescent):
            learner = Ensemble(
                1,
                schedule=Pool([kind(0.1)]),
                meta=ExponentialWeights(0.1),
                domain=Ball(1.0),
                lipschitz=3.0,
                gradients="own",
            )
            with pytest.raises(ValueError, match="lipschitz"):
                sp.play(learner, losses)
            assert (learner.rounds, learner.observed, learner.time) == (2, 2, 3.0)
            learner.update_loss(losses[3])
            assert learner.rounds == 3


class RefusedAt:
    """A loss that raises when its gradient is asked for the n-th time."""

    def __init__(self, n):
        self.left = n

    def value(self, w):
        return float(abs(w[0] - 1.0))

    def gradient(self, w):
        self.left -= 1
        if self.left == 0:
            raise ValueError("no gradient here")
        return np.sign(w - 1.0)


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("kind", [ExtraDescent, Descent])
def test_a_loss_refused_at_a_later_query_leaves_nothing_learnt(kind, is_open):
    learner, twin = (
        Ensemble(
            1,
            schedule=Pool([kind(0.1), kind(0.5)]),
            meta=ExponentialWeights(0.1),
            domain=Ball(1.0),
            gradients="own",
            hints="ahead",
        )
        for _ in range(2)
    )
    for each in (learner, twin):
        each.update_loss(RefusedAt(0))
        if is_open:
            each.predict()
    for n in (4, 5) if kind is ExtraDescent else (4,):
        with pytest.raises(ValueError, match="no gradient here"):
            learner.update_loss(RefusedAt(n))
        assert checks._same(learner, twin)
    for each in (learner, twin):
        each.update_loss(RefusedAt(0))
    assert checks._same(learner, twin)


def test_a_damaged_state_is_refused():
    learner = Ensemble(1, schedule=CompactCover(ScaleFree(1.0)), meta=Prod(1.0), domain=Ball(1.0))
    state = learner.arrays()
    for place, value in ((2, 1e6), (3, -1.0), (2, 0.5), (1, np.nan)):
        bad = {**state, "clock": state["clock"].copy()}
        bad["clock"][place] = value
        with pytest.raises(ValueError, match="clock"):
            learner.restore(bad)
    with pytest.raises(ValueError, match="table"):
        learner.restore({**state, "table": state["table"][:, :3].copy()})


CALLS = {
    "schedule": (lambda: Ensemble(1, schedule=Descent(1.0), meta=Prod(1.0)), "schedule"),
    "meta": (lambda: Ensemble(1, schedule=Pool([Descent(1.0)]), meta=Descent(1.0)), "meta"),
    "hints": (
        lambda: Ensemble(1, schedule=Pool([Descent(1.0)]), meta=Prod(1.0), hints="all"),
        "hints",
    ),
    "best": (
        lambda: Ensemble(1, schedule=Pool([Descent(1.0)]), meta=Prod(1.0), hints="best"),
        "lipschitz",
    ),
    "queries": (
        lambda: Ensemble(1, schedule=Pool([ExtraDescent(1.0)]), meta=Prod(1.0)),
        "gradients",
    ),
    "newton": (
        lambda: Ensemble(2, schedule=CompactCover(NewtonStep(1.0, 1.0)), meta=FixedShare(1.0)),
        "Ball",
    ),
    "projection": (
        lambda: Ensemble(
            1, schedule=Pool([Descent(1.0)]), meta=Prod(1.0), domain=Projection(lambda w: w)
        ),
        "compiled",
    ),
    "bases": (lambda: Pool([]), "bases"),
    "prior": (lambda: Pool([Descent(1.0)], prior=[1.0, 2.0]), "prior"),
    "base": (lambda: DenseCover(1.0), "base"),
    "every": (lambda: DenseCover(Descent(1.0), every=0), "every"),
    "every, broken": (lambda: DenseCover(Descent(1.0), every=1.5), "every"),
    "numerator": (lambda: ExponentialWeights(1.0, numerator=-1.0), "numerator"),
    "range": (lambda: FixedShare(1.0, range=-1.0), "range"),
    "step": (lambda: Descent(0.0), "step"),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_arguments_are_named(name):
    call, word = CALLS[name]
    with pytest.raises(ValueError, match=word):
        call()


def test_an_ensemble_is_copied_and_pickled_and_has_no_name_in_files(tmp_path):
    cover = CompactCover(ScaleFree(step=1.0))
    for schedule in (cover, Pool([Momentum(0.1), Descent(0.2)])):
        learner = Ensemble(1, schedule=schedule, meta=NormalHedge(4.0), domain=Ball(1.0))
        sp.play(learner, Absolute().on(Y[:60]))
        twins = copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))
        plays = sp.play(learner, Absolute().on(Y[60:])).plays
        for twin in twins:
            assert np.array_equal(sp.play(twin, Absolute().on(Y[60:])).plays, plays)
        with pytest.raises(
            ValueError, match=r"a name in files.*: got Ensemble; give .*, or pickle"
        ):
            sp.save(learner, tmp_path / "learner")


def test_fixed_share_on_a_pool_where_nobody_is_born_is_exponential_weights():
    pool = Pool([Descent(0.05), Descent(0.5)])
    plays = [
        sp.play(Ensemble(1, schedule=pool, meta=meta, domain=Ball(1.0)), Absolute().on(Y)).plays
        for meta in (FixedShare(0.7), ExponentialWeights(0.7))
    ]
    np.testing.assert_allclose(plays[0], plays[1], rtol=1e-9, atol=1e-12)
