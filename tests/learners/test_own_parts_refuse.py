"""Parts of one's own that refuse a play, or answer nonsense, leave the learner as it was."""

import copy
from dataclasses import dataclass, field

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.domains import Ball, Domain
from stillpoint.kernels import OU, Gaussian, StationaryKernel
from stillpoint.lab.baselines import OGD, Hedge
from stillpoint.lab.online import Descent, Ensemble, FixedShare, Pool
from stillpoint.learners.norms import FullMatrix
from stillpoint.losses import Linear
from stillpoint.potentials import Potential

NONSENSE = {"raises": "raise", "nan": np.nan, "shape": np.zeros(3), "word": "a word"}


@dataclass
class Fault:
    """What a part answers in place of the truth, once it is set."""

    answer: object = None

    def of(self, truth):
        if isinstance(self.answer, str) and self.answer == "raise":
            raise ValueError("asked too much: got a round; wait")
        return truth if self.answer is None else self.answer


@dataclass(frozen=True)
class Mine(Domain):
    fault: Fault = field(default_factory=Fault)

    def reach(self, dim):
        return 0.5

    def project(self, w):
        return self.fault.of(Ball(0.5).project(w))


@dataclass(frozen=True)
class Half(Potential):
    fault: Fault = field(default_factory=Fault)

    def magnitude(self, S, V, h, count=0.0):
        return self.fault.of(0.5 * S)

    def bound(self, norm, V, h, count=0.0):
        return norm**2 + 0.25 * V


@dataclass(frozen=True)
class Static:
    fault: Fault = field(default_factory=Fault)

    def play(self, sums):
        return self.fault.of(-0.5 * sums.pull)

    def store(self, g, memory, sums):
        memory.add(g)

    def bound(self, norm, V, h, count=0.0):
        return np.inf


def own_norms(fault):
    class Own(FullMatrix):
        def square(self):
            return fault.of(super().square())

        def add(self, *given):
            return fault.of(super().add(*given))

    return Own


LEARNERS = {
    "KernelFTRL, domain": (
        Mine, lambda part: sp.KernelFTRL(2, lipschitz=3.0, kernel=OU(0.1), domain=part)),
    "KernelFTRL, domain, dense": (
        Mine, lambda part: sp.KernelFTRL(2, kernel=Gaussian(2.0), domain=part)),
    "KernelFTRL, potential": (
        Half, lambda part: sp.KernelFTRL(2, lipschitz=3.0, kernel=OU(0.1), potential=part)),
    "KernelFTRL, potential, scale-free": (
        Half, lambda part: sp.KernelFTRL(2, kernel=OU(0.1), potential=part)),
    "KernelFTRL, static learner": (
        Static, lambda part: sp.KernelFTRL(2, lipschitz=3.0, kernel=OU(0.1), potential=part)),
    "Directional, domain": (
        Mine, lambda part: sp.Directional(2, lipschitz=3.0, kernel=OU(0.1), domain=part)),
    "Directional, domain, diagonal": (
        Mine, lambda part: sp.Directional(2, kernel=OU(0.1), norms="diagonal", domain=part)),
    "Directional, norms": (
        Fault, lambda part: sp.Directional(2, kernel=OU(0.1), norms=own_norms(part))),
    "MultiScale": (Mine, lambda part: sp.MultiScale(2, lipschitz=3.0, domain=part)),
    "Tracker": (Mine, lambda part: sp.Tracker(2, domain=part)),
    "StronglyConvex": (
        Mine, lambda part: sp.StronglyConvex(2, kernel=OU(0.1), curvature=1.0, domain=part)),
    "ExpConcave": (
        Mine, lambda part: sp.ExpConcave(2, kernel=OU(0.1), curvature=1.0, domain=part)),
    "Hedge": (
        Mine,
        lambda part: Hedge([
            sp.KernelFTRL(2, lipschitz=3.0, kernel=OU(0.3)), OGD(2),
            sp.KernelFTRL(2, lipschitz=3.0, kernel=OU(0.1), domain=part)])),
}  # fmt: skip


