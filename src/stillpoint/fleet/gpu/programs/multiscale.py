"""MultiScale for device fleets, in units of the largest gradient so far, or of `lipschitz`."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import dawsn

from stillpoint.domains import Everywhere
from stillpoint.fleet.gpu.programs.base import Program, State, length, names, pair, pairs, put
from stillpoint.fleet.gpu.trace import (
    Number,
    dot,
    exp,
    inverse,
    larger,
    remainder,
    rsqrt,
    smaller,
    total,
    where,
)
from stillpoint.learners import MultiScale

_MOST = 1e30  # of a magnitude
_CURVE, _DEGREE = 0.15, 18


def _dawson_coefficients() -> tuple[float, ...]:
    """D(x)(1 + 2x²)/x as a polynomial in (cx² − 1)/(cx² + 1), to 2e-7 of it everywhere.

    The argument maps x ≥ 0 to [−1, 1).
    """
    t = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)
    x = np.sqrt((1.0 + t) / (_CURVE * (1.0 - t)))
    return tuple(
        chebyshev.cheb2poly(
            chebyshev.chebfit(t, dawsn(x) / x * (1.0 + 2.0 * x * x), _DEGREE)
        ).tolist()
    )


_DAWSON = _dawson_coefficients()


def dawson(x: Number) -> Number:
    """Dawson's function for x ≥ 0 to about 1e-6 of it in float32."""
    square = x * x
    t = (_CURVE * square - 1.0) * inverse(_CURVE * square + 1.0)
    value = _DAWSON[-1] + 0.0 * t
    for coefficient in _DAWSON[-2::-1]:
        value = value * t + coefficient
    return x * value * inverse(1.0 + 2.0 * square)


def _direction(v: Sequence[Number], far: Number) -> list[Number]:
    """v/‖v‖, whose length must not be off to one side: gradients lose it round after round."""
    if len(v) == 1:
        return [where(v[0] > 0.0, 1.0, -1.0)]
    over = inverse(larger(far, 1e-37))
    rough = [x * over for x in v]
    mend = 1.5 - 0.5 * dot(rough, rough)
    return [x * mend for x in rough]


