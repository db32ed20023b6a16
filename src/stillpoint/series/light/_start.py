"""Compiled beginnings of a series with a small pool, and the end of its logarithms."""

import numpy as np

from stillpoint.core.arithmetic import assign
from stillpoint.core.jit import njit
from stillpoint.series import _phases
from stillpoint.series._scale import AT, BY
from stillpoint.series._state import State
from stillpoint.series._structural import IS


@njit(cache=True)
def end_logarithms(m: State) -> None:
    """What was about logarithms goes on with values, before the first that has none is learnt.

    Filters take over the mean of the last one of values: gains do not depend on what is filtered.
    Smoothers begin anew from the last value. That kinds have changed is for the caller to note.
    """
    f, p, s, plain = m.filters, m.phases, m.scalars, 0
    for i in range(f.kinds.shape[0]):
        if f.kinds[i, IS.log] == 0:
            plain = i
    for i in range(f.kinds.shape[0]):
        if f.kinds[i, IS.log] > 0:
            assign(f.means[i], f.means[plain])
    for e in range(p.specs.shape[0]):
        if p.specs[e, _phases.OF.log] > 0.0:
            p.levels[e], p.first[e], p.second[e] = 0.0, 0.0, 0.0
            p.first_seen[:], p.second_seen[:] = 0.0, 0.0
            last = m.lags[0, m.clock[BY.place] - 1]
            p.levels[e, _phases.AT.level] = s[AT.centre] + s[AT.unit] * last
    m.clock[BY.logs] = 0
