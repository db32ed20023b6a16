"""What the checks share: hostile streams, explicit feature spaces, comparators."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

import stillpoint as sp
from stillpoint.core.validation import Array
from stillpoint.kernels import (
    OU,
    Constant,
    Gaussian,
    HorizonFree,
    Kernel,
    Matern32,
    OUMixture,
    Spline,
)
from stillpoint.lab.reproduce.registry import Case
from stillpoint.learners import GradientDescent
from stillpoint.potentials import Potential

Gradient = Callable[[int, Array, np.random.Generator], Array]

RADII: Array = np.concatenate([[0.0], np.logspace(-4, 6, 41)])

# the printed taper, and the one of E7
PAPER, CONSISTENT = HorizonFree(), HorizonFree(taper=1 / (2 * math.pi))

KERNELS: dict[str, Kernel] = {
    "constant": Constant(),
    "OU(0.02)": OU(0.02),
    "mixture": OUMixture([0.0, 0.01, 0.2], [1.0, 0.5, 0.25]),
    "Matérn-3/2": Matern32(0.05),
    "spline": Spline(1.0),
    "horizon-free": PAPER,
    "horizon-free, taper 1/2π": CONSISTENT,
    "Gaussian(20)": Gaussian(20.0),
    "1e-6·OU": 1e-6 * OU(0.1),
}

# gradients of norm at most 1 for plays of dimension 1
STREAMS: dict[str, Gradient] = {
    "never turns": lambda t, w, rng: -np.ones(1),
    "twelfth": lambda t, w, rng: -np.ones(1) / 12,
    "alternating": lambda t, w, rng: np.array([(-1.0) ** t]),
    "signs": lambda t, w, rng: rng.choice([-1.0, 1.0], 1),
    "against the play": lambda t, w, rng: np.where(w >= 0, 1.0, -1.0),
    "with the play": lambda t, w, rng: np.where(w >= 0, -1.0, 1.0),
    "slow wave": lambda t, w, rng: np.array([np.sin(t / 40.0)]),
    "bursts": lambda t, w, rng: np.array([-1.0 if t % 100 < 20 else 0.0]),
    "noisy target": lambda t, w, rng: np.sign(w - np.sin(t / 80.0) + 0.3 * rng.standard_normal(1)),
}

# gradients of any scale and dimension
UNSCALED: dict[str, Gradient] = {
    "signs": lambda t, w, rng: rng.choice([-1.0, 1.0], w.size),
    "growing": lambda t, w, rng: 1.02**t * (w - 1.0 + 0.3 * rng.standard_normal(w.size)),
    "jump to 1e6": lambda t, w, rng: (1e6 if t == 200 else 1.0) * np.where(w >= 0, 1.0, -1.0),
    "drift": lambda t, w, rng: 1e-3 * (np.sin(t / 30.0) + 0.5 * rng.standard_normal(w.size)),
    "late": lambda t, w, rng: np.zeros(w.size) if t < 100 else rng.standard_normal(w.size) - 1.0,
}


class Player(Protocol):
    """A learner, as far as `drive` needs one."""

    def predict(self) -> Array:
        """The play."""

    def update(self, g: Array) -> None:
        """Its gradient."""


class Certified(Protocol):
    """A learner whose exact worst regret and whose bound are functions of the comparator's norm."""

    def certificate(self, radius: float) -> float:
        """The largest linearised regret over ‖U‖ ≤ radius."""

    def bound(self, norm: float) -> float:
        """What is promised."""


def times(rounds: int) -> Array:
    """1..T."""
    return np.arange(1.0, rounds + 1.0)


def drive(learner: Player, gradient: Gradient, rounds: int, seed: int = 0) -> tuple[Array, Array]:
    """Plays and gradients of a run, (T, d) each."""
    rng = np.random.default_rng(seed)
    plays, gradients = [], []
    for t in range(1, rounds + 1):
        w = learner.predict().copy()
        g = gradient(t, w, rng)
        learner.update(g)
        plays.append(w)
        gradients.append(g)
    return np.array(plays), np.array(gradients)


def kernel_run(
    kernel: str,
    stream: str,
    rounds: int,
    potential: Potential | GradientDescent,
    kernel_bound: float | None,
) -> sp.KernelFTRL:
    """`sp.KernelFTRL` after so many rounds of a stream, both by name."""
    learner = sp.KernelFTRL(
        1, lipschitz=1.0, kernel=KERNELS[kernel], potential=potential, kernel_bound=kernel_bound
    )
    drive(learner, STREAMS[stream], rounds)
    return learner


