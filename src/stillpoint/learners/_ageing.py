"""How weights pass on between the filters of a bank, compiled.

Every eighth round: from a filter to the next slower one as evidence ages, between a level and the
trend of its rate, and from all to a fresh start of the fastest (a jump), at a rate that is learnt.
A filter that receives weight becomes the average, by weight, of what it was and what comes in.
"""

from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.learners._bank import AT, LEAST, RATES, RATIO, SCALES, WIDEST, Bank

EVERY = 8  # rounds between moves of weights
AGE = 0.1 * EVERY  # a filter of rate κ passes on this times κ, to the next slower and to its twin
LARGER, SMALLER = 0.3, 0.7  # after a jump: scales around those in use, geometric at these ratios
NEW_SCALE = 0.05  # the weight of a scale that is added; weights had sum 1 at the last move
JUMPS, ROUNDS, MOST = 0.15, 30.0, 0.02  # prior of the jumps' rate, and its largest value
LIVED = 1  # weight that this level passes on is of targets that had jumped, and stayed


@njit(cache=True)
def _mass(row: Array) -> float:
    """The sum of a filter's weights."""
    pairs = (row[0] + row[1]) + (row[2] + row[3])
    return float(pairs + ((row[4] + row[5]) + (row[6] + row[7])))


@njit(cache=True, error_model="numpy")
def _normalise(bank: Bank) -> None:
    """Make weights sum to 1, and keep the law of the scales that a jump draws from."""
    numbers, _, _, beliefs = bank
    law, scales = numbers[AT.law :], beliefs.shape[1]  # a known number of rounds is not vectorised
    for i in range(scales):
        law[i] = 0.0
    for f in range(beliefs.shape[0]):
        for i in range(scales):
            law[i] += beliefs[f, i]
    over = 1.0 / max(_mass(law), LEAST)
    for f in range(beliefs.shape[0]):
        for i in range(scales):
            beliefs[f, i] *= over
    for i in range(SCALES - 2, -1, -1):
        law[i] += LARGER * law[i + 1]
    for i in range(1, SCALES):
        law[i] += SMALLER * law[i - 1]
    over = 1.0 / max(_mass(law), LEAST)
    for i in range(SCALES):
        law[i] *= over


@njit(cache=True, error_model="numpy")
def move(bank: Bank, x: Array) -> None:
    """Let weights pass on, and with them what filters hold; jumps start at x."""
    _normalise(bank)
    numbers, filters, velocities, beliefs = bank
    trends = velocities.shape[0]
    levels = beliefs.shape[0] - trends
    if levels > LIVED:
        numbers[AT.jumps] += AGE * RATES[LIVED] * _mass(beliefs[LIVED])
    jump = EVERY * min((JUMPS + numbers[AT.jumps]) / (ROUNDS + numbers[AT.rounds]), MOST)
    for k in range(levels - 1, -1, -1):  # slow ones first: they receive from those that follow
        own = k if k < 2 else 2 * k - 2
        faster = max(own - 1 if k < 3 else own - 2, 0)
        rate = AGE * RATES[own]
        come = (1.0 - jump) * AGE * RATES[faster] if k > 0 else 0.0
        stay = (1.0 - jump) * (1.0 - (rate if k < levels - 1 else 0.0))
        start = jump if k == 0 else 0.0
        m, m_faster = _mass(beliefs[own]), come * _mass(beliefs[faster])
        if k >= trends:
            over = 1.0 / (stay * m + m_faster + start + LEAST)
            keep, add = stay * m * over, m_faster * over
            _blend(beliefs[own], beliefs[faster], stay, come)
            _blend(filters[own, 0], filters[faster, 0], keep, add)
            _blend(filters[own, 1], filters[faster, 1], keep, add)
            if k == 0:
                _blend(filters[own, 1], x, 1.0, start * over)
            continue
        twin = 2 * k + 3
        cross = (1.0 - jump) * rate
        stay -= cross
        stays = (1.0 - jump) * (1.0 - (rate if k < trends - 1 else 0.0)) - cross
        n, n_faster = _mass(beliefs[twin]), come * _mass(beliefs[max(twin - 2, 0)])
        over = 1.0 / (stay * m + m_faster + cross * n + start + LEAST)
        over_twin = 1.0 / (stays * n + n_faster + cross * m + LEAST)
        last = max(twin - 2, 0)  # the trend of the next faster rate
        _exchange(
            beliefs[own],
            beliefs[twin],
            beliefs[faster],
            beliefs[last],
            (stay, cross, come),
            (cross, stays, come),
        )
        first = stay * m * over, cross * n * over, m_faster * over
        second = cross * m * over_twin, stays * n * over_twin, n_faster * over_twin
        for c in range(2):
            _exchange(
                filters[own, c],
                filters[twin, c],
                filters[faster, c],
                filters[last, c],
                first,
                second,
            )
        before = max(k - 1, 0)
        _blend(velocities[k, 0], velocities[before, 0], second[1], second[2])
        _blend(velocities[k, 1], velocities[before, 1], second[1], second[2])
        if k == 0:
            _blend(filters[own, 1], x, 1.0, start * over)
    _blend(beliefs[0], numbers[AT.law :], 1.0, jump)


@njit(cache=True)
def _blend(own: Array, other: Array, keep: float, add: float) -> None:
    """own ← keep·own + add·other."""
    for j in range(own.size):
        own[j] = keep * own[j] + add * other[j]


@njit(cache=True)
def _exchange(
    level: Array,
    trend: Array,
    faster_level: Array,
    faster_trend: Array,
    to_level: tuple[float, float, float],
    to_trend: tuple[float, float, float],
) -> None:
    """Make a level and its trend sums of what both were and of those of the next faster rate."""
    for j in range(level.size):
        p, q = level[j], trend[j]
        level[j] = to_level[0] * p + to_level[1] * q + to_level[2] * faster_level[j]
        trend[j] = to_trend[0] * p + to_trend[1] * q + to_trend[2] * faster_trend[j]


@njit(cache=True)
def widen(bank: Bank, radius: float) -> None:
    """Add scales as the ball has grown, and drop the finest."""
    numbers, _, _, beliefs = bank
    while 0.0 < RATIO * numbers[AT.scale] <= WIDEST * radius:
        numbers[AT.scale] *= RATIO
        for f in range(beliefs.shape[0]):
            for i in range(SCALES - 1, 0, -1):
                beliefs[f, i] = beliefs[f, i - 1]
            beliefs[f, 0] = 0.0
        beliefs[0, 0] = NEW_SCALE
