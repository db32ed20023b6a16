"""What a fleet of forecasters has in common: its experts, its clock, and the places of a state."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.fleet.gpu.series.machine import Places
from stillpoint.series import layout
from stillpoint.series._knots import ISSUE, RIDGE, ROW, Rule
from stillpoint.series._scale import BY, LEAST
from stillpoint.series._state import State
from stillpoint.series._structural import OF as OF_MODEL
from stillpoint.series.gains import Gains, shared
from stillpoint.series.harmonics import Harmonics, harmonics
from stillpoint.series.light.keys import gathered

CHUNK = 4  # rounds ahead whose seasonal parts are summed together


class FilterPlan(NamedTuple):
    """A structural filter."""

    log: bool
    row: int  # of the tables
    level: float  # q_l
    seasons: float  # q_s
    damping: float
    slope: bool
    memory: float
    deviation: bool


class RegressionPlan(NamedTuple):
    """An autoregression."""

    lags: tuple[int, ...]
    difference: int
    seasonal: int
    start: int
    rate: float
    size: int
    prior: tuple[float, ...]  # variances


class Plan:
    """All that streams of a fleet share.

    Parameters
    ----------
    learner : Forecaster
        One of them, new.
    """

    def __init__(self, learner: Any) -> None:
        engine = learner._engine
        self.periods: tuple[float, ...] = engine.periods or ()
        self.horizon: int = engine.horizon
        scale = layout.Scale(0.0, 1.0, 0.0, 1.0, True)
        built = layout.build(engine.pool, self.periods, self.horizon, scale, learner._bands.state)
        self.harmonics: Harmonics = harmonics(self.periods)
        self.gains: Gains = shared(self.periods, layout.models(engine.pool))
        self.columns = self.harmonics.columns
        q = self.harmonics.frequencies[:, 1]  # a frequency counts once, cosine and sine
        ends = np.cumsum(1 + (q > 0.0)).astype(int)
        self.smoothness = float(self.harmonics.smooth[ends - 1].sum())
        self.filters = _filters(built)
        self.plain = max(i for i, f in enumerate(self.filters) if not f.log)
        self.regressions = _regressions(built)
        self.lagged = tuple(round(period) for period in built.periods.tolist())
        self.experts = built.room.shape[1]
        self.knots: tuple[int, ...] = tuple(built.knots.horizons.tolist())
        self.far = self.knots[-1] if len(self.knots) > 1 else 0  # the second knot, 0 without
        self.lower, self.fraction = built.knots.lower, built.knots.fraction
        self.stride, self.slots = int(built.clock[BY.stride]), int(built.clock[BY.slots])
        self.rule: Rule = built.knots.rule
        self.losses: Array = built.knots.experts[:, ROW.loss].copy()
        self.marks = max(LEAST, (self.horizon + 2) // 3)  # rounds between notes of the range
        self.ring = int(built.clock[BY.place]) + self.far
        bands = learner._bands
        if bands.several or bands.shifts:
            raise ValueError(
                f"coverage must be one number, and loss Squared, on a device: got {learner.config};"
                " use a Fleet on the CPU"
            )
        self.coverage, self.first = map(float, bands.state.aims[0])
        self.first_high = float(np.float32(self.first))
        self.gathered = gathered(self.periods)
        self.places, self.size = self._places()
        self.texts: dict[bool, str] = {}  # of the kernels, once they are written

    def _places(self) -> tuple[Places, int]:
        K, sizes = self.experts, dict.fromkeys(SCALARS, 1)
        for f, kind in enumerate(self.filters):
            sizes[f"level{f}"] = 1
            sizes |= {f"slope{f}": 1} if kind.slope else {}
            sizes |= {f"deviation{f}": 1} if kind.deviation else {}
            sizes |= {f"gaps{f}": 2, f"part{f}": 1, f"means{f}": self.columns}
        for a, r in enumerate(self.regressions):
            sizes |= {f"theta{a}": r.size, f"spread{a}": triangle(r.size)}
        for k, _ in enumerate(self.knots):
            for who, count in (("", K), ("two", 2)):
                for row in ("regret", "regret~", "squares", "squares~", "loss"):
                    sizes[f"{who}{row}.{k}"] = count
            sizes |= {f"{name}.{k}": 1 for name in AGGREGATE}
            sizes |= {f"stack.{k}": K + 1, f"spread.{k}": triangle(K + 1)}
            sizes[f"waiting.{k}"] = (K + len(ISSUE)) * (self.slots if k else 1)
        sizes["season"] = 3 if not self.far else 2 + -(-self.far // CHUNK) * CHUNK
        sizes["ring"] = self.ring
        self.banded = sum(sizes.values())  # where what is for the intervals begins
        sizes |= self._bands()
        ends = np.cumsum(list(sizes.values())).tolist()
        starts = [0, *ends[:-1]]
        return dict(zip(sizes, zip(starts, sizes.values(), strict=True), strict=True)), ends[-1]

    def _bands(self) -> dict[str, int]:
        """Names and sizes of what a state has for its intervals; see `bands`."""
        sizes: dict[str, int] = {}
        for k, _ in enumerate(self.knots):
            sizes |= {f"{name}:{k}": 1 for name in ESTIMATE}
            sizes[f"issued:{k}"] = len(ISSUED) * (self.slots if k else 1)
        return sizes

    def blank(self) -> NDArray[np.float32]:
        """A state before the first round, values being 0 and the unit 1."""
        state = np.zeros(self.size, np.float32)

        def put(name: str, values: Any) -> None:
            start, count = self.places[name]
            state[start : start + count] = values

        put("unit", 1.0)
        put("reach", 1.0)
        for a, r in enumerate(self.regressions):
            put(f"spread{a}", diagonal(r.prior))
        for k, _ in enumerate(self.knots):
            put(f"now:{k}", np.inf)
            put(f"loss.{k}", self.losses[k])
            put(f"spread.{k}", diagonal([1.0 / RIDGE] * (self.experts + 1)))
        return state

    def tables(self, start: int, rounds: int) -> dict[str, Array]:
        """What rounds start, start + 1, … of a series read, besides its state."""
        h, ages = self.harmonics, np.arange(start, start + rounds)
        rows = self.rows(start, rounds + max(self.far + CHUNK, 2))
        now, table = rows[:rounds], self.gains.up_to(start + rounds)
        at = table.row_of_age[np.minimum(ages, table.row_of_age.size - 1)]
        gains = np.zeros((rounds, len(self.filters), max(self.columns, 1)))
        steady = np.zeros((rounds, len(self.filters), 5))
        for f, kind in enumerate(self.filters):
            own = table.gains[kind.row, at]
            turned, j = own[:, 3:], 0
            for _, both in h.frequencies:
                along, c = turned[:, j], now[:, j]
                gains[:, f, j] = along * c
                if both > 0.0:
                    across, s = turned[:, j + 1], now[:, j + 1]
                    gains[:, f, j] -= across * s
                    gains[:, f, j + 1] = along * s + across * c
                j += 2 if both > 0.0 else 1
            steady[:, f, :3], steady[:, f, 3] = own[:, :3], table.variances[kind.row, at]
            steady[:, f, 4] = turned[:, 0] if self.columns else 0.0
        return {
            "gains": gains.reshape(rounds, -1),
            "steady": steady.reshape(rounds, -1),
            "rows": rows,
            "wider": now * h.smooth if self.columns else now,
        }

    def widths(self) -> dict[str, int]:
        """How many numbers a row of each table has."""
        n = max(self.columns, 1)
        return {
            "gains": len(self.filters) * n,
            "steady": 5 * len(self.filters),
            "rows": n,
            "wider": n,
        }

    def rows(self, start: int, count: int) -> Array:
        """Harmonics of so many rounds, from time `start` on."""
        h = self.harmonics
        if not self.columns:
            return np.zeros((count, 1))
        if h.table.shape[0]:
            return np.asarray(h.table[np.arange(start, start + count) % h.table.shape[0]])
        ring = h.rows(count, start)
        return np.asarray(ring[np.arange(start, start + count) % ring.shape[0]])


SCALARS = (
    *("centre", "centre~", "unit", "ratio"),  # ratio: unit over centre; 0 without logarithms
    *("low", "high", "doubting", "held", "expected", "stayed", "returned"),
    *("reach", "recent", "earlier", "first"),
)
AGGREGATE = ("record", "tworecord", "variance", "memory", "judged", "lately", "settling")


# of the estimate of a radius: see `intervals._slow`; what the guard counts; the radius issued last
ESTIMATE = (
    *("scale", "multiple", "multiple~", "number", "learnt", "square", "product", "before"),
    *("seen", "misses", "now"),
)
ISSUED = ("said", "radius", "around")  # by the estimate, with the guard, and around what


def triangle(n: int) -> int:
    """Numbers of a symmetric matrix."""
    return n * (n + 1) // 2


def entry(n: int, i: int, j: int) -> int:
    """Where an entry of a symmetric matrix is."""
    i, j = min(i, j), max(i, j)
    return i * n - i * (i - 1) // 2 + j - i


def diagonal(values: Any) -> Array:
    """A diagonal matrix as its upper triangle."""
    n = len(values)
    out = np.zeros(triangle(n))
    for i, value in enumerate(values):
        out[entry(n, i, i)] = value
    return out


def _filters(built: State) -> tuple[FilterPlan, ...]:
    f, found = built.filters, []
    for log, row in f.kinds.tolist():
        model = f.models[row]
        found.append(
            FilterPlan(
                bool(log),
                row,
                float(model[OF_MODEL.level]),
                float(model[OF_MODEL.seasons]),
                float(model[OF_MODEL.damping]),
                bool(model[OF_MODEL.slope] >= 0.0),
                float(model[OF_MODEL.memory]),
                bool(model[OF_MODEL.deviation] > 0.0),
            )
        )
    return tuple(found)


def _regressions(built: State) -> tuple[RegressionPlan, ...]:
    from stillpoint.series._autoregression import OF

    r, found = built.regressions, []
    for a, spec in enumerate(r.specs.tolist()):
        n, offset = spec[OF.size], spec[OF.offset]
        prior = r.covariances[offset : offset + n * n].reshape(n, n).diagonal()
        found.append(
            RegressionPlan(
                tuple(r.lags[a, : spec[OF.lags]].tolist()),
                spec[OF.difference],
                spec[OF.seasonal],
                spec[OF.start],
                float(r.rates[a]),
                n,
                tuple(prior.tolist()),
            )
        )
    return tuple(found)
