"""Fleets on a GPU, compared with the float64 learners and timed; prints Markdown.

    python benchmarks/gpu.py [--reference build/gpu_reference.npz]  # keeps the float64 plays

Checks: plays over 10 000 rounds of 512 streams beside those of `Fleet` on the CPU. "Given": both
are fed the same gradients. "Closed loop": each is fed the gradients at its own plays. The error of
a stream is the largest |difference| of all rounds over the largest |play|; of Tracker, which
amplifies differences, over the first 1000 rounds. In a closed loop mean losses are compared, too,
over all rounds: the largest relative difference of a stream. Intervals and quantiles, which feed on
their own hits and misses, are always in a closed loop.

Times: CUDA events around batches of calls, the median of many. A round is `update` with the
feedback of all streams, which reads and writes every state once and leaves the plays of the next
round. Its share of the copy bandwidth counts states only, read and written once, over the bytes
that a plain copy of a tensor moves a second (reads and writes alike). A replay is one launch for
many rounds, targets in, plays out.
"""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from stillpoint.fleet import Fleet
from stillpoint.fleet.gpu import DeviceFleet
from stillpoint.losses import Absolute

LEARNERS = {
    "Tracker, d = 1": ("Tracker", {"dim": 1}),
    "Tracker, d = 4": ("Tracker", {"dim": 4}),
    "MultiScale, d = 1": ("MultiScale", {"dim": 1}),
    "MultiScale, d = 1, lipschitz": ("MultiScale", {"dim": 1, "lipschitz": 1.0}),
    "IntervalTracker": ("IntervalTracker", {}),
    "QuantileTracker": ("QuantileTracker", {}),
}
STREAMS, ROUNDS, EVERY = 512, 10_000, 10
SHORT = 1000  # rounds in which Tracker's plays are compared
# rounds played before the clock starts; rounds that states have room for: as many as up to 2046
WARM, WIDE = 300, 1100


