"""A case for everything that can be saved: how to build it and how a round is opened and closed.

`python tests/persisted.py FILES OUT` plays on what it finds in the folder FILES and writes the
plays to OUT: another process.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import stillpoint as sp
from stillpoint import forecasters
from stillpoint.domains import Ball, Simplex
from stillpoint.kernels import OU, HorizonFree, Matern32
from stillpoint.lab import baselines
from stillpoint.lab.baselines import conformal
from stillpoint.losses import Absolute, Squared
from stillpoint.potentials import ParameterFree

PLAYED, FURTHER = 37, 50
# no generator, no libm: the same anywhere
STREAM = 1e-3 * np.array([(7919 * t * (t + 11)) % 1999 - 999 for t in range(1, 400)])


class Case(NamedTuple):
    """How to build a learner, open round t of a stream (which returns the play) and close it."""

    build: Any
    open: Any
    close: Any


def y(t):
    return float(STREAM[t] + 0.1 * (t % 7))


def x(t):
    return STREAM[2 * t : 2 * t + 2]


def g(t):
    return 0.7 * STREAM[t : t + 2]


def day(t):
    return np.datetime64("2024-01-01") + t


def gradients(build):
    return Case(
        build, lambda learner, t: learner.predict(), lambda learner, t: learner.update(g(t))
    )


def shown(build):
    """Learners that must be shown the losses."""
    return Case(
        build,
        lambda learner, t: learner.predict(),
        lambda learner, t: learner.update_loss(Squared().on(g(t)[None])[0]),
    )


def series(build):
    return Case(
        build, lambda learner, t: learner.predict(), lambda learner, t: learner.update(y(t))
    )


def contexts(build, target=y):
    return Case(
        build,
        lambda learner, t: learner.predict(x(t)),
        lambda learner, t: learner.update(x(t), target(t)),
    )


def scores(build):
    return Case(
        build, lambda learner, t: learner.predict(), lambda learner, t: learner.update(abs(y(t)))
    )


def label(t):
    return (t * t + t // 4) % 3


def keys(t):
    return [f"s{i}" for i in range(t % 3, 5)] + [(1 << 70) + t % 2, t % 4]


def named(t):
    row = {"a": float(STREAM[t]), ("b", 1): float(STREAM[t + 1]), 3: float(t % 5)}
    return {key: value for i, (key, value) in enumerate(row.items()) if (t + i) % 4}


SWORD = {"horizon": 100, "lipschitz": 9.0, "smoothness": 1.0, "radius": 1.0}
CORE = {
    "Anomalies": Case(
        lambda: sp.Anomalies(0.05, forecaster=sp.VariationForecaster()),
        lambda alerts, t: [alerts.score(y(t)), alerts.alarms],
        lambda alerts, t: alerts.update(y(t)),
    ),
    "Changes": Case(
        lambda: sp.Changes(50),
        lambda changes, t: [changes.evidence, len(changes.records)],
        lambda changes, t: changes.update(y(t) + 3.0 * (t > 60)),
    ),
    "Directional": gradients(lambda: sp.Directional(2, lipschitz=1.0, kernel=OU(0.1))),
    "ExpConcave": gradients(
        lambda: sp.ExpConcave(2, kernel=OU(0.1), curvature=0.25, domain=Ball(1.0))
    ),
    "Fleet": Case(
        lambda: sp.Fleet(sp.Tracker, dim=2),
        lambda fleet, t: fleet.predict(keys(t)),
        lambda fleet, t: fleet.update(keys(t), np.stack([g(t + i) for i in range(len(keys(t)))])),
    ),
    "Forecaster": series(sp.KernelForecaster),
    "IntervalTracker": Case(
        lambda: sp.IntervalTracker(coverage=(0.5, 0.9)),
        lambda band, t: band.predict(float(STREAM[t])),
        lambda band, t: band.update(y(t)),
    ),
    "KernelFTRL": gradients(
        lambda: sp.KernelFTRL(2, kernel=HorizonFree(), potential=ParameterFree(2.0), lipschitz=3.0)
    ),
    "KernelVAW": series(lambda: sp.KernelVAW(kernel=Matern32(0.3))),
    "MultiScale": gradients(lambda: sp.MultiScale(2, domain=Ball(2.0))),
    "QuantileTracker": series(lambda: sp.QuantileTracker(level=0.9)),
    "SeriesForecaster": Case(
        lambda: sp.Forecaster(3, season=[7], features=["a"], pool="small"),
        lambda model, t: model.predict(STREAM[t : t + 2, None], horizon=2),
        lambda model, t: model.update(y(t)),
    ),
    "StronglyConvex": gradients(
        lambda: sp.StronglyConvex(2, kernel=sp.kernels.Spline(1.0), curvature=1.0)
    ),
    "Tracker": gradients(lambda: sp.Tracker(2, certify=OU(0.01))),
    "TrackingForecaster": contexts(lambda: sp.TrackingForecaster(2, loss=Absolute())),
    "TrackingProbabilities": contexts(
        lambda: forecasters.TrackingProbabilities(2, classes=3), label
    ),
    "TrackingVAW": contexts(lambda: sp.TrackingVAW(2, kernel=OU(0.1))),
    "VariationForecaster": series(sp.VariationForecaster),
    "baselines.Ader": gradients(lambda: baselines.Ader(2, horizon=100, lipschitz=1.0, radius=1.0)),
    "baselines.AdaNormalHedge": gradients(
        lambda: baselines.AdaNormalHedge(
            [
                baselines.OGD(2, step=0.1),
                sp.Tracker(2),
                baselines.Hedge([baselines.KT(2, lipschitz=1.0)]),
            ]
        )
    ),
    "baselines.AFLH": gradients(lambda: baselines.AFLH(2, horizon=100, lipschitz=1.0, radius=1.0)),
    "baselines.CBCE": gradients(lambda: baselines.CBCE(2, lipschitz=1.0, radius=1.0)),
    "baselines.FLH": shown(
        lambda: baselines.FLH(2, lipschitz=9.0, radius=1.0, curvature=0.1, kind="exp-concave")
    ),
    "baselines.FLHVAW": contexts(lambda: baselines.FLHVAW(2, reach=2.0)),
    "baselines.OEGD": shown(lambda: baselines.OEGD(2, step=0.3, domain=Ball(1.0))),
    "baselines.OptimisticOGD": gradients(lambda: baselines.OptimisticOGD(2, step=0.3)),
    "baselines.PSACS": shown(lambda: baselines.PSACS(2, lipschitz=9.0, radius=1.0, threshold=0.1)),
    "baselines.SACS": gradients(lambda: baselines.SACS(2, lipschitz=1.0, radius=1.0)),
    "baselines.SAOL": shown(lambda: baselines.SAOL(2, lipschitz=9.0, radius=1.0, surrogate=False)),
    "baselines.Scream": gradients(
        lambda: baselines.Scream(2, horizon=100, lipschitz=1.0, radius=1.0)
    ),
    "baselines.SwordBest": shown(lambda: baselines.SwordBest(2, **SWORD)),
    "baselines.SwordPP": gradients(lambda: baselines.SwordPP(2, **SWORD)),
    "baselines.SwordSmallLoss": shown(lambda: baselines.SwordSmallLoss(2, **SWORD)),
    "baselines.SwordVariation": shown(lambda: baselines.SwordVariation(2, **SWORD)),
    "baselines.BGD": shown(
        lambda: baselines.BGD(2, horizon=90, radius=1.0, lipschitz=2.0, largest=2.0)
    ),
    "baselines.Bandit": shown(lambda: baselines.Bandit(sp.Tracker(2), points=2, seed=1)),
    "baselines.PBGD": shown(
        lambda: baselines.PBGD(2, horizon=90, radius=1.0, lipschitz=2.0, points=2)
    ),
    "baselines.COCOB": gradients(lambda: baselines.COCOB(2, lipschitz=1.0)),
    "baselines.COCOBBackprop": gradients(lambda: baselines.COCOBBackprop(2)),
    "baselines.DiscountedFTRL": gradients(
        lambda: baselines.DiscountedFTRL(2, discount=0.9, domain=Simplex())
    ),
    "baselines.FreeGrad": gradients(lambda: baselines.FreeGrad(2, lipschitz=1.0)),
    "baselines.Hedge": gradients(
        lambda: baselines.Hedge(
            [sp.MultiScale(2), baselines.OGD(2, step=0.1)], prior=[1.0, 2.0], loss_range=1.0
        )
    ),
    "baselines.AdaptMLProd": gradients(
        lambda: baselines.AdaptMLProd([sp.Tracker(2), baselines.OGD(2, step=0.1)], loss_range=1.0)
    ),
    "baselines.MSMWC": gradients(
        lambda: baselines.MSMWC(
            [baselines.OGD(2, step=0.5), baselines.OGD(2, step=0.1)], loss_range=1.0, rates=3
        )
    ),
    "baselines.OptimisticHedge": gradients(
        lambda: baselines.OptimisticHedge([sp.MultiScale(2), baselines.OGD(2, step=0.1)])
    ),
    "baselines.Prod": gradients(
        lambda: baselines.Prod(
            [baselines.OGD(2, step=0.5), sp.Tracker(2)], prior=[1.0, 2.0], loss_range=1.0
        )
    ),
    "baselines.KT": gradients(lambda: baselines.KT(2, lipschitz=1.0)),
    "baselines.OGD": gradients(lambda: baselines.OGD(2, step=0.5, schedule="scale-free")),
    "baselines.SparseHaar": gradients(lambda: baselines.SparseHaar(2, lipschitz=1.0)),
    "conformal.ACI": scores(conformal.ACI),
    "conformal.Betting": scores(conformal.Betting),
    "conformal.DecayingStep": scores(conformal.DecayingStep),
    "conformal.SAOCP": scores(conformal.SAOCP),
    "conformal.SFOGD": scores(conformal.SFOGD),
    "conformal.WindowACI": scores(lambda: conformal.WindowACI(window=20)),
    "Wrapped": contexts(lambda: sp.IntervalTracker().wrap(sp.TrackingForecaster(2))),
}
# in tests/data/format1
FIRST_FORMAT = (
    "Tracker",
    "MultiScale",
    "Forecaster",
    "IntervalTracker",
    "TrackingForecaster",
    "Fleet",
)


def river_faces():
    """River's faces; imported late, since the package is optional."""
    from stillpoint.estimators import river

    def predict(model, t):
        return model.predict_one(named(t))

    labels = ["on", "off", 7]
    return {
        "river.Anomalies": Case(
            lambda: river.Anomalies(
                0.05, regressor=river.TrackingRegressor(), period=7, grace_period=5
            ),
            lambda model, t: [model.score_one(named(t), y(t)), model.alarms],
            lambda model, t: model.learn_one(named(t), y(t)),
        ),
        "river.Changes": Case(
            lambda: river.Changes(every=50),
            lambda model, t: [model.drift_detected, model.warning_detected, model.evidence],
            lambda model, t: model.update(y(t) + 3.0 * (t > 60)),
        ),
        "river.TrackingRegressor": Case(
            river.TrackingRegressor, predict, lambda model, t: model.learn_one(named(t), y(t))
        ),
        "river.TrackingClassifier": Case(
            lambda: river.TrackingClassifier(absent="zero"),
            lambda model, t: [
                p for _, p in sorted(model.predict_proba_one(named(t)).items(), key=str)
            ],
            lambda model, t: model.learn_one(named(t), labels[label(t)]),
        ),
        "river.SeriesForecaster": Case(
            lambda: river.Forecaster(3, season=[7], features=("a",), time="when", pool="small"),
            lambda model, t: model.forecast(2, [{"a": x(t)[0], "when": day(t)}, {"a": x(t)[1]}]),
            lambda model, t: model.learn_one(y(t), {"a": float(STREAM[t]), "when": day(t)}),
        ),
    }