def towards(y: Array) -> Gradient:
    """Gradients of ½‖w − y_t‖²."""
    return lambda t, w, rng: np.asarray(w - y[t - 1])


def at_zero(y: Array) -> Gradient:
    """Gradients of ½‖w − y_t‖² at plays of 0, whatever the play."""
    return lambda t, w, rng: np.asarray(np.broadcast_to(-y[t - 1], w.shape))


def worst(where: str, pairs: Iterable[tuple[float, float]]) -> Case:
    """Of (measured, bound) pairs the one with the largest ratio, as a case."""
    measured, bound = max(pairs, key=lambda pair: pair[0] / pair[1])
    return Case(where, float(measured), float(bound))


def against_all(where: str, learner: Certified, radii: Iterable[float] = RADII) -> Case:
    """The run against every comparator: the worst of its certificates.

    The certificate at r is the supremum over ‖U‖ ≤ r.
    """
    return worst(where, [(learner.certificate(r), learner.bound(r)) for r in radii])


def standing_still(where: str, learner: Certified, radii: Iterable[float] = RADII) -> Case:
    """The control of `against_all`: plays of 0, whose worst regret is r‖ΣG‖."""
    linear = learner.certificate(0.0)
    return worst(
        f"plays of 0, {where}", [(learner.certificate(r) - linear, learner.bound(r)) for r in radii]
    )


def features(kernel: Kernel, rounds: int) -> Array:
    """Rows φ(t) with ⟨φ(s), φ(t)⟩ = k(s, t): the kernel's space, explicit and finite."""
    values, vectors = np.linalg.eigh(kernel.gram(times(rounds)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def deviation(a: Array, b: Array) -> float:
    """Largest difference, relative to the largest value."""
    return float(np.abs(a - b).max() / max(float(np.abs(b).max()), 1e-300))


def switching(rounds: int, switches: int) -> Array:
    """±1 with equally long pieces: M = 1, P_T = 2·switches."""
    return np.where(np.arange(rounds) * (switches + 1) // rounds % 2 == 0, 1.0, -1.0)


def slope(x: Sequence[float] | Array, y: Sequence[float] | Array) -> float:
    """Least squares in log-log; NaN where a value has no logarithm."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0]) if min(y) > 0.0 else math.nan


def upper_slope(x: Sequence[float], y: Sequence[float] | Array) -> float:
    """The same over the upper half of the points."""
    return slope(x[len(x) // 2 :], y[len(x) // 2 :])


def targets(rounds: int) -> dict[str, Array]:
    """Comparators in [−1, 1] by name."""
    t, rng = np.arange(rounds), np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal(rounds)) / np.sqrt(rounds)
    return {
        "constant": np.ones(rounds),
        "four switches": switching(rounds, 4),
        "wave": np.sin(2 * np.pi * t / rounds),
        "ten waves": np.sin(20 * np.pi * t / rounds),
        "walk": walk / np.abs(walk).max(),
    }


def reachable(gradients: Array, reach: float, seed: int = 0) -> Iterator[Array]:
    """Comparators in the ball of that radius.

    The best in hindsight at three smoothings, walks, a constant.
    """
    rounds, dim = gradients.shape
    rng = np.random.default_rng(seed)
    for width in (1, 20, rounds):
        smooth = np.array(
            [np.convolve(column, np.ones(width), mode="same") for column in gradients.T]
        ).T
        yield -reach * smooth / np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-300)
    for _ in range(3):
        walk = np.cumsum(rng.standard_normal((rounds, dim)), axis=0) * 0.1 * reach
        yield walk / np.maximum(np.linalg.norm(walk, axis=1, keepdims=True) / reach, 1.0)
    yield np.full((rounds, dim), reach / np.sqrt(dim))


def tuned_for(kernel: str, rounds: int) -> float | None:
    """kernel_bound of the kernels above: the spline's grows and must be told."""
    return rounds + 1.0 if kernel == "spline" else None


def half_squared(plays: Array, y: Array) -> float:
    """Σ½‖w − y‖²."""
    return float(0.5 * ((plays - y) ** 2).sum())


def forecast(model: sp.KernelVAW, y: Array) -> Array:
    """Forecasts of a series, one a round."""
    return np.asarray(model.track(y)).reshape(y.shape)
