"""Conformance of a learner's parts: kernel, domain and bound. `stillpoint.checks` runs them, too.

They are probes: a part that passes is not proved, one that fails is wrong.
"""

import inspect
from collections.abc import Callable

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.domains import Domain
from stillpoint.kernels import Kernel
from stillpoint.learners.base import GradientLearner

Factory = Callable[[int], GradientLearner]

_STREAMS: dict[str, Callable[[int, Array], Array]] = {
    "never turns": lambda t, w: -np.ones(1),
    "small": lambda t, w: -np.full(1, 0.1),
    "alternating": lambda t, w: np.full(1, (-1.0) ** t),
    "against the play": lambda t, w: np.where(w >= 0.0, 1.0, -1.0),
    "with the play": lambda t, w: np.where(w >= 0.0, -1.0, 1.0),
}
_NORMS = np.concatenate([[0.0], np.logspace(-3, 5, 17)])


def check_kernel_is_positive_definite(make: Factory) -> None:
    """On 200 times a quarter, 1 and 16 apart the kernel's Gram matrix has no negative eigenvalue.

    The least may be below 0 by 1e-8 of the largest, which is rounding.
    """
    learner = make(1)
    kernel = getattr(learner, "kernel", None)
    if kernel is None and learner.ledger is not None:
        kernel = learner.ledger.memory.kernel
    if not isinstance(kernel, Kernel):
        return
    for gap in (0.25, 1.0, 16.0):
        gram = kernel.gram(gap * np.arange(1.0, 201.0))
        assert np.isfinite(gram).all(), f"{kernel!r} is not finite at times {gap} apart"
        values = np.linalg.eigvalsh(gram)
        assert values[0] >= -1e-8 * values[-1], (
            f"{kernel!r} is not positive definite: at 200 times {gap} apart the eigenvalues of its"
            f" Gram matrix run from {values[0]:g} to {values[-1]:g}"
        )
        assert np.allclose(gram, gram.T, rtol=1e-9, atol=1e-12 * values[-1]), (
            f"{kernel!r} is not symmetric at times {gap} apart"
        )


def check_domain_projects(make: Factory) -> None:
    """The domain's projection is one on a convex set within its reach.

    Π(Π(w)) = Π(w), ‖Π(w)‖ ≤ reach, and ⟨w − Π(w), Π(v) − Π(w)⟩ ≤ 0 for all w and v: no point of the
    set is nearer.
    """
    rng = np.random.default_rng(5)
    for dim in (1, 3):
        domain = getattr(make(dim), "domain", None)
        if not isinstance(domain, Domain):
            return
        reach = domain.reach(dim)
        points = rng.standard_normal((24, dim)) * np.logspace(-2, 2, 24)[:, None]
        nearest = np.array([domain.project(w) for w in points])
        for w, p in zip(points, nearest, strict=True):
            size = 1.0 + float(np.linalg.norm(w)) + float(np.linalg.norm(p))
            moved = float(np.linalg.norm(domain.project(p) - p))
            assert moved <= 1e-6 * size, (
                f"{domain!r} projects {p}, a projection itself, elsewhere: it moves by {moved:g}"
            )
            assert np.linalg.norm(p) <= reach + 1e-6 * size, (
                f"{domain!r} projects {w} to {p}, beyond its reach of {reach}"
            )
            nearer = float(((w - p) * (nearest - p)).sum(axis=1).max())
            assert nearer <= 1e-6 * size * (size + float(np.abs(nearest).max())), (
                f"{domain!r} projects {w} to {p}, which is not its nearest point"
            )


def check_bound_holds(make: Factory) -> None:
    """On five hostile streams of 100 rounds no certificate is above the bound, at any norm.

    For learners with `bound(norm)` and a certificate. One that takes `lipschitz` and `domain` is
    built anew with G = 1 and no domain, so that both are about the same comparators.
    """
    learner = make(1)
    needed = [
        name
        for name, parameter in inspect.signature(getattr(learner, "bound", make)).parameters.items()
        if parameter.default is parameter.empty
    ]
    if needed != ["norm"]:
        return
    anew = {"lipschitz", "domain"} <= learner.config.keys()
    inside = isinstance(getattr(learner, "domain", None), Domain) and not anew
    if inside and type(learner).certificate is GradientLearner.certificate:
        return  # its certificate is about comparators outside the domain, too
    for name, gradient in _STREAMS.items():
        if anew:
            told = {**learner.config, "dim": 1, "lipschitz": 1.0, "domain": None}
            learner = type(learner)(**told)
        else:
            learner = make(1)
        try:
            for t in range(100):
                learner.update(gradient(t, learner.predict()))
        except ValueError as error:
            raise AssertionError(f"gradients that are {name!r} were refused: {error}") from error
        for norm in _NORMS:
            try:
                found, bound = learner.certificate(norm), float(learner.bound(norm))  # type: ignore[attr-defined]
            except ValueError:  # not for comparators as large as this, or no certificate
                continue
            assert found <= bound + 1e-9 * (1.0 + abs(bound)), (
                f"gradients that are {name!r}: a comparator of norm {norm:g} has regret {found:g},"
                f" above the bound {bound:g}"
            )
