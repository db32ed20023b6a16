"""Values of a series in units, their logarithms, and how far they are believed."""

from typing import NamedTuple

from stillpoint.fleet.gpu.series.machine import Machine, Whole, no, rest
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.trace import (
    Number,
    exp,
    inverse,
    larger,
    log,
    rsqrt,
    size,
    smaller,
    where,
)
from stillpoint.series._rounds import (
    BACK,
    BELIEVE,
    DOUBT,
    EARLY,
    FORGET,
    JUMP,
    REACH,
    SPIKY,
)
from stillpoint.series._scale import FARTHEST as MOST
from stillpoint.series._scale import STEADY

FARTHEST = 1e15  # units from the centre; a value beyond is taken for a missing one
_SMALL = 0.5  # logarithms of 1 + x, |x| below it, are summed from x
_HIGHEST = 80.0  # of a logarithm: e^80 is a float32
_FACTORIAL = (1.0, 0.5, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880)


def root(x: Number) -> Number:
    """√x for x ≥ 0."""
    return x * rsqrt(larger(x, 1e-37))


def within(x: Number, low: Number, high: Number) -> Number:
    """x, or the nearest in the range."""
    return smaller(larger(x, low), high)


def log_of_one_more(x: Number) -> Number:
    """log(1 + x), exact to a few roundings however small x is."""
    s = x / (2.0 + x)
    square, sum_ = s * s, 1.0 / 15.0
    for k in (13, 11, 9, 7, 5, 3, 1):
        sum_ = sum_ * square + 1.0 / k
    return where(size(x) < _SMALL, 2.0 * (s * sum_), log(larger(1.0 + x, 1e-37)))


def exp_less_one(x: Number) -> Number:
    """e^x − 1, likewise."""
    x = smaller(x, _HIGHEST)
    sum_ = _FACTORIAL[-1]
    for coefficient in _FACTORIAL[-2::-1]:
        sum_ = sum_ * x + coefficient
    return where(size(x) < _SMALL, x * sum_, exp(x) - 1.0)


class Limits(NamedTuple):
    """The range of forecasts."""

    low: Number
    high: Number

    def keep(self, x: Number) -> Number:
        """x, or the nearest in the range."""
        return within(x, self.low, self.high)


def limits(m: Machine) -> Limits:
    """One range of the values beyond them on either side, or more where the range has grown."""
    low, high = m.get("low"), m.get("high")
    width = m.get("reach") * (high - low)
    return Limits(low - width, high + width)


class Believed(NamedTuple):
    """What is made of a value."""

    y: Number  # as filters learn it
    kept: Number  # as lags do
    confirmed: Number  # whether it confirms the value before it, which lags keep as it was:
    before: Number  # that value,
    ago: Number  # and how many rounds back it is
    jumped: Number


def believed(m: Machine, u: Number, seen: Number, forecast: Number) -> Believed:
    """How far a value is believed; see `series._rounds`."""
    sd, judged = root(m.get("variance.0")), m.get("judged.0")
    held, expected, ago = m.get("held"), m.get("expected"), m.get("doubting")
    doubting = ago > 0.0  # rounds since a value that is doubted; 0: none is
    early = (judged > EARLY) & (size(u - forecast) > JUMP * sd)
    asks = seen & ((judged > BELIEVE) | early | doubting)
    open_ = asks & doubting
    stayed_by, back = size(u - held), size(u - expected)
    confirmed = open_ & (stayed_by < back)
    went = back < BACK * stayed_by
    stayed, returned = m.get("stayed"), m.get("returned")
    stayed = where(open_, FORGET * stayed + where(went, 0.0, 1.0), stayed)
    returned = where(open_, FORGET * returned + where(went, 1.0, 0.0), returned)
    jumped = confirmed & (size(held - expected) > JUMP * sd)
    m.put("stayed", stayed)
    m.put("returned", returned)
    low, high = m.get("low"), m.get("high")
    m.put("low", where(confirmed, smaller(low, held), low))
    m.put("high", where(confirmed, larger(high, held), high))
    # the range of forecasts as it was where nothing is confirmed: there it has not changed
    width = m.get("reach") * (high - low)
    less = within(u, forecast - DOUBT * sd, forecast + DOUBT * sd)
    far = size(u - forecast) > DOUBT * sd
    doubts = asks & far & no(confirmed)
    m.put("doubting", where(doubts, 1.0, where(doubting & no(asks), ago + 1.0, 0.0)))
    m.put("held", where(doubts, u, held))
    m.put("expected", where(doubts, forecast, expected))
    spiky = returned >= SPIKY * (stayed + 1.0)
    taken = where(spiky, less, within(u, forecast - REACH * sd, forecast + REACH * sd))
    kept = where(spiky, less, within(u, low - width, high + width))
    plainly = confirmed | no(asks)
    return Believed(
        where(plainly, u, taken),
        where(plainly, u, kept),
        confirmed,
        held,
        ago,
        jumped,
    )


def extend(m: Machine, q: Plan, now: Whole) -> None:
    """Note how wide the range is at every mark, and tell from the last three how far it reaches."""

    def note() -> None:
        first, earlier = m.get("earlier"), m.get("recent")
        recent = m.get("high") - m.get("low")
        growth = smaller(
            recent * inverse(larger(earlier, 1e-37)), earlier * inverse(larger(first, 1e-37))
        )
        times = q.horizon / q.marks + 1.0
        far = exp(smaller(times * log(larger(growth, 1e-37)), MOST))
        m.put("first", first)
        m.put("earlier", earlier)
        m.put("recent", recent)
        m.put("reach", where((first > 0.0) & (growth > STEADY), far, 1.0))

    m.when(rest(now, q.marks) < 1, note)


class Ring:
    """The values of the last rounds, read once each.

    Parameters
    ----------
    m : Machine
        Where they are.
    q : Plan
        Their number.
    now : int
        The time that others are counted back from.
    """

    def __init__(self, m: Machine, q: Plan, now: Whole) -> None:
        self._m, self._size, self._now = m, q.ring, now
        self._known: dict[int, Number] = {}

    def place(self, back: int) -> Whole:
        """Where the value so many rounds back is; below 0 for what lies ahead."""
        return rest(self._now + (self._size - back), self._size)

    def __getitem__(self, back: int) -> Number:
        if back not in self._known:
            self._known[back] = self._m.get("ring", self.place(back))
        return self._known[back]

    def put_back(self, there: Number, back: Number, value: Number) -> None:
        """Set, where `there` holds, the value of a round that may be another in each stream."""
        there = there & (back < self._size - 0.5)
        last = self[1]
        self._known[1] = where(there & (back < 1.5), value, last)
        place = self.place(0) - where(there, back, 1.0)
        place = where(place < 0.0, place + self._size, place)
        self._m.put_each("ring", where(there, value, last), place)

    def __setitem__(self, back: int, value: Number) -> None:
        self._known[back] = value
        self._m.put("ring", value, self.place(back))
