"""Any public learner, any sequence of calls, any arguments: a call raises ValueError, or it is as
if nobody had made it.

The calls that were accepted are made again on a second learner. Its answers and its state must be
those of the first, to the bit: so no call that was refused has left a trace, and nothing else has
either.
"""

import inspect
import warnings
from dataclasses import dataclass

import numpy as np

import persisted
import stillpoint as sp
from source import Source
from stillpoint import forecasters
from stillpoint.domains import Ball, Box, HalfSpace, Simplex
from stillpoint.kernels import OU, Constant, Gaussian, HorizonFree, Matern52, OUMixture, Spline
from stillpoint.lab import baselines, online
from stillpoint.learners import ProximalDescent
from stillpoint.potentials import AdaptiveQuadratic, Erfi, FreeGrad, Quadratic


@dataclass(frozen=True)
class Momentum(online.Base):
    """A part of one's own: v ← v/2 + g, x ← Π(x − v/10)."""

    def move(self, bank, rule, i, g):
        """Step."""
        bank.y[i] = 0.5 * bank.y[i] + g
        bank.x[i] -= 0.1 * bank.y[i]


MORE = {
    "Directional diagonal": lambda: sp.Directional(
        2, lipschitz=1e100, kernel=OU(0.1), norms="diagonal"
    ),
    "Directional scale-free": lambda: sp.Directional(2, kernel=Spline(1.0), domain=Box(-1.0, 0.5)),
    "ExpConcave simplex": lambda: sp.ExpConcave(3, kernel=OU(0.1), curvature=1.0, domain=Simplex()),
    "ExpConcave dense": lambda: sp.ExpConcave(
        2, kernel=Gaussian(3.0), curvature=1.0, domain=Box(-1.0, 0.5)
    ),
    "ExpConcave free": lambda: sp.ExpConcave(1, kernel=Matern52(0.1), curvature=1.0),
    "Fleet of quantiles": lambda: sp.Fleet("QuantileTracker", level=(0.1, 0.5, 0.9)),
    "Fleet of intervals": lambda: sp.Fleet("IntervalTracker", on_bad="skip"),
    "Fleet of late intervals": lambda: sp.Fleet("IntervalTracker", delay=2, on_bad="skip"),
    "Fleet of forecasters": lambda: sp.Fleet("KernelForecaster"),
    "Fleet of scales": lambda: sp.Fleet("MultiScale", dim=1, on_bad="skip"),
    "KernelForecaster of kernels": lambda: sp.KernelForecaster(
        [OU(0.1), Spline()], ridges=[1.0, 100.0], share=0.01
    ),
    "KernelForecaster, exponential": lambda: sp.KernelForecaster(
        aggregation="exponential", share=0.1
    ),
    "Forecaster of two coverages": lambda: sp.Forecaster(
        4, season=None, coverage=(0.5, 0.9), pool="small"
    ),
    "IntervalTracker, two sides": lambda: sp.IntervalTracker(two_sided=True, empty=False),
    "IntervalTracker, late": lambda: sp.IntervalTracker(delay=2),
    "IntervalTracker, late, two sides": lambda: sp.IntervalTracker(delay=1, two_sided=True),
    "KernelFTRL dense": lambda: sp.KernelFTRL(1, kernel=Gaussian(3.0), potential=Erfi()),
    "KernelFTRL proximal": lambda: sp.KernelFTRL(
        2, kernel=OU(0.1), potential=ProximalDescent(10.0)
    ),
    "KernelFTRL half-space": lambda: sp.KernelFTRL(
        2, kernel=OU(0.1), domain=HalfSpace([1.0, 1.0], -0.5), potential=FreeGrad()
    ),
    "KernelFTRL growing": lambda: sp.KernelFTRL(
        1, lipschitz=1.0, kernel=Spline(), kernel_bound=9.0, potential=Quadratic(0.1)
    ),
    "KernelFTRL constant": lambda: sp.KernelFTRL(
        2, kernel=Constant(), potential=AdaptiveQuadratic(1.0), domain=Simplex()
    ),
    "KernelVAW grid": lambda: sp.KernelVAW(
        kernel=OUMixture((1.0, 0.1, 0.01), (1.0, 1.0, 1.0)), outputs=2
    ),
    "KernelVAW dense": lambda: sp.KernelVAW(kernel=Gaussian(3.0), ridge=1e-6),
    "KernelVAW spline": lambda: sp.KernelVAW(ridge=1e3),
    "MultiScale told": lambda: sp.MultiScale(1, lipschitz=1.0),
    "QuantileTracker of several": lambda: sp.QuantileTracker(level=(0.05, 0.5, 0.95)),
    "StronglyConvex dense": lambda: sp.StronglyConvex(
        1, kernel=Gaussian(2.0), curvature=1e-3, ridge=10.0, domain=Ball(2.0)
    ),
    "Tracker spline": lambda: sp.Tracker(1, certify=Spline()),
    "Tracker simplex": lambda: sp.Tracker(3, domain=Simplex(), certify=Gaussian(5.0)),
    "TrackingForecaster, holes": lambda: sp.TrackingForecaster(3, missing=True),
    "TrackingForecaster of quantiles": lambda: sp.TrackingForecaster(
        1, loss=sp.losses.Pinball(0.8)
    ),
    "TrackingProbabilities, two": lambda: forecasters.TrackingProbabilities(1),
    "TrackingVAW on contexts": lambda: sp.TrackingVAW(
        2, kernel=OU(0.1), context=sp.kernels.GaussianContext(1.0)
    ),
    "TrackingVAW horizon-free": lambda: sp.TrackingVAW(2, kernel=HorizonFree(), ridge=1e-3),
    "Ader shown losses": lambda: baselines.Ader(
        2, horizon=9, lipschitz=9.0, radius=1.0, surrogate=False
    ),
    "AFLH shown losses": lambda: baselines.AFLH(
        1, horizon=9, lipschitz=9.0, radius=1.0, surrogate=False
    ),
    "Bandit of one value": lambda: baselines.Bandit(
        baselines.OGD(2, step=0.1, domain=Ball(1.0)), seed=3
    ),
    "Bandit told a bound": lambda: baselines.Bandit(
        baselines.Ader(1, horizon=9, lipschitz=1.0, radius=1.0), points=2, explore=0.1
    ),
    "BGD of two values": lambda: baselines.BGD(1, horizon=9, radius=1.0, lipschitz=1e100, points=2),
    "Ensemble": lambda: online.Ensemble(
        2,
        schedule=online.CompactCover(online.ScaleFree(step=1.0)),
        meta=online.CoinBetting(range=4.0),
        domain=Ball(1.0),
        lipschitz=2.0,
    ),
    "Ensemble of one's own parts": lambda: online.Ensemble(
        2, schedule=online.Pool([Momentum(), online.Descent(0.1)]), meta=online.NormalHedge(4.0)
    ),
    "Ensemble of gradients ahead": lambda: online.Ensemble(
        1,
        schedule=online.Pool([online.ExtraDescent(0.1), online.ExtraDescent(1.0)]),
        meta=online.ExponentialWeights(0.1),
        domain=Box(-1.0, 2.0),
        gradients="own",
        losses="values",
        hints="best",
        lipschitz=9.0,
        penalty=0.1,
        order=2,
    ),
    "FLH of means": lambda: baselines.FLH(1, lipschitz=9.0, radius=1.0, curvature=1.0),
    "SACS of large gradients": lambda: baselines.SACS(1, lipschitz=1e100, radius=1e10, offset=0.0),
    "SAOL of large gradients": lambda: baselines.SAOL(2, lipschitz=1e100, radius=1e-10),
    "Hedge of Newtons": lambda: baselines.Hedge(
        [
            baselines.OGD(1, step=0.1),
            sp.ExpConcave(1, kernel=OU(0.1), curvature=1.0),
            sp.KernelFTRL(1, kernel=Spline()),
        ]
    ),
}
BUILDERS = {name: case.build for name, case in persisted.CORE.items()} | MORE
NAMES = sorted(BUILDERS)
# not calls that a user makes on a running learner, or such as check nothing by their word
PASSED = {
    "arrays",
    "restore",
    "migrated",
    "take",
    "answer",
    "wrap",
    "learner",
    "adopt",
    "target",
    "moment",
}
STREAMS = ("track", "peek_rows")
# plays of these may be infinite, and say so
UNBOUNDED = (
    "IntervalTracker",
    "QuantileTracker",
    "Forecaster",
    "Wrapped",
    "Fleet",
    "ACI",
    "Betting",
    "WindowACI",
    "SAOCP",
    "SFOGD",
    "DecayingStep",
)
# their documentation says that the rounds before a refused one have been played
PARTIAL = {("TrackingVAW", "track")}
KEYS = ("a", "b", "c", 1, 2, -5, 10**30, ("t", 1))
CALLS = 12


