"""Rounds of a program on a device: through one fused Triton kernel made from its trace, or through
torch operations.

A kernel reads the columns of a stream once, plays as many rounds as it is given feedback for, and
writes them back: one launch a round, or one for a whole replay, in which states never leave the
registers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from stillpoint.fleet.gpu.built import built
from stillpoint.fleet.gpu.feedback import gradient
from stillpoint.fleet.gpu.programs.base import LARGEST, Program, State, length
from stillpoint.fleet.gpu.trace import Number, Trace, Traced, size, where

Loss = tuple[int, float]  # code and parameter, as in losses/_pointwise.py
THREADS, WARP = 64, 32  # of a program of the kernel
# Up to so many columns a thread has two streams: their arithmetic hides each other's waits. Replays
# live on arithmetic, rounds on memory, which registers that spill would burden.
DOUBLED, DOUBLED_ROUND = 48, 32


class Call(NamedTuple):
    """Rounds to play."""

    state: Any  # Tensor of shape (columns, n ≥ streams)
    rounds: Any  # Tensor of shape (streams,): how many each has had
    plays: Any  # Tensor of shape (streams, outputs): what each plays next
    bad: Any  # Tensor of shape (streams,): rounds whose feedback could not be used
    which: Any  # slice of all streams, or Tensor of shape (batch,): some
    feed: Any  # Tensor of shape (rounds, batch, inputs)
    out: Any  # Tensor of shape (rounds, batch, outputs), for the plays; or None


def play_round(
    program: Program, loss: Loss | None, s: State, target: Sequence[Number]
) -> tuple[tuple[Number, ...], Number]:
    """One round: what is played, and whether the feedback could be used. Where not, the round goes
    by.
    """
    plays = program.propose(s)
    good = size(target[0]) <= LARGEST  # not so for NaN
    for x in target[1:]:
        good = good & (size(x) <= LARGEST)
    fed = target if loss is None else gradient(*loss, plays, target)
    if program.limit is not None:
        good = good & (length(fed) <= program.limit)
    s["good"] = good
    program.learn(s, [where(good, x, 0.0) for x in fed])
    s["rounds"] = s["rounds"] + 1
    return plays, good


def with_torch(program: Program, loss: Loss | None, call: Call) -> None:
    """Rounds on tensors."""
    import torch

    state, rounds, plays, bad, which, feed, out = call
    s: State = dict(zip(program.columns, state[:, which], strict=True)) | {"rounds": rounds[which]}
    for t in range(feed.shape[0]):
        played, good = play_round(program, loss, s, list(feed[t].unbind(-1)))
        bad[which] += ~good
        if out is not None:
            out[t] = torch.stack(torch.broadcast_tensors(*played), -1)
    state[:, which] = torch.stack([s[name] for name in program.columns])
    rounds[which] = s["rounds"]
    plays[which] = torch.stack(torch.broadcast_tensors(*program.propose(s)), -1)


def with_triton(program: Program, loss: Loss | None, call: Call) -> None:
    """The same in one launch."""
    kernel = compiled(program, loss)
    state, rounds, plays, bad, which, feed, out = call
    batch = feed.shape[1]
    some = not isinstance(which, slice)
    block = THREADS * (
        2 if len(program.columns) <= (DOUBLED_ROUND if out is None else DOUBLED) else 1
    )
    kernel[((batch + block - 1) // block,)](
        state,
        rounds,
        plays,
        bad,
        which if some else rounds,
        feed,
        plays if out is None else out,
        batch,
        state.stride(0),
        feed.shape[0],
        BLOCK=block,
        SOME=some,
        RECORD=out is not None,
        num_warps=THREADS // WARP,
    )


def compiled(program: Program, loss: Loss | None) -> Any:
    """The kernel of a program, made when it is first asked for."""
    if loss not in program.kernels:
        program.kernels[loss] = built(
            source(program, loss), "rounds_of_streams", type(program).__name__
        )
    return program.kernels[loss]


def source(program: Program, loss: Loss | None) -> str:
    """The text of the kernel."""
    columns = program.columns
    names = {name: f"s{c}" for c, name in enumerate(columns)}
    body, last = Trace(), Trace()
    s: State = {name: Traced(body, short) for name, short in names.items()} | {
        "rounds": Traced(body, "rounds")
    }
    target = [Traced(body, f"y{i}") for i in range(program.inputs)]
    played, good = play_round(program, loss, s, target)
    peek: State = {name: Traced(last, short) for name, short in names.items()} | {
        "rounds": Traced(last, "rounds")
    }
    coming = program.propose(peek)

    fed, given = range(program.inputs), range(program.outputs)
    loop = [
        *(
            f"y{i} = tl.load(feed + row * {program.inputs} + {i}, mask=inside, other=0.0)"
            for i in fed
        ),
        *body.lines,
        "wrong = inside & (~" + good.name + ")",
        "tl.store(bad + at, tl.load(bad + at, mask=wrong, other=0) + 1, mask=wrong)",
        "if RECORD:",
        *(
            f"    tl.store(out + row * {program.outputs} + {i}, {played[i].name}, mask=inside)"
            for i in given
        ),
        *(f"{short} = {s[name].name}" for name, short in names.items() if s[name].name != short),
        f"rounds = {s['rounds'].name}",
        "row += batch",
    ]
    lines = [
        "lane = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)",
        "inside = lane < batch",
        "if SOME:",
        "    at = tl.load(which + lane, mask=inside, other=0)",
        "else:",
        "    at = lane",
        "wide = tl.cast(stride, tl.int64)",
        *(f"s{c} = tl.zeros([BLOCK], tl.float32)" for c in range(len(columns))),
        *_once(len(columns), "s{c} = tl.load({p}, mask=inside, other=0.0)"),
        "rounds = tl.load(counts + at, mask=inside, other=0)",
        "row = lane",
        "for _ in range(span):",
        *("    " + line for line in loop),
        *_once(len(columns), "tl.store({p}, s{c}, mask=inside)"),
        "tl.store(counts + at, rounds, mask=inside)",
        *last.lines,
        *(
            f"tl.store(plays + at * {program.outputs} + {i}, {coming[i].name}, mask=inside)"
            for i in given
        ),
    ]
    head = "def rounds_of_streams(state, counts, plays, bad, which, feed, out, batch, stride, span,"
    head += " BLOCK: tl.constexpr, SOME: tl.constexpr, RECORD: tl.constexpr):"
    return "\n".join([head, *("    " + line for line in lines), ""])


def _once(columns: int, line: str) -> list[str]:
    """Lines that load, or store, every column c, for which the given one has its address p.

    Triton looks through all operations that depend on a load or store whose address was computed,
    to find a layout for them: minutes for hundreds of columns. It does not where the address comes
    from a turn of a loop. The one here has one turn, as LLVM finds out, and leaves no trace. Where
    a thread has more than one stream, layouts do differ, and columns are few.
    """
    if columns <= DOUBLED:
        return [line.format(c=c, p=f"state + (wide * {c} + at)") for c in range(columns)]
    return [
        *(f"p{c} = state + (wide * {c} + at)" for c in range(columns)),
        "for _ in range(1 + (tl.program_id(1) >> 31)):",
        *("    " + line.format(c=c, p=f"p{c}") for c in range(columns)),
        *(f"    p{c} += wide" for c in range(columns)),
    ]
