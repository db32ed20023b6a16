from dataclasses import dataclass

import numpy as np
import pytest

import stillpoint as sp
from cases import DENSE, MARKOV, POTENTIALS
from stillpoint import checks
from stillpoint.core.state import stored
from stillpoint.domains import Ball, Box, Domain
from stillpoint.kernels import StationaryKernel
from stillpoint.learners import GradientDescent, GradientLearner, ProximalDescent
from stillpoint.potentials import ParameterFree
from thorough import some_of

LEARNERS = dict(checks.public_learners())
KERNELS = {
    key: {**MARKOV, **DENSE}[key]
    for key in (
        "ou",
        "spline",
        "matern52",
        "periodic",
        "integrated",
        "horizon-free",
        "sum",
        "gaussian",
        "dirac",
    )
}
DOMAINS = {"everywhere": None, "ball": Ball(0.5), "box": Box(-0.2, 0.3)}


@pytest.mark.parametrize("check", checks.all_checks().values(), ids=checks.all_checks())
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_public_learner_conforms(learner, check):
    check(learner)


@pytest.mark.parametrize(
    ("kernel", "potential", "domain", "lipschitz"),
    some_of(KERNELS, POTENTIALS, DOMAINS, [1.0, None], every=6),
)
def test_the_whole_matrix_conforms(kernel, potential, domain, lipschitz):
    def make(dim):
        return sp.KernelFTRL(
            dim,
            lipschitz=lipschitz,
            kernel=KERNELS[kernel],
            potential=potential,
            domain=DOMAINS[domain],
        )

    checks.check_learner(make)


@pytest.mark.parametrize(
    "static", [GradientDescent(1.0), ProximalDescent(0.5)], ids=lambda static: type(static).__name__
)
@pytest.mark.parametrize("kernel", ["ou", "gaussian"])
def test_static_learners_conform(kernel, static):
    checks.check_learner(lambda dim: sp.KernelFTRL(dim, kernel=KERNELS[kernel], potential=static))


def test_a_broken_learner_is_caught():
    class Forgetful(sp.KernelFTRL):
        def certificate(self, radius):
            return 0.5 * super().certificate(radius)

    class Sloppy(sp.KernelFTRL):
        def predict(self, time=None):
            return super().predict(time) + 1e-9 * np.random.default_rng().random()

    with pytest.raises(AssertionError, match="check_certificate_is_exact"):
        checks.check_learner(lambda dim: Forgetful(dim))
    with pytest.raises(AssertionError, match="check_"):
        checks.check_learner(lambda dim: Sloppy(dim))


class Own(GradientLearner):
    """Gradient descent as someone else's module has it: sp.save has no name for it."""

    keeps = True

    def __init__(self, dim, *, step=0.1):
        super().__init__(dim)
        self.step, self.w = step, np.zeros(self.dim)

    @property
    def config(self):
        return {"dim": self.dim, "step": self.step}

    def bound(self, path_length):
        return float("inf")

    def arrays(self):
        return super().arrays() | ({"w": self.w.copy()} if self.keeps else {})

    def restore(self, state):
        super().restore(state)
        if self.keeps:
            self.w = stored(state, "w", self.dim)

    def _propose(self, time):
        return self.w.copy()

    def _check_gradient(self, g, size):
        pass

    def _learn(self, g, play):
        self.w -= self.step * g


class Lossy(Own):
    keeps = False


@dataclass(frozen=True)
class OwnKernel(StationaryKernel):
    def _lag(self, r):
        return 1.0 / (1.0 + r)


@pytest.mark.parametrize("make", [Own, lambda dim: sp.KernelFTRL(dim, kernel=OwnKernel())])
def test_learners_and_parts_of_ones_own_conform_though_no_file_names_them(make):
    checks.check_learner(make)


def test_a_learner_of_ones_own_that_leaves_out_its_state_is_caught():
    with pytest.raises(AssertionError, match="check_save_load_resumes: the futures differ"):
        checks.check_learner(Lossy)


def test_the_conformance_suite_says_what_it_is_for():
    class Bare:
        def __init__(self, dim):
            self.dim = dim

        def predict(self):
            return np.zeros(self.dim)

        def update(self, g):
            pass

    with pytest.raises(ValueError, match="build a GradientLearner: got a Bare; subclass"):
        checks.check_learner(Bare)


