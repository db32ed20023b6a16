"""Names of the experts, for people."""

from stillpoint.series.layout import Scale, build, models
from stillpoint.series.pool import NAMES, Pool, Regression


def names(pool: Pool, periods: tuple[float, ...], logs: bool) -> list[str]:
    """Names of the experts, in their order."""
    state = build(pool, periods, 1, Scale(1.0, 1.0, 0.0, 1.0, logs))
    kept = [f"{m:g} rounds ago" for m in state.periods]
    used = models(pool)
    filters = [_logged(NAMES[used[model]], log) for log, model in state.filters.kinds]
    wanted = [r for r in pool.regressions if periods or not r.products]
    lags = [_logged(_regression(r), r.log and logs) for r in wanted]
    phases = [
        _logged(f"phases {'with memory ' * p.memory}{p.level:g}/{p.phase:g}", p.log and logs)
        for p in pool.phases
    ]
    return _distinct(["last value", *kept, *filters, *lags, *phases])


def _logged(name: str, log: bool) -> str:
    return f"{name}, logarithms" if log else name


def _regression(r: Regression) -> str:
    parts = ["harmonics" if r.harmonics else "", "products" if r.products else ""]
    parts += ["waves" if r.waves else "", "season" if r.seasonal else ""]
    parts += [{0: "", 1: "differences", -1: "seasonal differences"}[r.difference]]
    near = "long" if r.lags.near is None or r.lags.near > 3 else ""
    return " ".join(["autoregression", *(part for part in [near, *parts] if part)])


def _distinct(given: list[str]) -> list[str]:
    """The names, numbered where one comes again."""
    return [
        name if name not in given[:i] else f"{name} ({given[: i + 1].count(name)})"
        for i, name in enumerate(given)
    ]