def targets(seed, dim):
    """Noisy walks with jumps at scales from 0.01 to 100, as float32: the same for both sides."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-2, 2, (STREAMS, 1))
    level = np.zeros((STREAMS, dim))
    out = np.empty((ROUNDS, STREAMS, dim), np.float32)
    for t in range(ROUNDS):
        level = (
            scale * rng.normal(size=level.shape)
            if t % 500 == 0
            else level + 0.02 * scale * rng.normal(size=level.shape)
        )
        out[t] = level + 0.3 * scale * rng.normal(size=level.shape)
    return out


def make_reference():
    """Plays of the float64 learners in every tenth round, and the signs of their gradients."""
    saved, keys = {}, np.arange(STREAMS)
    for seed, (name, (kind, config)) in enumerate(LEARNERS.items()):
        y, dim = targets(seed, config.get("dim", 1)), config.get("dim", 1)
        fleet, plays, fed = Fleet(kind, **config), [], []
        for t in range(ROUNDS):
            told = [np.zeros(STREAMS)] if kind == "IntervalTracker" else []
            play = fleet.predict(keys, *told)
            play = play[1] if told else play
            if t % EVERY == 0:
                plays.append(np.asarray(play, np.float32).reshape(STREAMS, -1))
            if "dim" in config:
                fed.append(np.sign(play - y[t]).astype(np.int8))
                fleet.update(keys, fed[-1] / dim**0.5)
            else:
                fleet.update(keys, y[t, :, 0])
        saved[f"{name} plays"], saved[f"{name} fed"] = np.array(plays), np.array(fed)
        print(f"reference: {name}", file=sys.stderr)
    return saved


def errors(theirs, ours):
    """The error of each stream; where one side is infinite, both must be."""
    finite = np.isfinite(theirs) & np.isfinite(ours)
    gap = np.where(
        finite,
        np.abs(np.where(finite, theirs, 0) - np.where(finite, ours, 0)),
        np.where(theirs == ours, 0, np.inf),
    )
    return gap.max(axis=(0, 2)) / np.where(finite, np.abs(theirs), 0).max(axis=(0, 2))


def check(reference):
    print(f"Agreement with float64 over {ROUNDS} rounds of {STREAMS} streams:\n")
    heads = "learner", "fed", "rounds", "median", "95%", "worst", "streams within 1e-4", "losses"
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for seed, (name, (kind, config)) in enumerate(LEARNERS.items()):
        dim = config.get("dim", 1)
        plays, fed, y = (
            reference[f"{name} plays"],
            reference[f"{name} fed"] / np.float32(dim**0.5),
            targets(seed, dim),
        )
        for way in ["given"] * ("dim" in config) + ["closed loop"] * (dim == 1):
            fleet = DeviceFleet(kind, STREAMS, **config)
            if "dim" in config:
                got = fleet.track(
                    fed if way == "given" else y, loss=None if way == "given" else Absolute()
                )
            elif kind == "IntervalTracker":
                got = fleet.track(y[..., 0], np.zeros(y.shape[:2]))[1]
            else:
                got = fleet.track(y[..., 0])
            got = got.reshape(ROUNDS, STREAMS, -1)[::EVERY].cpu().numpy()
            rounds = SHORT if kind == "Tracker" else ROUNDS
            e = errors(plays[: rounds // EVERY], got[: rounds // EVERY])
            figures = (
                f"{rounds} | {np.median(e):.1e} | {np.quantile(e, 0.95):.1e} | {e.max():.1e} |"
                f" {100 * (e < 1e-4).mean():.1f}% | "
            )
            if "dim" in config and way != "given":
                ours, theirs = (np.abs(p - y[::EVERY]).mean(axis=(0, 2)) for p in (got, plays))
                figures += f"{np.abs(ours / theirs - 1.0).max():.1e}"
            print(f"| {name} | {way} | {figures} |", flush=True)


def clock(torch, work, calls=1, least=15, seconds=0.3):
    """Milliseconds of a call: the median over batches of so many, each batch between two events."""
    times, begun = [], time.perf_counter()
    while len(times) < least or (time.perf_counter() - begun < seconds and len(times) < 30):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / calls)
    return float(np.median(times))


def copy_bandwidth(torch):
    """Bytes a second, read and written, of copying 4 GB."""
    source = torch.randn(1 << 30, device="cuda")
    goal = torch.empty_like(source)
    return 2 * source.nbytes / (clock(torch, lambda: goal.copy_(source)) * 1e-3)


def feed(torch, fleet, rounds):
    """Noisy targets for so many rounds, and what else a replay of this learner wants."""
    shape = (
        (rounds, fleet.streams)
        if fleet.config.get("dim", 1) == 1
        else (rounds, fleet.streams, fleet.config["dim"])
    )
    y = torch.randn(shape, device=fleet.device)
    return [y, torch.zeros_like(y)] if fleet.config["learner"] == "IntervalTracker" else [y]


def measure(torch, kind, config, streams, ceiling):
    fleet = DeviceFleet(kind, streams, **config)
    inputs = fleet._streams.program.inputs
    fleet._streams.play(fleet._at(None), WIDE, torch.zeros((0, streams, inputs), device="cuda"))
    loss = {"loss": Absolute()} if "dim" in config else {}
    span = max(16, min(256, 3 * 10**8 // streams // config.get("dim", 1)))
    for _ in range(0, WARM, span):
        fleet.track(*feed(torch, fleet, span), **loss)
    parts = feed(torch, fleet, 4)
    if "dim" in config:
        parts[0] = torch.sign(parts[0]) / config["dim"] ** 0.5
    turn = iter(range(10**9))

    def work():
        if len(parts) > 1:  # forecasts open the round
            fleet.predict(parts[1][0])
        fleet.update(parts[0][next(turn) % 4])

    lap = clock(torch, work, calls=20)
    given = feed(torch, fleet, span)
    replay = clock(torch, lambda: fleet.track(*given, **loss), least=5, seconds=0.0) / span
    moved = 2 * fleet.bytes_per_stream * streams
    return fleet.bytes_per_stream, lap, moved / (lap * 1e-3) / ceiling, replay


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--reference",
        type=Path,
        help="a file of the float64 learners' plays; made where it is missing",
    )
    path = parser.parse_args().reference
    reference = np.load(path) if path and path.exists() else make_reference()
    if path and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **reference)
    try:
        import torch
        import triton
    except ImportError:
        sys.exit("the rest needs torch with Triton, and a GPU")
    card = torch.cuda.get_device_name()
    print(
        f"{card}, torch {torch.__version__}, Triton {triton.__version__},"
        f" {datetime.now(UTC):%Y-%m-%d}.\n"
    )
    ceiling = copy_bandwidth(torch)
    print(f"Copy bandwidth: {ceiling / 1e12:.2f} TB/s.\n")
    heads = (
        "learner",
        "streams",
        "bytes a stream",
        "a round",
        "a stream-round",
        "of copy bandwidth",
        "replay",
        "replay / round",
    )
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, (kind, config) in LEARNERS.items():
        for streams in (10**6, 10**7):
            size, lap, share, replay = measure(torch, kind, config, streams, ceiling)
            each = (
                f"{lap / streams * 1e9:.1f} ps | {100 * share:.0f}% | {replay / streams * 1e9:.1f}"
                f" ps | {lap / replay:.1f}"
            )
            print(f"| {name} | {streams:.0e} | {size} | {lap:.3f} ms | {each} |", flush=True)
    print()
    check(reference)


if __name__ == "__main__":
    main()
