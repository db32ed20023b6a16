"""Rounds of many series on a device: in one launch of a kernel written from the text of a round, or
through torch operations.

States are tiles of LANES streams, in each a row of LANES a number of the state: what a block of
threads reads and writes lies together, at distances that are known when the kernel is built.
"""

import hashlib
import linecache
import os
from functools import cache
from typing import Any

from stillpoint.fleet.gpu.series.machine import OnTensors, Written
from stillpoint.fleet.gpu.series.plan import Plan
from stillpoint.fleet.gpu.series.rounds import play
from stillpoint.fleet.gpu.trace import Traced

LANES = 64  # streams of a tile, threads of a block
WARP = 32
TABLES = ("gains", "steady", "rows", "smooth")


def with_torch(
    q: Plan,
    state: Any,
    which: Any,
    feed: Any,
    out: Any,
    bad: Any,
    tables: dict[str, Any],
    now: int,
    live: bool,
) -> None:
    """Rounds on tensors.

    Parameters
    ----------
    q : Plan
        What the streams share.
    state : Tensor of shape (tiles, places, LANES)
        Their states.
    which : Tensor of shape (batch,)
        Their numbers.
    feed : Tensor of shape (rounds, batch)
        Values, NaN where one is missing.
    out : Tensor of shape (rounds, batch) or None
        Where forecasts go.
    bad : Tensor
        How many values of each stream could not be used.
    tables : dict of Tensor
        `Plan.tables` of these rounds.
    now : int
        The age of the streams.
    live : bool
        Whether intervals go along.
    """
    tile, lane = which // LANES, which % LANES
    m = OnTensors(q.places, state[tile, :, lane].T, tables)
    for t in range(feed.shape[0]):
        said, seen = play(m, q, t, now + t, feed[t])
        if out is not None:
            out[t] = said.to(out.dtype)
        if live:
            bad[which] += ~seen
    state[tile, :, lane] = m.state.T


def with_triton(
    q: Plan,
    state: Any,
    which: Any,
    feed: Any,
    out: Any,
    bad: Any,
    tables: dict[str, Any],
    now: int,
    live: bool,
) -> None:
    """The same in one launch."""
    batch = feed.shape[1]
    kernel = built(source(q), "rounds_of_series")
    kernel[(-(-batch // LANES),)](
        state,
        which,
        feed,
        feed if out is None else out,
        bad,
        *(tables[name] for name in TABLES),
        now,
        batch,
        state.shape[0] * LANES - 1,
        feed.shape[0],
        BLOCK=LANES,
        RECORD=out is not None,
        LIVE=live,
        num_warps=LANES // WARP,
    )


@cache
def built(text: str, name: str) -> Any:
    """A kernel from its source, one for all fleets that come to the same."""
    import triton
    import triton.language as tl

    place = f"<stillpoint {name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    # where Triton looks for the source
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    space: dict[str, Any] = {"tl": tl, "triton": triton}
    # text from the rounds of this library, of numbers and its own names only
    exec(compile(text, place, "exec"), space)
    return triton.jit(space[name])


def source(q: Plan) -> str:
    """The text of the kernel."""
    if q.text is None:
        q.text = _source(q)
    return q.text


def _source(q: Plan) -> str:
    # Triton's interpreter knows no assembly
    plain = os.environ.get("TRITON_INTERPRET") == "1"
    m = Written(q.places, q.widths(), LANES, plain=plain)
    t, now, y = (Traced(m.sheet, name) for name in ("t", "now", "y"))
    said, seen = play(m, q, t, now, y)
    loop = [
        'y = tl.load(feed + row, mask=inside, other=float("nan"))',
        "now = first + t",
        *m.sheet.lines,
        "if RECORD:",
        f"    tl.store(out + row, {said.name}.to(out.dtype.element_ty), mask=inside)",
        "if LIVE:",
        f"    wrong = inside & (~{seen.name})",
        "    tl.store(bad + at, tl.load(bad + at, mask=wrong, other=0) + 1, mask=wrong)",
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
        "for t in range(span):",
        *("    " + line for line in loop),
    ]
    head = "def rounds_of_series(state, which, feed, out, bad, " + ", ".join(TABLES)
    head += ", first, batch, waste, span, BLOCK: tl.constexpr, RECORD: tl.constexpr,"
    head += " LIVE: tl.constexpr):"
    return "\n".join([head, *("    " + line for line in lines), ""])
