"""Numbers, arrays and nonsense drawn from bytes: what a fuzzer finds, a seed repeats, and a test
can write down.
"""

import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np

# ends of ranges, limits of the library and their neighbours, and what is no number
FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    3.0,
    5e-324,
    -5e-324,
    2.3e-308,
    1e-300,
    1e-200,
    1e-160,
    1e-150,
    1e-100,
    1e-75,
    1e-20,
    1e-9,
    1e9,
    1e20,
    1e74,
    1e76,
    1e99,
    -1e100,
    1e101,
    -1e149,
    1e150,
    1.1e150,
    1e154,
    1e200,
    -1.7e308,
    float("nan"),
    float("inf"),
)
ODD = (
    None,
    "5",
    b"5",
    "",
    True,
    False,
    1j,
    10**400,
    -(10**30),
    [],
    {},
    (),
    [None],
    [[1.0]],
    [1.0, [2.0]],
    object(),
    Decimal("1.5"),
    Decimal("nan"),
    Fraction(1, 3),
    np.float32(1.5),
    np.int8(3),
    np.bool_(True),
    np.str_("x"),
    np.array(1.0),
    np.array([1j]),
    np.zeros((2, 2, 2)),
    np.zeros(0),
    np.array(["a", "b"]),
    np.array([1.0, None], dtype=object),
    np.datetime64("2020-01-01"),
    np.ma.masked_array([1.0, 2.0], mask=[0, 1]),
    range(2),
    {1.0, 2.0},
    float,
    lambda: 1.0,
    np.longdouble(1.0),
    np.float16(2.0),
    np.array([1, 2], dtype=np.uint8),
    np.array([True, False]),
    np.array([2**63], dtype=np.uint64),
    [1, 2],
    (0.5, -0.5),
)


class Source:
    """Bytes, read from the front; where they have run out all is 0."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.place >= len(self.data)

    def byte(self) -> int:
        """0 to 255."""
        value = self.data[self.place] if self.place < len(self.data) else 0
        self.place += 1
        return value

    def pick(self, things):
        """One of them."""
        return things[self.byte() % len(things)]

    def number(self) -> float:
        """A float: small and plain half of the time, else special, or any of eight bytes."""
        kind = self.byte()
        if kind < 128:
            return (kind - 64) / 16.0
        if kind < 240:
            return FLOATS[kind % len(FLOATS)]
        raw = self.data[self.place : self.place + 8].ljust(8, b"\0")
        self.place += 8
        return struct.unpack("<d", raw)[0]

    def vector(self, size: int) -> np.ndarray:
        """So many numbers; often plain ones only, so that learners get somewhere."""
        if self.byte() % 2:
            return np.array([(self.byte() - 128) / 32.0 for _ in range(size)])
        return np.array([self.number() for _ in range(size)])

    def odd(self):
        """What nobody should pass."""
        return self.pick(ODD)

    def text(self) -> str:
        """A few characters, some of them beyond ASCII."""
        raw = self.data[self.place : self.place + self.byte() % 12]
        self.place += len(raw)
        return raw.decode("latin-1")
