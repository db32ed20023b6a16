"""Names of the experts, for people."""

from stillpoint.series._scale import BY
from stillpoint.series._state import State
from stillpoint.series.layout import models
from stillpoint.series.pool import NAMES, Pool, Regression


def names(pool: Pool, state: State) -> list[str]:
    """Names of the experts of a state, in their order."""
    logs = bool(state.clock[BY.logs])
    seasons = state.filters.smooth.size > 0
    kept = [f"{m:g} rounds ago" for m in state.periods]
    used = models(pool)
    filters = [_logged(NAMES[used[model]], log) for log, model in state.filters.kinds]
    wanted = [r for r in pool.regressions if seasons or not r.products]
    lags = [_logged(_regression(r), r.log and logs) for r in wanted]
    phases = [
        _logged(f"phases {'with memory ' * p.memory}{p.level:g}/{p.phase:g}", p.log and logs)
        for p in pool.phases
    ]
    effects = [_logged("effects of features", log) for log in state.effects.logs]
    return _distinct(["last value", *kept, *filters, *lags, *phases, *effects])


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