class Found(Exception):
    """What a fuzzer looks for."""


def methods(kind: type) -> list[tuple[str, list[str]]]:
    """Public methods of a class and the names of their parameters."""
    found = []
    for name, member in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in PASSED:
            found.append(
                (name, [p.name for p in inspect.signature(member).parameters.values()][1:])
            )
    return found


METHODS: dict[type, list[tuple[str, list[str]]]] = {}


def argument(source: Source, learner, method: str, name: str):
    """A value for the parameter of that name: of its kind, or of any."""
    style = source.byte()
    if style < 24:
        return source.odd()
    dim, rounds = getattr(learner, "dim", 1), source.byte() % 6
    if isinstance(learner, sp.Fleet):
        rounds = len(KEYS[:3])
        dim = learner._config.get("dim", 1)
    if isinstance(learner, forecasters.KernelVAW | sp.KernelVAW):
        dim = learner.outputs
    stream = method in STREAMS
    wrong = style < 32
    match name:
        case "g":
            return source.vector(dim + wrong)
        case "values":
            return source.vector(learner.points + wrong)
        case "u" if style < 200:
            return source.vector(dim + wrong)
        case "first" | "last":
            return source.byte() % 6
        case "loss":
            return sp.losses.Squared().on(np.nan_to_num(source.vector(dim + wrong))[None, :])[0]
        case "x":
            return source.vector((2 if type(learner).__name__ == "Wrapped" else dim) + wrong)
        case "X":
            return (
                source.vector((3 + wrong) * dim).reshape(3 + wrong, dim)
                if style < 200
                else source.vector(rounds)
            )
        case "y" | "scores" | "forecasts" | "times" if stream:
            values = source.vector(
                3 + wrong if "X" in dict(METHODS[type(learner)])[method] or style < 200 else rounds
            )
            if name == "times":
                values = np.cumsum(np.abs(values)) + getattr(learner, "time", 0.0)
            return values if dim == 1 or name != "y" else np.stack([values] * dim, axis=1)
        case "keys":
            chosen = [KEYS[(style + i) % len(KEYS)] for i in range(rounds)]
            return chosen if not wrong else [*chosen, *chosen[:1]]
        case "feedback":
            return (
                source.vector(rounds * dim + wrong).reshape(-1, dim)
                if not wrong and dim > 1
                else source.vector(rounds)
            )
        case "forecasts":
            return source.vector(rounds + wrong)
        case "time":
            if style < 160:
                return None
            return (
                getattr(learner, "time", 0.0) + source.number() if style < 220 else source.number()
            )
        case "y" if "Probabilities" in type(learner).__name__:
            return source.byte() % 4
        case "y" if dim > 1 and type(learner) is sp.KernelVAW:
            return source.vector(dim + wrong)
        case "dim":
            return source.byte() % 5
        case "index" | "switches":
            return source.byte() % 5 - 1
        case "horizon":
            return source.byte() % 5 if style < 200 else None
        case "intervals":
            return bool(style % 2)
        case "norms":
            return source.vector(rounds)
        case "group":
            return bool(style % 2)
    return source.number()


