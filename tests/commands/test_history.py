"""The history of a run for its report, and what the command costs in memory and imports."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from children import (
    no_child_survives,  # noqa: F401
)
from stillpoint.commands._rows import Forecasts
from stillpoint.commands.history import History


def test_history_is_bounded_and_exact():
    rng = np.random.default_rng(0)
    n, capacity = 1003, 16
    y, f = rng.standard_normal((2, n))
    f[0] = 0.0  # nothing has been seen, and it is not drawn
    y[rng.random(n) < 0.1] = np.nan
    lo, hi = f - 1.0, f + 1.0
    hi[rng.random(n) < 0.1] = np.inf
    losses, weights, times = (
        rng.random((2, n)),
        rng.dirichlet(np.ones(3), n),
        np.cumsum(rng.random(n)),
    )
    history = History(
        "regression", "squared error", ["stillpoint", "last value"], ["p", "q", "r"], capacity
    )
    cuts = [0, 1, 2, 17, 400, 401, n]
    for a, b in itertools.pairwise(cuts):
        part = slice(a, b)
        args = (
            times[part],
            y[part],
            f[part],
            lo[part],
            hi[part],
            np.ascontiguousarray(losses[:, part]),
            weights[part],
        )
        history.add(1 + a, Forecasts(*args), True)
    columns = history.columns()
    size = 64
    assert columns["rows"].tolist() == [size] * (n // size) + [n % size]
    assert columns["row"].tolist() == list(range(1, n + 1, size))
    for b, start in enumerate(range(0, n, size)):
        part = slice(start, min(start + size, n))
        seen = y[part][~np.isnan(y[part])]
        finite = np.isfinite(hi[part])
        expected = {
            "time": times[start],
            "y_min": seen.min(),
            "y_mean": seen.mean(),
            "y_max": seen.max(),
            "forecast": f[part][b == 0 :].mean(),
            "lo": lo[part].mean(),
            "hi": hi[part][finite].mean(),
            "width": 2.0,
            "scored": seen.size,
            "covered": ((lo[part] <= y[part]) & (y[part] <= hi[part])).sum(),
            "loss:last value": losses[1, part][~np.isnan(y[part])].sum(),
            "weight:2": weights[part, 2].mean(),
        }
        for name, value in expected.items():
            assert columns[name][b] == pytest.approx(value), name
    other = History(
        "regression", "squared error", ["stillpoint", "last value"], ["p", "q", "r"], capacity
    )
    other.restore(history.arrays())
    for name, values in other.columns().items():
        np.testing.assert_array_equal(values, columns[name])
    last = slice(n - 512, n)
    for name, values in (("row", np.arange(1.0, n + 1)), ("time", times), ("y", y), ("hi", hi)):
        np.testing.assert_array_equal(history.recent()[name], values[last])
        np.testing.assert_array_equal(other.recent()[name], values[last])
    old = {name: value for name, value in history.arrays().items() if name != "recent"}
    other.restore(old)  # of a version that kept no rows
    assert other.recent()["row"].size == 0
    assert set(other.arrays()) == set(old)
    other.add(1 + n, Forecasts(*args), True)
    assert other.recent()["row"].tolist() == list(range(1 + n, 1 + n + args[0].size))[-512:]


def test_history_of_a_long_stream_stays_small():
    history = History("regression", "squared error", ["stillpoint"], ["p"])
    n = 1 << 16
    ones = np.ones(n)
    for i in range(16):
        history.add(
            1 + i * n, Forecasts(ones, ones, ones, ones, ones, ones[None], ones[:, None]), True
        )
    columns = history.columns()
    assert 1000 <= len(columns["row"]) <= 2000
    assert columns["rows"].sum() == columns["loss:stillpoint"].sum() == 16 * n
    assert sum(value.nbytes for value in history.arrays().values()) < 400_000


def test_empty_buckets_are_nan():
    history = History("binary", "log loss", [], [])
    nan = np.full(1, np.nan)
    none = np.zeros((0, 1)), np.zeros((1, 0))
    history.add(1, Forecasts(np.ones(1), nan, np.ones(1), nan, nan, *none), False)
    columns = history.columns()
    assert all(
        np.isnan(columns[name]).all() for name in ("y_min", "y_mean", "y_max", "lo", "hi", "width")
    )
    assert columns["scored"].tolist() == columns["covered"].tolist() == [0.0]


@pytest.mark.slow  # reads large files
def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 30 MB passes in a process whose memory grows by far less."""
    for name, rows in (("small.csv", 5_000), ("big.csv", 30_000)):
        with (tmp_path / name).open("w") as file:
            file.write("a,note,y\n")
            file.writelines(["0.125," + "n" * 1000 + ",1.5\n"] * rows)
    code = (
        "import resource, sys\n"
        "from stillpoint.commands import track\n"
        "for name in ('small.csv', 'big.csv'):\n"
        "    source, out = f'{sys.argv[1]}/{name}', sys.argv[1] + '/o'\n"
        "    assert track(source, 'y', out, features='a', quiet=True) == 0\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    before, after = map(int, done.stdout.split())
    assert after - before < 10_000  # kB


def test_the_command_is_light_to_import():
    code = (
        "import stillpoint.commands, sys\n"
        "print([m for m in ('numba', 'numpy', 'rich', 'typer') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
