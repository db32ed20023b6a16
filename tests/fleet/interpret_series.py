"""The Triton kernel of forecasters under Triton's interpreter beside torch: run with
TRITON_INTERPRET=1, set before the import.
"""

import numpy as np
import torch

from stillpoint.fleet.gpu import DeviceFleet
from stillpoint.fleet.gpu.series import kernel
from thorough import THOROUGH

# fewer or more than a tile has streams; past the rounds that units are told after
N, ROUNDS = 70 if THOROUGH else 60, 13
CASES = [{"season": [3], "horizon": 8}]


def run(config, engine):
    """All forecasts and intervals of a replay and of rounds of some, and what is left."""
    fleet = DeviceFleet("Forecaster", N, device="cpu", pool="small", **config)
    fleet._streams.engine = engine
    rng = np.random.default_rng(0)
    y = torch.as_tensor(rng.normal(10.0, 2.0, size=(ROUNDS + 3, N)), dtype=torch.float32)
    y[4, 5] = float("nan")
    y[ROUNDS - 1, 7] = -1.0  # the end of its logarithms
    plays = [*fleet.track(y[:ROUNDS], intervals=True)]
    which = torch.tensor([3, 0, 50, 0, 7, 0])[::2]  # not contiguous
    for t, part in ((0, None), (1, which), (2, None)):
        fleet.update(y[ROUNDS + t] if part is None else y[ROUNDS + t][part], which=part)
        plays.append(fleet.predict(horizon=config["horizon"]))
        plays.extend(fleet.interval())
    return torch.cat([x.double().flatten() for x in plays]), fleet.rounds, fleet.rejected


for config in CASES:
    (ours, *counts), (theirs, *other) = (
        run(config, kernel.with_triton),
        run(config, kernel.with_torch),
    )
    torch.testing.assert_close(ours, theirs, rtol=3e-5, atol=3e-5)
    assert all(torch.equal(a, b) for a, b in zip(counts, other, strict=True))
    print(config, "agrees", flush=True)
