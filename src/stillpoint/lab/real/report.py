"""The benchmark on real streams as tables and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stillpoint.lab.bench.ratios import FLOOR as LEAST
from stillpoint.lab.bench.ratios import geometric_mean, ratio
from stillpoint.lab.real.intervals import SHORTEST, SKIPPED, WINDOW, Band
from stillpoint.lab.real.players import FACTORS, HINDSIGHT, OURS
from stillpoint.lab.real.prequential import FLOOR, Score
from stillpoint.lab.streams.real import BINARY, MULTICLASS, REGRESSION
from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from stillpoint.lab.real.bench import RealBench, StreamFacts

TITLES = {REGRESSION: "Regression", BINARY: "Two classes", MULTICLASS: "More classes"}


def markdown(bench: RealBench) -> str:
    """The whole benchmark as Markdown."""
    rounds, coverage = bench.settings.get("rounds"), bench.settings.get("coverage", 0.9)
    cut = f"Streams are cut to their first {rounds} rounds, for everybody alike. " if rounds else ""
    factors = ", ".join(f"{factor:g}" for factor in FACTORS)
    intro = (
        "# Real streams\n\nData that other packages ship, played in order: predict, then learn,"
        " one round ahead with immediate labels. The first quarter of a stream is not scored."
        f" {cut}Nobody is tuned: peers run at their own defaults, river's linear models behind a"
        " StandardScaler. * marks what was chosen in hindsight, which nobody can run: the best of"
        f" the forgetting factors {factors}, on features scaled as ours are (for classes also on"
        " running standard scores, whichever did better); for intervals the best step. Constants"
        " of the library were chosen on streams marked chosen; none on those marked reported, some"
        " of which are other questions put to the same source.\n\nRegression: mean squared error"
        " over the variance of the first quarter's targets. Classes: log loss, with every"
        f" probability raised to {FLOOR:g} for everybody, and the share of errors in brackets. µs a"
        " round: predict and learn, called from Python; for starred rows, of one setting. RLS:"
        " recursive least squares; EKF: extended Kalman filter; ARF: adaptive random forest; VW:"
        f" Vowpal Wabbit. A ratio below {LEAST:g} counts as {LEAST:g} in means.\n\nIntervals:"
        f" around our forecasts, at coverage {coverage:g}, on regression streams of {SHORTEST}"
        f" rounds or more, residuals from round {SKIPPED} on. An infinite radius is scored as the"
        " largest score, an empty set as 0. Local error: the largest distance of coverage over"
        f" {WINDOW} rounds in a row from"
        f" {coverage:g}.\n\n`{bench.settings.get('command', 'stillpoint bench real')} --out DIR`"
        " makes this page, the raw scores and the figure.\n\n![loss over the best filter in"
        " hindsight](real.png)\n"
    )
    tail = ["## Notes", "", *(f"- {note}" for note in [*bench.notes, *_failures(bench)]), ""]
    return "\n".join(
        [intro, *(grid.markdown() for grid in grids(bench)), *(tail if len(tail) > 3 else [])]
    )


def grids(bench: RealBench) -> list[Grid]:
    """Targets, a summary and a table by stream for each task, intervals, and everybody's losses."""
    found = [_targets(bench)] if bench.targets() else []
    for task in TITLES:
        if any(stream.task == task for stream in bench.streams):
            found += [_best_of_others(bench, task), _all_players(bench, task)]
    if bench.bands:
        found.append(_intervals(bench))
    for task in TITLES:
        if any(stream.task == task for stream in bench.streams):
            found.append(_losses(bench, task))
    if bench.bands:
        found.append(_pinball(bench))
    found.append(_streams(bench))
    return found


def _targets(bench: RealBench) -> Grid:
    rows = [[t.name, f"{t.met} of {t.tried}", ", ".join(t.missed) or "–"] for t in bench.targets()]
    return Grid("Targets", ["target", "met on", "missed on (ratio)"], rows)


def _best_of_others(bench: RealBench, task: str) -> Grid:
    """A row a stream: ours, the best in hindsight, and the best of those that anybody can run."""
    rows = []
    for stream in streams_of(bench, task):
        own, hindsight = bench.loss(stream.name, OURS), bench.hindsight(stream.name)
        best = bench.best(stream.name, *HINDSIGHT)
        others = [
            s.player
            for s in bench.scores
            if s.stream == stream.name and s.player not in (OURS, *HINDSIGHT)
        ]
        peer = bench.best(stream.name, *others)
        cells = [_loss(bench.best(stream.name, OURS)), _named(best), _ratio(own, hindsight)]
        cells += [_named(peer), _ratio(own, peer.loss if peer else None)]
        rows.append([stream.name, stream.group, str(stream.rounds), str(stream.dim), *cells])
    header = ["stream", "group", "T", "d", "ours", "best filter*", "ours / best*"]
    header += ["best of the others", "ours / it"]
    return Grid(f"{TITLES[task]}, by stream", header, rows)


