"""Rounds of many series on a device: in one launch of a kernel written from the text of a round, or
through torch operations.

States are tiles of LANES streams, in each a row of LANES a number of the state: what a block of
threads reads and writes lies together, at distances that are known when the kernel is built.
"""

import os
from typing import Any, NamedTuple

from stillpoint.fleet.gpu.built import built
from stillpoint.fleet.gpu.series.machine import OnTensors
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.series.rounds import play
from stillpoint.fleet.gpu.series.written import Written
from stillpoint.fleet.gpu.trace import Traced

LANES = 64  # streams of a tile, threads of a block
WARP = 32
TABLES = ("gains", "steady", "rows", "wider")
ARGUMENTS = (
    *("state", "which", "feed", "out", "ends", "bad", *TABLES),
    *("first", "begun", "skip", "batch", "waste", "span", "records", "tells"),
)


class Call(NamedTuple):
    """Rounds to play."""

    which: Any  # Tensor of shape (batch,): the streams
    feed: Any  # Tensor of shape (rounds, batch): values, NaN where one is missing
    out: Any  # Tensor of shape (rounds, batch), of the same type, for the forecasts; or None
    ends: Any  # Tensor of shape (rounds, batch, knots), float32, for radii of intervals; or None
    bad: Any  # Tensor of shape (streams,): how many values could not be used
    tables: dict[str, Any]  # `Plan.tables`, as tensors
    skip: int  # the row of these that the first round has
    now: int  # the age of the experts
    clock: int  # the age of the intervals
    live: bool  # whether intervals go along


def with_torch(q: Plan, state: Any, call: Call) -> None:
    """Rounds on tensors; states (tiles, places, LANES)."""
    tile, lane = call.which // LANES, call.which % LANES
    m = OnTensors(q.places, state[tile, :, lane].T, call.tables)
    for t in range(call.feed.shape[0]):
        if call.ends is not None:
            for k, _ in enumerate(q.knots):
                call.ends[t, :, k] = m.get("unit") * m.get(f"now:{k}")
        said, seen = play(
            m, q, call.skip + t, call.now + t, call.clock + t, call.feed[t], call.live
        )
        if call.out is not None:
            call.out[t] = said.to(call.out.dtype)
        if call.live:
            call.bad[call.which] += ~seen
    state[tile, :, lane] = m.state.T


def with_triton(q: Plan, state: Any, call: Call) -> None:
    """The same in one launch."""
    batch = call.feed.shape[1]
    # one kernel for all ages and sizes
    kernel = built(source(q, call.live), "rounds_of_series", general=ARGUMENTS[1:])
    kernel[(-(-batch // LANES),)](
        state,
        call.which,
        call.feed,
        call.feed if call.out is None else call.out,
        call.tables["steady"] if call.ends is None else call.ends,
        call.bad,
        *(call.tables[name] for name in TABLES),
        call.now - call.skip,
        call.clock - call.skip,
        call.skip,
        batch,
        state.shape[0] * LANES - 1,
        call.feed.shape[0],
        int(call.out is not None),
        int(call.ends is not None),
        BLOCK=LANES,
        num_warps=LANES // WARP,
    )


def source(q: Plan, live: bool) -> str:
    """The text of the kernel."""
    if live not in q.texts:
        q.texts[live] = _source(q, live)
    return q.texts[live]


def _source(q: Plan, live: bool) -> str:
    # Triton's interpreter knows no assembly
    plain = os.environ.get("TRITON_INTERPRET") == "1"
    m = Written(q.places, q.widths(), LANES, plain=plain)
    t, now, clock, y = (Traced(m.sheet, name) for name in ("t", "now", "clock", "y"))
    with m.sheet.block("if tells > 0:"):
        for k, _ in enumerate(q.knots):
            radius = m.get("unit") * m.get(f"now:{k}")
            m.sheet.line(f"tl.store(ends + row * {len(q.knots)} + {k}, {radius.name}, mask=inside)")
    said, seen = play(m, q, t, now, clock, y, live)
    loop = [
        'y = tl.load(feed + row, mask=inside, other=float("nan"))',
        "now = first + t",
        "clock = begun + t",
        *m.sheet.lines,
        "if records > 0:",
        f"    tl.store(out + row, {said.name}.to(out.dtype.element_ty), mask=inside)",
        *(
            [
                f"wrong = inside & (~{seen.name})",
                "tl.store(bad + at, tl.load(bad + at, mask=wrong, other=0) + 1, mask=wrong)",
            ]
            if live
            else []
        ),
        "row += batch",
    ]
    lines = [
        "lane = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)",
        "inside = lane < batch",
        # lanes without a stream work on the last one, which nobody has
        "at = tl.load(which + lane, mask=inside, other=waste)",
        f"base = (at // {LANES}) * {q.size * LANES} + at % {LANES}",
        "place = (state + base).to(tl.int64)",
        "zero = tl.zeros([BLOCK], tl.float32)",
        "row = lane",
        "for t in range(skip, skip + span):",
        *("    " + line for line in loop),
    ]
    head = f"def rounds_of_series({', '.join(ARGUMENTS)}, BLOCK: tl.constexpr):"
    return "\n".join([head, *("    " + line for line in lines), ""])
