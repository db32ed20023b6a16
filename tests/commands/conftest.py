"""Inputs that several tests of commands read."""

import numpy as np
import pytest

from tracked import T, table, write


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((T, 3)).round(6)
    y = (X @ [1.0, -2.0, 0.5] + np.sin(np.arange(T) / 30) + 0.3 * rng.standard_normal(T)).round(6)
    times = np.cumsum(rng.exponential(1.0, T)).round(6) + 0.001 * np.arange(T)
    return X, y, times


@pytest.fixture
def plain(data, tmp_path):
    columns = table(data)
    del columns["t"]
    return write(tmp_path / "plain.csv", columns)
