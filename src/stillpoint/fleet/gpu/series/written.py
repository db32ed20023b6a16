"""Rounds of many series as lines of a kernel."""

from collections.abc import Callable

from stillpoint.fleet.gpu.series.machine import Fetch, Flag, Index, Machine, Places, Whole, Work
from stillpoint.fleet.gpu.trace import Number, Trace, Traced


class Step(Traced):
    """A place of a block in a kernel's loop: the loop's variable, and how far beyond it."""

    def __init__(self, trace: Trace, name: str, more: int = 0) -> None:
        super().__init__(trace, name)
        self.more = more

    def __add__(self, other: int) -> "Step":
        return Step(self.trace, self.name, self.more + other)


class Written(Machine):
    """Rounds as lines of a kernel.

    Parameters
    ----------
    places : dict
        The state.
    tables : dict of int
        How many numbers a row of each shared table has.
    lanes : int
        Streams whose numbers lie side by side.
    plain : bool, default False
        Whether to read and write by Triton's own operations, as its interpreter can. Its compiler
        looks through the whole kernel for each of these: minutes, for the thousands there are.
    """

    unroll = 4  # places whose numbers are read before the first is worked on

    def __init__(
        self, places: Places, tables: dict[str, int], lanes: int, *, plain: bool = False
    ) -> None:
        super().__init__(places)
        self.sheet, self._widths, self._lanes, self._names = Sheet(), tables, lanes, 0
        self._plain = plain

    def get(self, name: str, i: Index = 0) -> Number:
        """A number of the state."""
        if self._plain:
            return self.sheet.fresh(f"tl.load({self._pointer(name, i)})")
        where, offset = self._address(name, i)
        return self.sheet.fresh(
            f'tl.inline_asm_elementwise("ld.global.f32 $0, [$1+{offset}];", "=f,l", [{where}],'
            " dtype=tl.float32, is_pure=False, pack=1)"
        )

    def put(self, name: str, value: Number, i: Index = 0) -> None:
        """Set a number of the state."""
        number = value.name if isinstance(value, Traced) else f"zero + {float(value)!r}"
        if self._plain:
            self.sheet.line(f"tl.store({self._pointer(name, i)}, {number})")
            return
        where, offset = self._address(name, i)
        self.sheet.line(
            f'tl.inline_asm_elementwise("st.global.f32 [$1+{offset}], $2; mov.b32 $0, 0;",'
            f' "=r,l,f", [{where}, {number}], dtype=tl.int32, is_pure=False, pack=1)'
        )

    def put_each(self, name: str, value: Number, i: Number) -> None:
        """Set a number of the state, at a place of each stream's own."""
        self.put(name, value, self.sheet.name(f"{i.name}.to(tl.int64)"))

    def shared(self, table: str, row: Whole, i: Index) -> Number:
        """A number of a table that all streams share."""
        return self.sheet.fresh(
            f"tl.load({table} + ({_of(row)}) * {self._widths[table]} + {_of(i)})"
        )

    def when(self, flag: Flag, body: Callable[[], None]) -> None:
        """Do this if the clock says so."""
        with self.sheet.block(f"if {flag.name}:"):
            body()

    def each(self, count: int, fetch: Fetch, work: Work, sums: int) -> list[Number]:
        """Go through many places, and sum."""
        totals = [self._name("a") for _ in range(sums)]
        for total in totals:
            self.sheet.line(f"{total} = tl.zeros([BLOCK], tl.float32)")
        whole = count // self.unroll * self.unroll
        if whole:
            i = self._name("i")
            with self.sheet.block(f"for {i} in range(0, {whole}, {self.unroll}):"):
                self._some(Step(self.sheet, i), self.unroll, fetch, work, totals)
        for j in range(whole, count):
            self._some(j, 1, fetch, work, totals)
        return [self.sheet.fresh(total) for total in totals]

    def _some(self, first: Index, count: int, fetch: Fetch, work: Work, totals: list[str]) -> None:
        places = [first + k for k in range(count)]
        read = [fetch(i) for i in places]
        for i, numbers in zip(places, read, strict=True):
            put, terms = work(i, numbers)
            for name, at, value in put:
                self.put(name, value, at)
            for total, term in zip(totals, terms, strict=True):
                self.sheet.line(f"{total} = {total} + {term.name}")

    def walk(self, count: int, body: Callable[[Whole], None]) -> None:
        """Do body(0), body(1), … one after another."""
        i = self._name("i")
        with self.sheet.block(f"for {i} in range({count}):"):
            body(Traced(self.sheet, i))

    def _pointer(self, name: str, i: Index) -> str:
        first = self.places[name][0]
        if isinstance(i, Traced):
            return f"state + base + ({first} + {_of(i)}) * {self._lanes}"
        return f"state + base + {first + i} * {self._lanes}"

    def _address(self, name: str, i: Index) -> tuple[str, int]:
        """Where a number is: an address of the kernel's, and how far beyond it."""
        first, width = self.places[name][0], 4 * self._lanes
        if isinstance(i, Traced):
            more = i.more if isinstance(i, Step) else 0
            return self.sheet.name(f"place + {i.name} * {width}").name, (first + more) * width
        return "place", (first + i) * width

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}{self._names}"


class Sheet(Trace):
    """Lines of a kernel with blocks, in which what was computed is known inside only."""

    def __init__(self) -> None:
        super().__init__()
        self._scopes: list[dict[str, str]] = [{}]
        self._count = 0

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * (len(self._scopes) - 1) + text)

    def fresh(self, expression: str) -> Traced:
        """The value of an expression that may be another one each time."""
        self._count += 1
        self.line(f"v{self._count} = {expression}")
        return Traced(self, f"v{self._count}")

    def name(self, expression: str) -> Traced:
        """The value of an expression; the same one again is not computed again."""
        for scope in self._scopes:
            if expression in scope:
                return Traced(self, scope[expression])
        value = self.fresh(expression)
        self._scopes[-1][expression] = value.name
        return value

    def block(self, head: str) -> "_Block":
        """A block under this line."""
        self.line(head)
        return _Block(self._scopes)


class _Block:
    def __init__(self, scopes: list[dict[str, str]]) -> None:
        self._scopes = scopes

    def __enter__(self) -> None:
        self._scopes.append({})

    def __exit__(self, *_: object) -> None:
        self._scopes.pop()


def _of(number: Whole) -> str:
    if isinstance(number, Step):
        return f"{number.name} + {number.more}"
    return number.name if isinstance(number, Traced) else str(int(number))
