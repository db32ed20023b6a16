"""The Triton kernels under Triton's interpreter beside torch: run with TRITON_INTERPRET=1, set
before the import.
"""

import numpy as np
import torch

import stillpoint as sp
from stillpoint.fleet.gpu import DeviceFleet, triton
from thorough import THOROUGH

triton.THREADS = triton.WARP
N = 70 if THOROUGH else 26  # more than a program has streams, or fewer
# past the round in which Tracker's second expert joins, and the move by which its first trend gets
# weight
ROUNDS, LONG = 18, 42
CASES = [
    ("Tracker", {"dim": 1}),
    ("Tracker", {"dim": 3}),
    ("MultiScale", {"dim": 1}),
    ("MultiScale", {"dim": 2, "lipschitz": 3.0}),
    ("IntervalTracker", {}),
    ("QuantileTracker", {}),
]


def run(kind, config, engine, rounds):
    """All plays of a replay, of rounds of all streams and of rounds of some, and what is left."""
    fleet = DeviceFleet(kind, N, device="cpu", **config)
    fleet._streams.engine = engine
    rng, dim, told = np.random.default_rng(0), config.get("dim", 1), kind == "IntervalTracker"
    y = torch.as_tensor(
        rng.normal(size=(rounds, N, dim) if dim > 1 else (rounds, N)), dtype=torch.float32
    )
    y[3, 5] = float("nan")
    loss = {"loss": sp.losses.Absolute()} if "dim" in config else {}
    plays = [fleet.track(y, *[torch.zeros_like(y)] * told, **loss)]
    which = torch.tensor([3, 0, 25, 0, 7, 0])[::2]  # not contiguous
    for part in (None, which):
        zeros = [torch.zeros(N if part is None else 3)] * told
        plays.append(fleet.predict(*zeros, which=part))
        fleet.update(0.1 * (y[0] if part is None else y[0][part]), which=part)
    plays.append(fleet.predict(*[torch.zeros(N)] * told))
    flat = torch.cat([x.double().flatten() for item in plays for x in (item if told else [item])])
    return flat, fleet.rounds, fleet.rejected


for kind, config in CASES:
    rounds = LONG if config == {"dim": 1} and kind == "Tracker" else ROUNDS
    (ours, *counts), (theirs, *other) = (
        run(kind, config, engine, rounds) for engine in (triton.with_triton, triton.with_torch)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(counts, other, strict=True))
    print(kind, config, "agrees", flush=True)
