"""A stream: the losses of its rounds and the comparator that generated them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stillpoint.core.validation import Array, count
from stillpoint.losses import Linear, LossStream, Pinball, Squared

CHOSEN, REPORTED = "chosen", "reported"
Seed = int | np.random.Generator
_OCTAVES = (-14, 3)


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """Losses and the true comparator, seeded.

    Parameters
    ----------
    name
        What it is called in tables.
    losses
        One loss a round: `sp.play(learner, stream.losses)`.
    target
        The comparator of regret, shape (T, dim).
    note
        One line on what it is.
    group
        "chosen" where constants of the library were chosen on it, else "reported".
    unit
        The size of the target's moves.
    octaves
        From and below which power of 2, times unit/G, OGD is tuned in hindsight here.
    """

    name: str
    losses: LossStream
    target: Array
    note: str = ""
    group: str = REPORTED
    unit: float = 1.0
    octaves: tuple[int, int] = _OCTAVES

    def __post_init__(self) -> None:
        if not isinstance(self.losses, LossStream) or not isinstance(self.target, np.ndarray):
            given = f"a {type(self.losses).__name__} and a {type(self.target).__name__}"
            raise ValueError(
                f"losses must be a LossStream, and target an array: got {given}; return an"
                " OwnStream of other losses, or of losses without a target"
            )
        if self.target.shape != (len(self.losses), self.losses.dim):
            raise ValueError(
                f"target must have shape {(len(self.losses), self.losses.dim)}: got"
                f" {self.target.shape}; give one point a round"
            )

    def __repr__(self) -> str:
        return f"<Stream {self.name}: rounds {len(self):,}, dimension {self.dim}; {self.note}>"

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def dim(self) -> int:
        """The dimension of a play."""
        return self.losses.dim

    @property
    def lipschitz(self) -> float:
        """The least bound on gradient norms at every play; infinite for squared losses."""
        return largest_slope(self.losses)

    def lipschitz_within(self, radius: float) -> float:
        """A bound on gradient norms in a ball of that radius; finite for squared losses, too."""
        return largest_slope_within(self.losses, radius)

    @property
    def radius(self) -> float:
        """The largest norm of the target."""
        return float(np.linalg.norm(self.target, axis=1).max())

    @property
    def steps(self) -> Array:
        """The steps that OGD tuned in hindsight tries."""
        return hindsight_steps(self.unit, self.lipschitz, self.octaves)


def quantile_streams(
    prefix: str, loss: Pinball, unit: float, laws: Mapping[str, tuple[Array, Array, str]], more: str
) -> dict[str, Stream]:
    """Streams whose quantile is known, by name.

    Parameters
    ----------
    laws
        (q, y, what it is) by name: targets y whose quantile at the loss's level is q, before both
        are multiplied by `unit`.
    more
        How all notes end.
    """
    return {
        prefix + name: Stream(
            prefix + name, loss.on(unit * y), unit * q[:, None], note + more, unit=unit
        )
        for name, (q, y, note) in laws.items()
    }


def largest_slope(losses: LossStream) -> float:
    """The least bound on gradient norms at every play; infinite for squared losses."""
    if isinstance(losses.loss, Linear):
        gradients = losses.y * losses.x if len(losses.x) else losses.y
        return float(np.linalg.norm(gradients, axis=1).max())
    reach = float(np.linalg.norm(losses.x, axis=1).max()) if len(losses.x) else 1.0
    return losses.loss.lipschitz * reach


def largest_slope_within(losses: LossStream, radius: float) -> float:
    """A bound on gradient norms in a ball of that radius; finite for squared losses, too."""
    if not isinstance(losses.loss, Squared):
        return largest_slope(losses)
    reach = np.linalg.norm(losses.x, axis=1) if len(losses.x) else np.ones(len(losses))
    return float((reach * (reach * radius + np.linalg.norm(losses.y, axis=1))).max())


def hindsight_steps(unit: float, lipschitz: float, octaves: tuple[int, int] = _OCTAVES) -> Array:
    """Powers of 2^¼ times unit/G, or times unit where no G is finite."""
    first, after = octaves
    powers = np.arange(4 * first, 4 * (after - 1) + 1) / 4.0
    return np.asarray(unit / (lipschitz if 0.0 < lipschitz < math.inf else 1.0) * np.exp2(powers))


def tenth(T: int) -> int:
    """The length of each of ten equal pieces."""
    if count("T", T) < 10:
        raise ValueError(f"T must be 10 or more: got {T}; there are 10 pieces")
    return T // 10


def ten_levels(T: int, rng: np.random.Generator) -> Array:
    """Ten equal pieces at levels in [-1, 1]; the last T mod 10 rounds are dropped."""
    length = tenth(T)
    return np.repeat(rng.uniform(-1, 1, 10), length)


def swelling(T: int) -> Array:
    """A scale of 1, then 4, then 0.5, that swells and shrinks by half."""
    t = np.arange(count("T", T))
    return np.where(t < 0.3 * T, 1.0, np.where(t < 0.6 * T, 4.0, 0.5)) * (1 + 0.5 * np.sin(t / 200))
