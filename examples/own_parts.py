"""A kernel, a potential and static learners of one's own, beside built-in ones.

python examples/own_parts.py
"""

from dataclasses import dataclass

import numpy as np

import stillpoint as sp
from stillpoint.kernels import StationaryKernel
from stillpoint.learners import ProximalDescent
from stillpoint.potentials import Potential


@dataclass(frozen=True)
class Seasonal(StationaryKernel):
    """k(s, t) = e^{−rate|s−t|}·cos²(π(s−t)/period): targets that nearly repeat themselves."""

    period: float
    rate: float

    def _lag(self, r):
        return np.exp(-self.rate * r) * np.cos(np.pi * r / self.period) ** 2


@dataclass(frozen=True)
class Capped(Potential):
    """m = min(step·S, radius): gradient descent kept in the RKHS ball.

    R ≤ ‖U‖²/(2 step) + step·V/2 for ‖U‖ ≤ radius.
    """

    step: float
    radius: float

    def magnitude(self, S, V, h, count=0.0):
        """Size of the play."""
        return min(self.step * S, self.radius)

    def bound(self, norm, V, h, count=0.0):
        """Of FTRL with the regulariser ‖W‖²/(2 step) on the ball of this radius."""
        if norm > self.radius:
            raise ValueError(
                f"norm must be at most the radius {self.radius}: got {norm}; raise radius"
            )
        return norm**2 / (2 * self.step) + self.step * V / 2


@dataclass
class Forgetful:
    """A static learner that forgets as it steps: W ← keep·W − step·G."""

    step: float
    keep: float

    def play(self, sums):
        """The memory holds W itself."""
        return sums.pull.copy()

    def store(self, g, memory, sums):
        """Shrink, then step."""
        memory.scale(self.keep)
        memory.add(-self.step * g)

    def bound(self, norm, V, h, count=0.0):
        """None is known; the certificate holds all the same."""
        return float("inf")


@dataclass
class PassiveAggressive:
    """A static learner that steps to where the loss, were it linear, would be 0.

    `step` at most, that is; for absolute losses and k(t, t) = 1 it is `ProximalDescent`.
    """

    step: float

    def play(self, sums):
        """The memory holds W itself."""
        return sums.pull.copy()

    def learn(self, loss, memory, sums):
        """W ← W − min(step, ℓ/‖G‖²)·G; what is returned adds up to the V of `bound`."""
        g = loss.gradient(sums.pull)
        square = sums.diagonal * float(g @ g)
        if square > 0.0:
            memory.add(-min(self.step, loss.value(sums.pull) / square) * g)
        return square

    def bound(self, norm, V, h, count=0.0):
        """None is stated; the certificate holds all the same."""
        return float("inf")


def main():
    """Play all of them on a seasonal target; print what they lost, and their certificates."""
    t = np.arange(2000)
    target = np.sin(2 * np.pi * t / 50) * (1 + 0.3 * np.sin(t / 300))
    losses = sp.losses.Absolute().on(
        target + 0.3 * np.random.default_rng(0).standard_normal(t.size)
    )
    ou, erfi = sp.kernels.OU(0.05), sp.potentials.Erfi()
    contenders = {
        "OU kernel, Erfi": (ou, erfi),
        "own kernel, Erfi": (Seasonal(period=50.0, rate=0.002), erfi),
        "own potential on OU": (ou, Capped(step=0.5, radius=20.0)),
        "own static learner on OU": (ou, Forgetful(step=0.5, keep=0.9)),
        "own, from losses, on OU": (ou, PassiveAggressive(step=0.5)),
        "ProximalDescent on OU": (ou, ProximalDescent(step=0.5)),
    }
    print(f"{'':26}{'loss':>8}{'regret':>8}{'certified for ‖U‖ ≤ 10':>26}")
    for name, (kernel, potential) in contenders.items():
        learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=kernel, potential=potential)
        run = sp.play(learner, losses)
        print(
            f"{name:26}{run.losses.sum():8.0f}{run.regret(target)[-1]:8.0f}{learner.certificate(10.0):26.0f}"
        )


if __name__ == "__main__":
    main()