def cases():
    for name, (kind, _) in LEARNERS.items():
        for word, nonsense in NONSENSE.items():
            if kind is not Fault or word == "raises":  # norms of one's own are taken at their word
                # potentials are asked once something has been learnt
                for rounds in (2, 30) if kind is Half else (0, 30):
                    yield pytest.param(name, rounds, nonsense, id=f"{name} {rounds} {word}")


@pytest.mark.parametrize(("name", "rounds", "nonsense"), cases())
def test_a_part_that_refuses_leaves_the_learner_as_it_was(name, rounds, nonsense):
    kind, build = LEARNERS[name]
    part = kind()
    fault = part if isinstance(part, Fault) else part.fault
    learner, twin = build(part), build(kind())
    gradients = np.random.default_rng(1).uniform(-1.0, 1.0, (rounds + 6, 2)) + 0.4
    for t in range(rounds):
        np.testing.assert_array_equal(learner.predict(t + 1.0), twin.predict(t + 1.0))
        learner.update(gradients[t])
        twin.update(gradients[t])
    before = copy.deepcopy(learner.arrays())
    for go in (lambda: learner.predict(rounds + 5.0), lambda: learner.update([0.1, 0.2])):
        fault.answer = nonsense
        with pytest.raises(ValueError, match=": got "):
            go()
        fault.answer = None
        np.testing.assert_equal(learner.arrays(), before)
    for t in range(rounds, rounds + 6):  # earlier than what was refused
        time = rounds + 1.0 + 0.5 * (t - rounds)
        np.testing.assert_array_equal(learner.predict(time), twin.predict(time))
        learner.update(gradients[t])
        twin.update(gradients[t])
    np.testing.assert_equal(learner.arrays(), twin.arrays())


@dataclass(frozen=True)
class Stores(Static):
    def play(self, sums):
        return -0.5 * sums.pull

    def store(self, g, memory, sums):
        memory.add(g)
        self.fault.of(None)


@dataclass(frozen=True)
class Learns:
    """A static learner that takes losses; gradients stand for linear ones."""

    fault: Fault = field(default_factory=Fault)
    play, bound = Stores.play, Static.bound

    def learn(self, loss, memory, sums):
        memory.add(loss.gradient(sums.pull))
        return self.fault.of(1.0)


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(
    ("kind", "answer"), [(Stores, "raise"), (Learns, "raise"), (Learns, np.nan)]
)
def test_a_static_learner_that_refuses_what_it_is_to_learn_leaves_all_as_it_was(
    kind, answer, is_open
):
    part = kind()
    learner = sp.KernelFTRL(2, lipschitz=3.0, kernel=OU(0.1), potential=part)
    for g in np.eye(2):
        learner.predict()
        learner.update(g)
    if is_open:
        learner.predict()
    before, part.fault.answer = copy.deepcopy(learner.arrays()), answer
    with pytest.raises(ValueError, match=": got "):
        learner.update([0.1, 0.2])
    np.testing.assert_equal(learner.arrays(), before)
    part.fault.answer = None
    learner.update([0.1, 0.2])
    assert learner.rounds == 3


def own_base(fault):
    class Own(Descent):
        code = None

        def move(self, bank, rule, i, g):
            super().move(bank, rule, i, g)
            fault.of(None)

    return Own(0.1)


def beside(learner):
    return Hedge([OGD(2), learner, sp.Tracker(2)])


