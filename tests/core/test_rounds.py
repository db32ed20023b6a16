"""What every gradient learner does the same way: states that stand still, warnings that point at
the caller.
"""

import copy
import linecache

import numpy as np
import pytest

import stillpoint as sp
from persisted import CORE, PLAYED, parameters, play
from stillpoint.kernels import OU, Constant, Gaussian
from stillpoint.lab.baselines import KT, OGD, FreeGrad, Hedge, SparseHaar
from thorough import some

STANDING = CORE | {
    f"KernelFTRL {name}": CORE["KernelFTRL"]._replace(build=build)
    for name, build in {
        "dense": lambda: sp.KernelFTRL(2, lipschitz=3.0, kernel=Gaussian(2.0)),
        "scale-free": lambda: sp.KernelFTRL(2, kernel=OU(0.1), domain=sp.domains.Ball(1.0)),
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("name", parameters(STANDING))
def test_states_stand_still_while_the_learner_goes_on(name, opened):
    case = STANDING[name]
    learner = case.build()
    play(case, learner, 0, PLAYED)
    if opened:
        case.open(learner, PLAYED)
    state = learner.arrays()
    then = copy.deepcopy(state)
    future = play(case, learner, PLAYED, PLAYED + 20)
    np.testing.assert_equal(state, then)
    learner.restore(state)
    np.testing.assert_equal(learner.arrays(), then)
    np.testing.assert_array_equal(play(case, learner, PLAYED, PLAYED + 20), future)


FAR = {
    "_propose warns": lambda: SparseHaar(1, lipschitz=1.0, horizon=8192),
    "_propose of a learner in norms": lambda: sp.Directional(
        1, lipschitz=1.0, kernel=Constant(), scale=1e149
    ),
    "_constrain": lambda: FreeGrad(1, lipschitz=1.0),
    "_step": lambda: KT(1, lipschitz=1.0),
    "_learn": lambda: sp.Tracker(1),
    "inside another": lambda: Hedge([KT(1, lipschitz=1.0), OGD(1, step=0.1)]),
}


@pytest.mark.parametrize("predicts", [True, False])
@pytest.mark.parametrize("name", some(FAR, every=2))
def test_saturated_plays_are_reported_where_the_caller_is(name, predicts):
    learner = FAR[name]()

    def run():
        for _ in range(3000):
            if predicts:
                learner.predict()
            learner.update(-1.0)

    with pytest.warns(RuntimeWarning, match="saturated") as caught:
        run()
    line = (
        "learner.predict()"
        if predicts and name.startswith(("_propose", "_constrain"))
        else "learner.update(-1.0)"
    )
    assert [linecache.getline(each.filename, each.lineno).strip() for each in caught] == [line]


def test_saturated_plays_of_whole_streams_are_reported_where_the_caller_is():
    with pytest.warns(RuntimeWarning, match="saturated") as caught:
        sp.play(FreeGrad(1, lipschitz=1.0), np.full((3000, 1), -1.0))
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize(
    "make",
    [
        lambda domain: sp.Tracker(1, domain=domain),
        lambda domain: sp.MultiScale(1, domain=domain),
        lambda domain: sp.StronglyConvex(1, kernel=OU(0.1), curvature=1.0, domain=domain),
        lambda domain: OGD(1, domain=domain),
    ],
)
def test_domains_are_checked_alike(make):
    assert make(None).domain == sp.domains.Everywhere()
    with pytest.raises(
        ValueError, match=r"domain must be a domain: got 'ball'; use one of sp\.domains"
    ):
        make("ball")
