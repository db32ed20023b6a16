import numpy as np
import pytest

import stillpoint as sp
from cases import DENSE, MARKOV, POTENTIALS
from stillpoint import checks
from stillpoint.domains import Ball, Box
from stillpoint.learners import GradientDescent, ProximalDescent
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