def sklearn_faces():
    """Scikit-learn's faces, alike."""
    from stillpoint.estimators import sklearn

    def rows(t):
        return x(t)[None]

    labels = np.array(["dull", "fair", "wet"])
    return {
        "sklearn.TrackingRegressor": Case(
            lambda: sklearn.TrackingRegressor(loss=Absolute()).fit(rows(0), [y(0)]),
            lambda model, t: model.predict(rows(t)),
            lambda model, t: model.partial_fit(rows(t), [y(t)]),
        ),
        "sklearn.TrackingClassifier": Case(
            lambda: sklearn.TrackingClassifier().partial_fit(rows(0), labels[:1], classes=labels),
            lambda model, t: model.predict_proba(rows(t)),
            lambda model, t: model.partial_fit(rows(t), labels[[label(t)]]),
        ),
    }


def gpu_faces():
    """Device fleets, alike."""
    import torch

    from stillpoint.fleet.gpu import DeviceFleet

    def values(t):
        return torch.tensor([y(t), y(t + 1), y(t + 2)], dtype=torch.float64)

    return {
        "gpu.DeviceFleet": Case(
            lambda: DeviceFleet(sp.IntervalTracker, 3, device="cpu", coverage=0.8),
            lambda fleet, t: torch.cat(fleet.predict(values(t + 3))),
            lambda fleet, t: fleet.update(values(t)),
        )
    }


