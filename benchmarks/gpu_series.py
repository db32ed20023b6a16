"""Fleets of forecasters on a GPU, compared with single float64 ones and timed; prints Markdown.

    python benchmarks/gpu_series.py [--reference build/gpu_series.npz]   # keeps the float64 plays

Checks: forecasts of the next value, and the ends of their intervals, over 3000 rounds of 256 series
beside those of `Forecaster(pool="small")`: seasons, levels that drift, jumps, spikes, gaps, counts.
The error of a series is the largest |difference| of all rounds over its standard deviation.

Times: as in gpu.py. A round is `update` with the values of all streams. What it moves is counted as
the numbers of a state that it reads or writes, once each way: the second knot is touched at its
origins only, of the lags a dozen. A replay is one launch for many rounds, values in, forecasts out.
"""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import stillpoint as sp
from gpu import clock, copy_bandwidth
from stillpoint.fleet.gpu import DeviceFleet

CONFIGS = {
    "24 and 168": {"season": [24, 168], "horizon": 24},
    "7": {"season": [7], "horizon": 14},
    "none": {"season": None, "horizon": 1},
}
STREAMS, ROUNDS, EVERY = 256, 3000, 10
WARM = 128  # rounds before the clock starts: all streams have grown up


def series(config, seed):
    """Series (ROUNDS, STREAMS), as float32 has them: the same for both sides."""
    rng, t = np.random.default_rng(seed), np.arange(ROUNDS)[:, None]
    y = 0.3 * rng.normal(size=(ROUNDS, STREAMS))
    for m in config["season"] or []:
        y += np.cos(2.0 * np.pi * (t / m + rng.random(STREAMS)))
    y += 0.02 * np.cumsum(rng.normal(size=y.shape), axis=0)
    kind = np.arange(STREAMS) % 8
    y += np.where(kind < 4, 6.0, 0.0)
    y[ROUNDS // 2 :, kind == 1] += 5.0  # a jump,
    spikes = (rng.random(y.shape) < 0.01) & (kind == 2)  # spikes,
    y[spikes] += 30.0
    y[(rng.random(y.shape) < 0.1) & (kind == 3) & (t > 2)] = np.nan  # gaps,
    y[:, kind == 5] = rng.poisson(np.exp(0.5 * y[:, kind == 5]))  # and counts
    scale = np.where(kind == 5, 1.0, 10.0 ** rng.uniform(-2, 3, STREAMS))
    return (scale * y).astype(np.float32)


def make_reference():
    """Forecasts of single forecasters in every tenth round, and upper ends of intervals."""
    saved = {}
    for seed, (name, config) in enumerate(CONFIGS.items()):
        y, said = series(config, seed).astype(float), []
        for s in range(STREAMS):
            model = sp.Forecaster(pool="small", **config)
            forecasts, _, high = model.track(y[:, s], intervals=True)
            said.append([forecasts[::EVERY], high[::EVERY]])
        saved[name] = np.array(said)
        print(f"reference: {name}", file=sys.stderr)
    return saved


def check(reference, device=None):
    print(f"Agreement with float64 over {ROUNDS} rounds of {STREAMS} streams:\n")
    heads = "seasons", "of", "median", "95%", "worst", "streams within 1e-4", "within 1e-2"
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for seed, (name, config) in enumerate(CONFIGS.items()):
        y, theirs = series(config, seed), reference[name]
        fleet = DeviceFleet("Forecaster", STREAMS, device=device, pool="small", **config)
        forecasts, _, high = fleet.track(y.astype(float), intervals=True)
        unit = np.nanstd(y.astype(float), axis=0)
        for i, (what, ours) in enumerate((("forecasts", forecasts), ("intervals", high))):
            ours = ours[::EVERY].cpu().numpy().T
            with np.errstate(invalid="ignore"):
                gap = np.where(ours == theirs[:, i], 0.0, np.abs(ours - theirs[:, i]))
            e = gap.max(axis=1) / unit
            figures = f"{np.median(e):.1e} | {np.quantile(e, 0.95):.1e} | {e.max():.1e}"
            shares = (f"{100 * (e < most).mean():.1f}%" for most in (1e-4, 1e-2))
            print(f"| {name} | {what} | {figures} | {' | '.join(shares)} |", flush=True)


def moved(plan):
    """Bytes that a round reads and writes of a stream, on average over rounds."""
    numbers = 0.0
    for name, (_, size) in plan.places.items():
        if name in ("ring", "season"):
            numbers += 14 if name == "ring" else 6
        elif name.endswith((".1", ":1")):
            own = size / plan.slots if name.startswith(("waiting", "issued")) else size
            numbers += 2 * own * 2 / plan.stride  # judged, and issued
        else:
            numbers += 2 * size
    return 4.0 * numbers


def values(torch, rounds, streams, config, seed=0):
    """Noise around a season, (rounds, streams)."""
    torch.manual_seed(seed)
    y = torch.randn((rounds, streams), device="cuda")
    t = torch.arange(rounds, device="cuda")[:, None]
    return y.mul_(0.3).add_(8.0 + torch.cos(2.0 * np.pi * t / (config["season"] or [12])[0]))


def measure(torch, config, streams, ceiling):
    fleet = DeviceFleet("Forecaster", streams, pool="small", **config)
    begun = time.perf_counter()
    for k in range(0, WARM, 16):
        fleet.track(values(torch, 16, streams, config, k))
    torch.cuda.synchronize()
    started = time.perf_counter() - begun
    y = values(torch, 4, streams, config)
    turn = iter(range(10**9))
    lap = clock(torch, lambda: fleet.update(y[next(turn) % 4]), calls=20, least=5)
    span = max(16, min(128, 2 * 10**8 // streams))
    given = values(torch, span, streams, config)
    replay = clock(torch, lambda: fleet.track(given), least=3, seconds=0.0) / span
    path = clock(torch, lambda: fleet.predict(horizon=config["horizon"]), least=2, seconds=0.0)
    share = moved(fleet._series.plan) * streams / (lap * 1e-3) / ceiling
    return fleet.bytes_per_stream, moved(fleet._series.plan), lap, share, replay, path, started


def replayed(torch):
    """Seconds of a replay of 10⁶ series from their first value on over 10³ rounds."""
    for name, config in CONFIGS.items():
        y = values(torch, 1000, 10**6, config)
        fleet = DeviceFleet("Forecaster", 10**6, pool="small", **config)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        fleet.track(y)
        torch.cuda.synchronize()
        print(
            f"Replay of 10⁶ new series × 10³ rounds, seasons {name}: "
            f"{time.perf_counter() - begun:.2f} s.",
            flush=True,
        )
        del fleet, y


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=Path, help="forecasts of float64, made where missing")
    parser.add_argument("--device", help="where to check only; no times")
    parser.add_argument("--most", type=float, default=1e7, help="streams at most")
    given = parser.parse_args()
    path = given.reference
    reference = np.load(path) if path and path.exists() else make_reference()
    if path and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **reference)
    if given.device:
        check(reference, given.device)
        return
    try:
        import torch
        import triton
    except ImportError:
        sys.exit("the rest needs torch with Triton, and a GPU")
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__},"
        f" {datetime.now(UTC):%Y-%m-%d}.\n"
    )
    ceiling = copy_bandwidth(torch)
    print(f"Copy bandwidth: {ceiling / 1e12:.2f} TB/s.\n")
    heads = (
        *("seasons", "streams", "bytes a stream", "moved a round", "a round"),
        *("series-rounds a second", "of copy bandwidth", "replay, a second", "paths", "start"),
    )
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, config in CONFIGS.items():
        for streams in (10**6, 10**7):
            if streams > given.most:
                continue
            size, touched, lap, share, replay, ahead, started = measure(
                torch, config, streams, ceiling
            )
            torch.cuda.empty_cache()
            print(
                f"| {name} | {streams:.0e} | {size} | {touched:.0f} | {lap:.2f} ms |"
                f" {streams / lap * 1e3:.2e} | {100 * share:.0f}% | {streams / replay * 1e3:.2e} |"
                f" {ahead:.0f} ms | {started:.1f} s |",
                flush=True,
            )
    print()
    replayed(torch)
    print()
    check(reference)


if __name__ == "__main__":
    main()