def _all_players(bench: RealBench, task: str) -> Grid:
    """A row a player: loss over the best in hindsight, and how often it is ahead of ours."""
    rows = []
    names = [stream.name for stream in streams_of(bench, task)]
    for player in players_of(bench, task):
        ratios, ahead, costs, failed = [], 0, [], 0
        for name in names:
            score = bench.best(name, player)
            best = bench.hindsight(name)
            own = bench.loss(name, OURS)
            if score is None or score.loss is None:
                failed += any(s.stream == name and s.player == player for s in bench.scores)
                continue
            if best is not None:
                ratios.append((ratio(score.loss, best), name))
            ahead += own is not None and score.loss < own
            costs.append(score.us or 0.0)
        if not ratios:
            continue
        mean, (worst, where) = geometric_mean(each for each, _ in ratios), max(ratios)
        ahead_text = "–" if player == OURS else str(ahead)
        left = f"{failed} failed" if failed else "–"
        rows.append(
            [
                player,
                str(len(ratios)),
                f"{mean:.3g}",
                f"{worst:.3g} {where}",
                ahead_text,
                f"{np.median(costs):.3g}",
                left,
            ]
        )
    header = ["player", "streams", "loss / best filter*, geometric mean", "worst"]
    header += ["ahead of ours on", "µs a round", "left out"]
    return Grid(f"{TITLES[task]}, everybody", header, rows)


def _losses(bench: RealBench, task: str) -> Grid:
    players = players_of(bench, task)
    rows = [
        [s.name, *(_loss(bench.best(s.name, player)) for player in players)]
        for s in streams_of(bench, task)
    ]
    kind = "squared loss" if task == REGRESSION else "log loss (errors)"
    return Grid(f"{TITLES[task]}, {kind} of everybody", ["stream", *players], rows, deep=True)


def _intervals(bench: RealBench) -> Grid:
    rows, coverage = [], bench.settings.get("coverage", 0.9)
    own = {band.stream: band for band in bench.bands if band.method == OURS}
    for method, mean in bench.band_means().items():
        mine = [band for band in bench.bands if band.method == method]
        worst, where = max(
            (ratio(band.pinball, own[band.stream].pinball), band.stream) for band in mine
        )
        off = np.abs([band.coverage - coverage for band in mine])
        local = np.array([band.local for band in mine])
        width = geometric_mean(ratio(band.width, own[band.stream].width) for band in mine)
        spread = [f"{off.mean():.4f}, {off.max():.4f}", f"{local.mean():.3f}, {local.max():.3f}"]
        cost = f"{np.median([band.us for band in mine]):.2g}"
        ahead = (
            "–"
            if method == OURS
            else str(sum(band.pinball < own[band.stream].pinball for band in mine))
        )
        rows.append(
            [method, f"{mean:.3f}", f"{worst:.3f} {where}", ahead, *spread, f"{width:.3f}", cost]
        )
    header = ["method", "pinball / ours, geometric mean", "worst", "ahead of ours on"]
    header += ["coverage error: mean, most", "local error: mean, most"]
    header += ["width / ours", "µs a round"]
    return Grid(f"Intervals at {coverage:g}, {len(own)} streams", header, rows)


def _pinball(bench: RealBench) -> Grid:
    methods = list(dict.fromkeys(band.method for band in bench.bands))
    table = {(band.stream, band.method): band for band in bench.bands}
    names = list(dict.fromkeys(band.stream for band in bench.bands))
    rows = [[name, *(_band(table[name, method]) for method in methods)] for name in names]
    return Grid("Intervals by stream: pinball (coverage)", ["stream", *methods], rows, deep=True)


def _streams(bench: RealBench) -> Grid:
    rows = [[s.name, s.package, s.group, s.description] for s in bench.streams]
    return Grid(
        "Streams", ["stream", "package", "group", "what it is, and what drifts"], rows, deep=True
    )


def streams_of(bench: RealBench, task: str) -> list[StreamFacts]:
    """The streams of a task."""
    return [stream for stream in bench.streams if stream.task == task]


def players_of(bench: RealBench, task: str) -> list[str]:
    """Those with a loss on some stream of the task, in order of appearance."""
    names = {stream.name for stream in streams_of(bench, task)}
    return list(
        dict.fromkeys(s.player for s in bench.scores if s.stream in names and s.loss is not None)
    )


def _failures(bench: RealBench) -> list[str]:
    """Why a player has no loss, and where."""
    where: dict[str, list[str]] = {}
    for score in bench.scores:
        if score.note and not score.missing:
            where.setdefault(f"{score.player}: {score.note}", []).append(score.stream)
    return [f"{note} ({', '.join(streams)})" for note, streams in where.items()]


def _loss(score: Score | None) -> str:
    if score is None or score.loss is None:
        return "–"
    return f"{score.loss:.4g}" + ("" if score.errors is None else f" ({score.errors:.3f})")


def _named(score: Score | None) -> str:
    return (
        "–"
        if score is None
        else f"{_loss(score)}, {score.setting if score.starred else score.player}"
    )


def _ratio(loss: float | None, other: float | None) -> str:
    return "–" if loss is None or other is None else f"{ratio(loss, other):.3f}"


def _band(band: Band) -> str:
    return f"{band.pinball:.4g} ({band.coverage:.3f})"