# Learners of the literature are many and of a few kinds: one in five is played each time.
LATER = {name for name in CORE if name.startswith(("baselines.", "conformal."))}
LATER -= {*sorted(LATER)[::5]}


def parameters(names):
    """Names as parameters of a test, which is slow for learners that may wait."""
    import pytest  # not where files are loaded by another Python

    return [pytest.param(name, marks=[pytest.mark.slow] * (name in LATER)) for name in names]


def play(case, learner, first, last):
    """The plays of the rounds from first to last, as one row of numbers."""
    plays = []
    for t in range(first, last):
        plays.append(np.ravel(np.asarray(case.open(learner, t), dtype=float)))
        case.close(learner, t)
    return np.concatenate(plays)


def all_cases(names):
    """The cases of these names."""
    found = dict(CORE)
    for mark, more in (("gpu.", gpu_faces), ("river.", river_faces), ("sklearn.", sklearn_faces)):
        if any(name.startswith(mark) for name in names):
            found |= more()
    return {name: found[name] for name in names}


def main(files, out):
    """Load every file `NAME.N` of a folder, N being the next round, and write what is played in it
    and after it.
    """
    paths = sorted(Path(files).iterdir())
    cases = all_cases([path.name.rpartition(".")[0] for path in paths])
    plays = {}
    for path in paths:
        name, _, first = path.name.rpartition(".")
        plays[path.name] = play(cases[name], sp.load(path), int(first), PLAYED + FURTHER)
    np.savez(out, **plays)


if __name__ == "__main__":
    main(*sys.argv[1:])