def plain(value):
    """Something that is equal for equal answers, bit by bit."""
    if isinstance(value, np.ndarray):
        return (
            value.dtype.str,
            value.shape,
            value.tobytes() if value.dtype.kind != "O" else repr(value),
        )
    if isinstance(value, float):
        return np.float64(value).tobytes()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return (
        value
        if value is None or isinstance(value, int | str | bool | np.generic)
        else repr(type(value))
    )


def sound(learner, method: str, answer) -> bool:
    """Whether no play is NaN, nor infinite where nobody said so. Fleets say NaN for keys they
    rejected.
    """
    if method not in (*STREAMS, "predict", "peek") or (
        type(learner) is sp.Fleet and learner.on_bad == "skip"
    ):
        return True
    if isinstance(learner, sp.Anomalies | sp.Changes):
        return True  # records, and p-values, NaN of rows that are missing
    values = np.concatenate(
        [
            np.ravel(np.asarray(part, dtype=float))
            for part in (answer if isinstance(answer, tuple) else (answer,))
        ]
    )
    return (
        not np.isnan(values).any()
        if type(learner).__name__ in UNBOUNDED
        else bool(np.isfinite(values).all())
    )


def one(data: bytes) -> None:
    """One execution: a learner, up to a dozen calls, and those that were accepted again on
    another.
    """
    source = Source(data)
    name = source.pick(NAMES)
    learner = BUILDERS[name]()
    kind = type(learner)
    if kind not in METHODS:
        METHODS[kind] = methods(kind)
    accepted, answers, story = [], [], []
    for _ in range(CALLS):
        if source.over:
            break
        method, parameters = source.pick(METHODS[kind])
        arguments = {each: argument(source, learner, method, each) for each in parameters}
        story.append((method, arguments))
        try:
            answer = getattr(learner, method)(**arguments)
        except ValueError:
            if (kind.__name__, method) in PARTIAL:
                return
            continue
        except NotImplementedError:
            continue
        except Exception as error:
            raise Found(f"{name}: {type(error).__name__}: {error}\n{tell(story)}") from error
        if not sound(learner, method, answer):
            raise Found(f"{name}: {answer}\n{tell(story)}")
        accepted.append((method, arguments))
        answers.append(plain(answer))
    if len(accepted) == len(story):
        return
    twin = BUILDERS[name]()
    for (method, arguments), answer in zip(accepted, answers, strict=True):
        try:
            again = plain(getattr(twin, method)(**arguments))
        except ValueError as error:
            raise Found(
                f"{name}: {method} was accepted, and without the refused calls is not:"
                f" {error}\n{tell(story)}"
            ) from error
        if again != answer:
            raise Found(
                f"{name}: {method} answers otherwise without the refused calls\n{tell(story)}"
            )
    try:
        left, right = plain(learner.arrays()), plain(twin.arrays())
    except ValueError:  # keys that files cannot hold
        return
    if left != right:
        differ = [key for key in {**left, **right} if left.get(key) != right.get(key)]
        raise Found(f"{name}: refused calls have changed {differ}\n{tell(story)}")


def tell(story) -> str:
    """The calls, to be made again by hand."""
    return "\n".join(
        f"  .{method}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"
        for method, arguments in story
    )


def setup() -> None:
    """Warnings are no findings: overflow on the way to a number that is checked afterwards."""
    warnings.simplefilter("ignore")
