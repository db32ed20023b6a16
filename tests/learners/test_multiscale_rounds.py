"""MultiScale's rounds one by one: the state is parts of one array, whatever happens to it."""

import copy
import pickle

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.domains import Ball, Box, Projection
from stillpoint.learners import _multiscale_round as single
from stillpoint.learners import base
from stillpoint.learners.multiscale_rounds import lay
from stillpoint.losses import Absolute

KINDS = {
    "told nothing": {},
    "told G": {"lipschitz": 9.0},
    "in a ball": {"domain": Ball(0.5)},
    "in a box, told G": {"lipschitz": 9.0, "domain": Box(-0.3, 0.5)},
    "in a set of one's own": {"domain": Projection(lambda z: np.clip(z, -0.2, 0.4), np.inf)},
}


def same(a, b):
    a, b = a.arrays(), b.arrays()
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def rounds(learner, rng, number):
    plays = []
    for _ in range(number):
        plays.append(learner.predict())
        learner.update(rng.standard_normal(learner.dim))
    return np.array(plays)


@pytest.mark.parametrize("levels", [0, 1, 5])
@pytest.mark.parametrize("true", [False, True])
def test_parts_cover_the_array_once(levels, true):
    learner = sp.MultiScale(3, domain=Box(-np.ones(3), np.ones(3)))
    plan, held, laid = lay(3, levels, levels * true, learner._rule, True, learner._parameters)
    assert held.size == single.length(plan)
    held[:] = np.arange(held.size)
    own, levels_, true_ = laid.own, laid.levels, laid.true
    rest = (part for part in laid if isinstance(part, np.ndarray))
    found = np.concatenate([part.ravel() for part in (*own, *levels_, *true_, *rest)])
    assert np.array_equal(np.sort(found), held)


@pytest.mark.parametrize("kind", KINDS)
def test_a_round_passes_two_arrays_twice_and_no_more(kind, monkeypatch):
    learner, rng, passed = sp.MultiScale(2, **KINDS[kind]), np.random.default_rng(0), []
    rounds(learner, rng, 3)

    def counting(name):
        compiled = getattr(single, name)
        return lambda *given: (passed.append((name, len(given))), compiled(*given))[1]

    def refuse(g):
        raise AssertionError("the norm is for the round itself to look at")

    for name in ("open_round", "close_round"):
        monkeypatch.setattr(single, name, counting(name))
    monkeypatch.setattr(base, "usable_norm", refuse)
    rounds(learner, rng, 2)
    assert passed == [("open_round", 2), ("close_round", 2)] * 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_play_on_alike_and_apart(kind, copied):
    if kind == "in a set of one's own" and copied is not copy.deepcopy:
        pytest.skip("functions without a name have no pickle")
    for before in (0, 3, 15, 40):
        learner = sp.MultiScale(2, **KINDS[kind])
        rounds(learner, np.random.default_rng(1), before)
        for is_open in (False, True):
            if is_open:
                learner.predict()
            twin, still = copied(learner), copied(learner)
            a, b = (rounds(each, np.random.default_rng(2), 30) for each in (learner, twin))
            assert np.array_equal(a, b)
            assert same(learner, twin)
            assert still.rounds == twin.rounds - 30  # nothing is shared
            assert np.array_equal(rounds(still, np.random.default_rng(2), 30), a)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "own" not in kind])
def test_single_rounds_go_on_after_bulk_ones_and_the_other_way_round(kind):
    losses = Absolute().on(np.random.default_rng(3).standard_normal((60, 2)))
    one, mixed = (sp.MultiScale(2, **KINDS[kind]) for _ in range(2))
    plays = sp.play(one, list(losses)).plays
    found = [sp.play(mixed, Absolute().on(losses.y[:5])).plays]
    for t in range(5, 20):
        found.append(mixed.predict()[None])
        mixed.update_loss(losses[t])
    found.append(sp.play(mixed, Absolute().on(losses.y[20:])).plays)
    assert np.array_equal(np.concatenate(found), plays)
    assert same(one, mixed)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200, 10.0])
def test_a_refused_gradient_leaves_the_open_round_as_it_was(bad):
    learner = sp.MultiScale(1, lipschitz=1.0, domain=Ball(1.0))
    for g in (0.5, -0.5, 1.0):
        learner.update(np.array([g]))
    learner.predict()
    before = copy.deepcopy(learner)
    with pytest.raises(ValueError, match="g must"):
        learner.update(np.array([bad]))
    assert same(learner, before)
    for each in (learner, before):
        each.update(np.array([0.25]))
    assert same(learner, before)


def test_the_caller_keeps_gradients_and_plays():
    learner = sp.MultiScale(2)
    rounds(learner, np.random.default_rng(4), 5)
    play, g = learner.predict(), np.array([1e-200, 0.0])
    copy_of_play = play.copy()
    learner.update(g)
    assert g[0] == 1e-200  # too small to square, and counted as 0 by the learner alone
    learner.predict()
    assert np.array_equal(play, copy_of_play)


def test_a_bulk_pass_that_meets_a_bad_gradient_can_be_taken_up_by_hand():
    y = np.random.default_rng(5).standard_normal(20)
    learner, by_hand = sp.MultiScale(1), sp.MultiScale(1)
    gradients = np.where(np.arange(20) == 17, 1e160, y)[:, None]
    with pytest.raises(ValueError, match="norm"):
        sp.play(learner, gradients)
    for g in y[:17]:
        by_hand.update(g)
    by_hand.predict()
    for each in (learner, by_hand):
        for g in y[17:]:
            each.update(np.array([g]))
    assert same(learner, by_hand)


def test_a_state_of_another_dimension_is_refused():
    learner = sp.MultiScale(2)
    for name in ("stats", "proposal", "inner"):
        with pytest.raises(ValueError, match=f"state '{name}' must have shape"):
            sp.MultiScale(2).restore({**learner.arrays(), name: np.zeros(1)})


def test_a_state_whose_ledger_has_other_levels_is_refused():
    learner, longer = sp.MultiScale(1), sp.MultiScale(1)
    rounds(learner, np.random.default_rng(6), 3)
    rounds(longer, np.random.default_rng(6), 30)
    ledger = {k: v for k, v in longer.arrays().items() if k.startswith("ledger.memory.")}
    with pytest.raises(ValueError, match="as many levels"):
        sp.MultiScale(1).restore({**learner.arrays(), **ledger})
