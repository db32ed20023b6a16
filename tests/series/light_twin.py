"""A twin of series in rows: the parts of large pools, put together as rows are."""

import numpy as np

from stillpoint.series import _phases, layout
from stillpoint.series._scale import AT, BY
from stillpoint.series._structural import IS
from stillpoint.series.gains import shared
from stillpoint.series.layout import Scale
from stillpoint.series.light import _bands, _rounds
from stillpoint.series.light.choice import bands
from stillpoint.series.light.keys import gathered
from stillpoint.series.pool import POOLS

NONE = np.empty((0, 0))
NO_ENDS = np.empty((0, 0, 0, 0))


def doubted(values):
    """Which of the values are taken for gross errors."""
    order = [i for i in np.argsort(values, kind="stable") if not np.isnan(values[i])]
    out = []
    if len(order) < 4:
        return out
    sorted_ = [values[i] for i in order]
    width = sorted_[-2] - sorted_[1]
    if width > 0.0 and sorted_[1] - sorted_[0] > 1000.0 * width:
        out.append(order[0])
    if width > 0.0 and sorted_[-1] - sorted_[-2] > 1000.0 * width:
        out.append(order[-1])
    for i in (order[0], order[-1]):
        sizes = [abs(values[j]) for j in order if j not in (*out, i)]
        signs = {np.sign(values[j]) for j in order if j not in (*out, i)}
        if i in out or width == 0.0 or len(order) < 5 or len(signs) > 1 or 0.0 in signs:
            continue
        apart, times = max(sizes) / min(sizes), abs(values[i]) / max(sizes)
        if (times == 0.0 and apart < 1.5) or (times > 30.0 and apart < 3.0):
            out.append(i)
    return sorted(out)


class Twin:
    """One series, from named arrays; units are told after 3 and 10 rounds, and for good."""

    def __init__(self, pool, periods, horizon, coverage=0.9, level=None):
        self.pool, self.periods, self.horizon = POOLS[pool], periods, horizon
        self.bands = bands(self.pool, horizon, periods, coverage, level)
        self.state, self.values, self.rounds, self.last = None, [], 0, 0.0

    def play(self, y, opens=False, closes=False, live=True):
        out, n = np.empty((1, self.horizon)), np.zeros(1, dtype=np.int64)
        age = int(self.state.clock[BY.now]) + 1
        table = shared(self.periods, layout.models(self.pool)).up_to(age)
        self.state = self.state._replace(filters=self.state.filters._replace(**table._asdict()))
        given = np.array([y]), np.empty((1, 0)), n, np.empty(0, dtype=bool)
        _rounds.play(self.state, *given, live, opens, closes, out, NO_ENDS, np.empty(1))
        return out[0]

    def open(self):
        if self.state is None:
            if self.rounds:
                _bands.play_last(self.bands.state, self.last, True, 0.0)
            return np.full(self.horizon, self.last)
        return self.play(np.nan, opens=True)

    def close(self, y):
        if not self.rounds and np.isnan(y):
            return
        most = gathered(self.periods)
        if self.state is not None and y <= 0.0 and self.state.clock[BY.logs]:
            self.state = self.plain() if self.rounds >= most else None
        if self.state is not None:
            self.play(y, closes=True)
        elif self.rounds:
            _bands.play_last(self.bands.state, 0.0, False, y)
        else:
            self.bands.start(y)
        self.last = self.last if np.isnan(y) else y
        self.rounds += 1
        self.values = [*self.values, y][-most:]
        before, now = doubted(self.values[:-1]), doubted(self.values)
        young = self.rounds <= most or self.state is None
        upset = young and before != now
        if self.state is None or self.rounds in (10, most) or upset:
            self.build(upset)

    def build(self, upset):
        values = np.array(self.values)
        values[doubted(self.values)] = np.nan
        good = values[~np.isnan(values)]
        if good.size < 3 or np.ptp(good) == 0.0:
            return
        if upset:
            self.bands.forget(values)
        scale = Scale.of(good)
        self.state = layout.build(self.pool, self.periods, self.horizon, scale, self.bands.state)
        for value in values[int(np.argmin(np.isnan(values))) :]:
            self.play(value, opens=True, closes=True, live=False)

    def plain(self):
        """The state as it goes on when logarithms end."""
        m = self.state
        f, p = m.filters, m.phases
        kinds, specs = f.kinds.copy(), p.specs.copy()
        kinds[:, IS.log], specs[:, _phases.OF.log] = 0, 0.0
        f.means[f.kinds[:, IS.log] > 0] = f.means[np.flatnonzero(f.kinds[:, IS.log] == 0)[-1]]
        if p.specs.size and p.specs[0, _phases.OF.log] > 0:
            for array in (p.levels, p.first, p.second, p.first_seen, p.second_seen):
                array[...] = 0.0
            before = m.lags[0, m.clock[BY.place] - 1]
            p.levels[:, 0] = m.scalars[AT.centre] + m.scalars[AT.unit] * before
        m.clock[BY.logs] = 0
        return m._replace(filters=f._replace(kinds=kinds), phases=p._replace(specs=specs))

    def track(self, y):
        """Forecasts and ends of intervals, each (rounds, horizon[, coverages])."""
        out, low, high = [], [], []
        for value in y:
            out.append(self.open())
            offsets = self.bands.state.offsets[None]
            lo, hi = (end[0] for end in self.bands.between(offsets, self.horizon))
            low.append(out[-1][:, None] + lo)
            high.append(out[-1][:, None] + hi)
            self.close(value)
        return np.array(out), np.array(low), np.array(high)