class MultiScaleProgram(Program):
    """Columns of MultiScale with so many levels."""

    def __init__(self, learner: MultiScale, levels: int = 2) -> None:
        super().__init__()
        if not isinstance(learner.domain, Everywhere):
            raise ValueError(
                f"domain must be all space on a device: got {learner.domain!r}; use a Fleet on"
                " the CPU"
            )
        self._learner, self.levels, d = learner, levels, learner.dim
        self.inputs = self.outputs = self.dim = d
        self._lipschitz, self._scale = learner.lipschitz, learner.radius_scale
        self.limit = None if self._lipschitz is None else self._lipschitz * (1.0 + 1e-6)
        # a power of two: sums of what is divided by it are exact where those of the gradients are,
        # and 0 where those are
        self._unit = (
            1.0 if self._lipschitz is None else 2.0 ** math.ceil(math.log2(self._lipschitz))
        )
        self._hint = 1.0 if self._lipschitz is None else self._lipschitz / self._unit
        self._budget, self._alpha, self._offset = map(float, learner._parameters[:3])
        self._theta = [names(f"theta{i}.", d) for i in range(levels)]
        self._sums = *names("size", levels)[1:], *names("variance", levels)
        own = () if self._lipschitz is not None else ("top", "reach", *pairs("total"))
        self.columns = (*own, *(name for row in self._theta for name in row), *pairs(*self._sums))
        self.begin = {}

    def for_rounds(self, rounds: int) -> "MultiScaleProgram":
        """Level j ≥ 1 starts in round base^{j−1}."""
        levels = 2 + int(math.log(max(rounds, 1) + 0.5, self._learner.base))
        return self if levels == self.levels else MultiScaleProgram(self._learner, levels)

    def _running(self, s: State, level: int) -> Number:
        return s["rounds"] + 1 >= math.ceil(self._learner.base ** (level - 1) * (1.0 - 1e-12))

    def propose(self, s: State) -> tuple[Number, ...]:
        """−Σ_j (m(S_j, V_j)/S_j)·θ_j, each level decayed by its rate.

        Without `lipschitz` it stays within the ball that grows.
        """
        parts: list[list[Number]] = [[] for _ in range(self.dim)]
        for level, row in enumerate(self._theta):
            # what decays is taken off: e^{−rate} as a float would be off by 1e-4 of the rate of the
            # slowest
            if level:
                fade = -math.expm1(-(self._learner.base ** (1.0 - level)))
                for name in row:
                    s[name] = s[name] - fade * s[name]
            theta = [s[name] for name in row]
            factor = self._factor(s, level, theta)
            for j in range(self.dim):
                parts[j].append(factor * theta[j])
        z = [-total(part) for part in parts]
        if self._lipschitz is None:
            room = larger(s["reach"], 1e-37)
            reach, far = self._scale * (room * rsqrt(room)), length(z)
            s["outside"], s["direction"] = far > reach, _direction(z, far)
            z = [where(s["outside"], reach * x, y) for x, y in zip(s["direction"], z, strict=True)]
        return tuple(z)

    def _factor(self, s: State, level: int, theta: Sequence[Number]) -> Number:
        """m(S, V)/S of a level: the Erfi potential's magnitude over the size of what it was fed."""
        v, square = s[f"variance{level}"], dot(theta, theta)
        # the first never decays: its ‖θ‖ is ‖θ(t)‖; that of others is at least that, as in every
        # RKHS
        if level:
            square = larger(s[f"size{level}"], square)
        over = rsqrt(larger(square, 1e-30))  # 1/S
        size = square * over
        h, a = self._hint, 4.0 * self._alpha
        u = a * v + (2.0 * h * a) * size + a * h * h * self._offset
        root = rsqrt(u)
        bracket = dawson(size * root) - (2.0 * self._alpha * h) * root
        # the exponent q² = S²/u has to be right to more than a float: what its rounding left goes
        # in as a factor
        ratio = square * (root * root)
        power = exp(ratio)
        power = power + power * (remainder(square, ratio, u) * (root * root))
        return smaller(self._budget * power * bracket, _MOST) * over

    def learn(self, s: State, fed: Sequence[Number]) -> None:
        """Take in a gradient.

        Without `lipschitz` it is clipped, and turned along the ball where the proposal was outside.
        """
        if self._lipschitz is not None:
            g = [x * (1.0 / self._unit) for x in fed]
        else:
            a = length(fed)
            after = larger(s["top"], a)
            over = inverse(where(after > 0.0, after, 1.0))
            g = [where(s["top"] > 0.0, x * over, 0.0) for x in fed]
            along = where(s["outside"], smaller(dot(g, s["direction"]), 0.0), 0.0)
            g = [x - along * y for x, y in zip(g, s["direction"], strict=True)]
        square = dot(g, g)
        for level, row in enumerate(self._theta):
            more, fed = square, g
            if level > 1:  # the first two run from the first round on
                on = self._running(s, level)
                more, fed = where(on, square, 0.0), [where(on, x, 0.0) for x in g]
            inner = dot(fed, [s[name] for name in row])
            if level:
                put(s, f"size{level}", pair(s, f"size{level}").plus(more + 2.0 * inner))
            put(s, f"variance{level}", pair(s, f"variance{level}").plus(more))
            for name, x in zip(row, fed, strict=True):
                s[name] = s[name] + x
        if self._lipschitz is None:
            self._rescale(s, where(after > s["top"], s["top"] * over, 1.0), after, a * over)

    def _rescale(self, s: State, ratio: Number, after: Number, more: Number) -> None:
        """Go over to a larger bound."""
        for row in self._theta:
            for name in row:
                s[name] = s[name] * ratio
        for name in self._sums:
            put(s, name, pair(s, name).times(ratio * ratio))
        put(s, "total", pair(s, "total").times(ratio).plus(more))
        s["top"], s["reach"] = after, larger(s["reach"], s["total"])