LATE = {
    "OGD": (Mine, lambda part: OGD(2, domain=part)),
    "Hedge, OGD": (Mine, lambda part: beside(OGD(2, domain=part))),
    "Hedge, static learner": (
        Learns, lambda part: beside(sp.KernelFTRL(2, kernel=OU(0.1), potential=part))),
    "Directional": (
        Fault, lambda part: sp.Directional(2, kernel=OU(0.1), norms=own_norms(part))),
    "Ensemble": (
        Fault,
        lambda part: Ensemble(
            2, schedule=Pool([Descent(0.2), own_base(part)]), meta=FixedShare(0.5))),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_a_part_that_refuses_once_others_have_learnt_leaves_all_as_it_was(name):
    kind, build = LATE[name]
    part = kind()
    fault = part if isinstance(part, Fault) else part.fault
    learner, gradients = build(part), np.random.default_rng(2).uniform(-1.0, 1.0, (4, 2))
    for g in gradients:
        learner.predict()
        learner.update(g)
    learner.predict()
    before, fault.answer = copy.deepcopy(learner.arrays()), "raise"
    loss = Linear().on([[0.1, 0.2]])[0]
    for go in (lambda: learner.update([0.1, 0.2]), lambda: learner.update_loss(loss)):
        with pytest.raises(ValueError, match=": got a round"):
            go()
        np.testing.assert_equal(learner.arrays(), before)
    fault.answer = None
    learner.update([0.1, 0.2])
    assert learner.rounds == 5


@dataclass
class Calls:
    """How many more times a kernel answers."""

    left: float = np.inf


@dataclass(frozen=True)
class Tiring(StationaryKernel):
    """A kernel of one's own, without a state space."""

    calls: Calls = field(default_factory=Calls)

    def _lag(self, r):
        self.calls.left -= 1
        if self.calls.left < 0:
            raise RuntimeError("not now")
        return np.exp(-np.square(r / 3.0))


DENSE = {
    "Directional": lambda k: sp.Directional(2, lipschitz=3.0, kernel=k),
    "Directional, scale-free": lambda k: sp.Directional(2, kernel=2.0 * k),
    "Directional, diagonal": lambda k: sp.Directional(2, kernel=k, norms="diagonal"),
    "Directional, dimension": lambda k: sp.Directional(
        2, lipschitz=3.0, kernel=k + Gaussian(9.0), domain=Ball(0.3), track_dimension=True),
    "KernelFTRL": lambda k: sp.KernelFTRL(2, lipschitz=3.0, kernel=k),
    "KernelFTRL, ball": lambda k: sp.KernelFTRL(2, kernel=k, domain=Ball(0.3)),
    "ExpConcave": lambda k: sp.ExpConcave(2, kernel=k, curvature=0.5),
    "ExpConcave, ball": lambda k: sp.ExpConcave(2, kernel=k, curvature=0.5, domain=Ball(0.3)),
    "StronglyConvex": lambda k: sp.StronglyConvex(2, kernel=k, curvature=0.5),
    "Tracker, certified": lambda k: sp.Tracker(2, certify=k),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSE)
def test_a_kernel_that_fails_at_any_call_leaves_all_as_it_was(name):
    kernel = Tiring()
    learner, twin = DENSE[name](kernel), DENSE[name](Tiring())
    gradients = np.random.default_rng(3).uniform(-1.0, 1.0, (8, 2)) + 0.4
    failed = []
    for t, g in enumerate(gradients):
        steps = [lambda: learner.update(g)]  # noqa: B023 - called before g changes
        if t % 2:
            steps.insert(0, learner.predict)
        for step in steps:
            before = copy.deepcopy(learner.arrays())
            for calls in range(30):
                kernel.calls.left = calls
                try:
                    step()
                    break
                except RuntimeError:
                    failed.append(t)
                    np.testing.assert_equal(learner.arrays(), before)
            else:
                raise AssertionError("it never succeeds")
            kernel.calls.left = np.inf
        twin.update(g)
    assert {0, gradients.shape[0] - 1} <= set(failed)
    np.testing.assert_equal(learner.arrays(), twin.arrays())


def test_an_open_round_whose_gradient_a_kernel_refuses_is_not_counted_twice():
    kernel = Tiring()
    learner, twin = (sp.Directional(1, lipschitz=1.0, kernel=k) for k in (kernel, Tiring()))
    for each in (learner, twin):
        each.update(0.5)
        each.predict()
    kernel.calls.left = 0
    with pytest.raises(RuntimeError, match="not now"):
        learner.update(1.0)
    kernel.calls.left = np.inf
    for each in (learner, twin):
        each.update(1.0)
    assert learner.certificate(2.0) == twin.certificate(2.0)
    np.testing.assert_equal(learner.arrays(), twin.arrays())
