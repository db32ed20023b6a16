"""Intervals around our forecasts, beside conformal baselines tuned in hindsight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.real.players import OURS
from stillpoint.lab.real.prequential import best_setting, scored_from
from stillpoint.losses import Pinball

# rounds at the start, where residuals are those of a forecaster that knows nothing yet
SKIPPED = 20
WINDOW = 200
SHORTEST = 500


@dataclass(frozen=True)
class Band:
    """How one method's intervals did on the residuals of one stream, the first quarter unscored.

    Attributes
    ----------
    pinball
        Mean pinball loss of the radius, in the unit of the target.
    width
        Mean width.
    local
        The largest distance of the coverage over 200 rounds in a row from the one asked for.
    starred
        The setting was chosen in hindsight.
    """

    stream: str
    method: str
    rounds: int
    pinball: float
    coverage: float
    width: float
    local: float
    us: float
    setting: str = ""
    starred: bool = False


def bands(stream: str, forecasts: Array, y: Array, coverage: float = 0.9) -> list[Band]:
    """Every method on the residuals y − forecasts, which start at round 20."""
    from stillpoint.intervals import IntervalTracker

    forecasts, y = forecasts[SKIPPED:], y[SKIPPED:]
    scores = np.abs(y - forecasts)
    first = scored_from(scores)
    largest = float(scores.max())
    if not largest > 0.0:
        raise ValueError(
            "forecasts must err somewhere: got residuals of 0 throughout; intervals have nothing to"
            " learn"
        )
    IntervalTracker(coverage).track(forecasts[:2], y[:2])  # compiles
    start = perf_counter()
    lo, hi = IntervalTracker(coverage).track(forecasts, y)
    us = 1e6 * (perf_counter() - start) / scores.size
    results = [_band(stream, OURS, _half(lo, hi), scores, first, coverage, us)]
    for method, labels, runs in _peers(scores, coverage):
        runs[0](scores[:2])
        start = perf_counter()
        radii = [run(scores) for run in runs]
        us = 1e6 * (perf_counter() - start) / scores.size / len(runs)
        every = [
            _band(stream, method, r, scores, first, coverage, us, label, True)
            for r, label in zip(radii, labels, strict=True)
        ]
        results.append(every[best_setting(np.array([each.pinball for each in every]))])
    return results


Runs = tuple[str, list[str], list[Callable[[Array], Array]]]


def _peers(scores: Array, coverage: float) -> list[Runs]:
    """Method, settings and a fresh run for each; steps are in units of the scores."""
    from stillpoint.lab.baselines import conformal

    middle, largest = float(np.median(scores[scores > 0.0])), float(scores.max())
    steps = [middle * 2.0**k for k in range(-12, 9)]
    reaches = [largest * 2.0**k for k in range(-8, 1)]
    shares = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
    return [
        _runs("ACI*", steps, "step {:.3g}", lambda v: conformal.ACI(coverage, step=v).track),
        _runs(
            "decaying step*",
            steps,
            "step {:.3g}",
            lambda v: conformal.DecayingStep(coverage, step=v).track,
        ),
        _runs(
            "SF-OGD*", reaches, "D = {:.3g}", lambda v: conformal.SFOGD(coverage, largest=v).track
        ),
        _runs(
            "SAOCP*", reaches, "D = {:.3g}", lambda v: conformal.SAOCP(coverage, largest=v).track
        ),
        _runs(
            "betting*",
            steps,
            "wealth {:.3g}",
            lambda v: conformal.Betting(coverage, wealth=v).track,
        ),
        _runs(
            "window ACI*",
            shares,
            "step {:.3g}",
            lambda v: conformal.WindowACI(coverage, step=v).track,
        ),
    ]


def _runs(
    method: str,
    values: Sequence[float],
    label: str,
    make: Callable[[float], Callable[[Array], Array]],
) -> Runs:
    # built when run, so that the two rounds that compile leave no trace
    return (
        method,
        [label.format(v) for v in values],
        [lambda scores, v=v: make(v)(scores) for v in values],  # type: ignore[misc]
    )


def _half(lo: Array, hi: Array) -> Array:
    """Radii; −∞ for the empty set."""
    with np.errstate(invalid="ignore"):
        return np.where(lo > hi, -np.inf, 0.5 * (hi - lo))


def _band(
    stream: str,
    method: str,
    radii: Array,
    scores: Array,
    first: int,
    coverage: float,
    us: float,
    setting: str = "",
    starred: bool = False,
) -> Band:
    """Score the radii of one method.

    Hits count as played. For loss and width, radius ∞ counts as the largest score and the empty set
    as 0, so that both stay finite.
    """
    hits = (scores <= radii)[first:].astype(np.float64)
    r, s = np.maximum(np.where(radii == np.inf, scores.max(), radii), 0.0)[first:], scores[first:]
    pinball = np.mean(Pinball(coverage).value(r, s))
    span = min(WINDOW, hits.size)
    sums = np.concatenate([[0.0], np.cumsum(hits)])
    local = np.abs((sums[span:] - sums[:-span]) / span - coverage).max()
    figures = float(pinball), float(hits.mean()), float(2.0 * r.mean()), float(local)
    return Band(stream, method, int(scores.size), *figures, us, setting, starred)