def test_a_learner_is_found_with_arguments_of_its_own(monkeypatch):
    class Odd(sp.Tracker):
        def __init__(self, dim, *, colour):
            super().__init__(dim)

    class Even(Odd):
        @classmethod
        def _example(cls, dim):
            return cls(dim, colour="red")

    monkeypatch.setattr(sp, "Odd", Odd, raising=False)
    monkeypatch.setattr(sp, "Even", Even, raising=False)
    monkeypatch.setattr(sp, "__dir__", lambda: ["Odd", "Even", "Tracker"])
    found = dict(checks.public_learners())
    assert found.keys() == {"Odd", "Even", "Tracker"}
    assert isinstance(found["Even"](3), Even)
    with pytest.raises(ValueError, match=r"without 'colour'.*give the class a method _example"):
        found["Odd"](3)


@dataclass(frozen=True)
class Epanechnikov(StationaryKernel):
    """Looks like a kernel, and is none."""

    width: float

    def _lag(self, r):
        return np.maximum(0.0, 1.0 - (r / self.width) ** 2)


@dataclass(frozen=True)
class Slanted(StationaryKernel):
    """A kernel plus what is not symmetric."""

    def _lag(self, r):
        return np.exp(-r)

    def _value(self, s, t):
        return super()._value(s, t) + 1e-3 * np.tanh(s - t)


@dataclass(frozen=True)
class OwnDomain(Domain):
    """The ball of radius 1, projected on by a wrong rule."""

    rule: object
    radius: float = 1.0

    def reach(self, dim):
        return self.radius

    def project(self, w):
        return self.rule(w)


@dataclass(frozen=True)
class Boastful(ParameterFree):
    """A potential whose bound is a part of the truth."""

    share: float = 0.1

    def bound(self, norm, V, h, count=0.0):
        return self.share * super().bound(norm, V, h, count)


def test_what_is_no_kernel_is_caught():
    for kernel in (Epanechnikov(50.0), Epanechnikov(3.0), Slanted()):
        with pytest.raises(AssertionError, match=r"not (positive definite|symmetric)"):
            checks.check_kernel_is_positive_definite(
                lambda dim, kernel=kernel: sp.KernelFTRL(dim, kernel=kernel)
            )
    with pytest.raises(AssertionError, match="not positive definite"):
        checks.check_learner(lambda dim: sp.KernelFTRL(dim, kernel=Epanechnikov(50.0)))


WRONG = {
    "grows": (lambda w: 1.5 * w, np.inf, "elsewhere"),
    "beyond its reach": (lambda w: w / max(np.linalg.norm(w) / 2.0, 1.0), 1.0, "beyond its reach"),
    "not the nearest": (lambda w: np.clip(w, -0.1, 0.4) * (w.max() < 1.0), 1.0, "not its nearest"),
    "a sphere": (lambda w: w / max(np.linalg.norm(w), 1e-9), 1.0, "not its nearest"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_projection_is_caught(name):
    rule, reach, message = WRONG[name]
    with pytest.raises(AssertionError, match=message):
        checks.check_learner(lambda dim: sp.KernelFTRL(dim, domain=OwnDomain(rule, reach)))


@pytest.mark.parametrize("lipschitz", [None, 2.0])
def test_a_bound_that_is_a_part_of_the_truth_is_caught(lipschitz):
    def make(share):
        return lambda dim: sp.KernelFTRL(
            dim, lipschitz=lipschitz, kernel=sp.kernels.OU(0.1), potential=Boastful(share=share)
        )

    with pytest.raises(AssertionError, match=r"check_bound_holds: .* above the bound"):
        checks.check_learner(make(0.1))
    checks.check_learner(make(1.0))


def test_a_curved_learner_whose_bound_leaves_out_the_ridge_is_caught():
    class Light(sp.ExpConcave):
        def bound(self, norm):
            return super().bound(0.5 * norm)

    with pytest.raises(AssertionError, match="check_bound_holds"):
        checks.check_learner(
            lambda dim: Light(dim, kernel=sp.kernels.OU(0.1), curvature=0.5, ridge=1.0)
        )
