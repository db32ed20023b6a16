"""Outputs that are links: the link stays, and what it leads to is replaced, whole."""

import json
from pathlib import Path

import pytest

import stillpoint as sp
from children import snapshot
from extras import package
from stillpoint.commands import fleet, track
from stillpoint.core import container


@pytest.fixture
def linked(tmp_path):
    """A folder of links, and the files that they lead to, old ones and one that is not
    there yet.
    """
    out, store = tmp_path / "o", tmp_path / "store"
    out.mkdir()
    store.mkdir()
    for name in ("predictions.csv", "summary.json", "report.html", "checkpoint.npz"):
        (out / name).symlink_to(store / f"real-{name}")
    for name in ("predictions.csv", "summary.json"):
        (store / f"real-{name}").write_text("old")
    return out, store


@pytest.mark.parametrize("command", ["track", "fleet"])
def test_links_stay_and_what_they_lead_to_is_written(tmp_path, linked, command):
    out, store = linked
    source = tmp_path / "d.csv"
    source.write_text("k,y\n" + "1,2\n2,3\n" * 20)
    for _ in range(2):
        if command == "track":
            assert track(str(source), "y", out, quiet=True) == 0
            assert track(str(source), "y", tmp_path / "with", checkpoint=out, quiet=True) == 0
        else:
            assert fleet(str(source), "k", "y", out, learner="kernel", quiet=True) == 0
            told = {"learner": "kernel", "checkpoint": out, "quiet": True}
            assert fleet(str(source), "k", "y", tmp_path / "with", **told) == 0
    names = [
        "predictions.csv",
        "summary.json",
        "checkpoint.npz",
        *(["report.html"] if command == "track" else []),
    ]
    for name in names:
        assert (out / name).is_symlink(), name
        assert (store / f"real-{name}").stat().st_size > 100
    assert json.loads((store / "real-summary.json").read_text())["rows"] == 40
    assert not [*store.glob(".*"), *out.glob(".*")]


@pytest.mark.parametrize(
    "name", [".real-summary.json.part", "real-summary.json", "real-predictions.csv"]
)
@pytest.mark.parametrize("command", ["track", "fleet"])
def test_an_input_that_links_lead_to_is_spared(tmp_path, linked, capsys, command, name):
    out, store = linked
    source = store / name
    source.write_text("k,y\n1,2\n")
    before = snapshot(tmp_path)
    if command == "track":
        assert track(str(source), "y", out, format="csv") == 2
    else:
        assert fleet(str(source), "k", "y", out) == 2
    assert "--out must not overwrite the input: got " in capsys.readouterr().err
    assert snapshot(tmp_path) == before


@pytest.mark.extra
def test_predictions_in_parquet_go_through_a_link(tmp_path, linked):
    package("pyarrow")
    out, store = linked
    (out / "predictions.parquet").symlink_to(store / "real.parquet")
    source = tmp_path / "d.csv"
    source.write_text("k,y\n" + "1,2\n2,3\n" * 20)
    assert track(str(source), "y", out, predictions="parquet", quiet=True) == 0
    assert (out / "predictions.parquet").is_symlink()
    assert (store / "real.parquet").read_bytes().startswith(b"PAR1")
    assert (out / "predictions.csv").is_symlink()
    assert not (out / "predictions.csv").exists()  # it has served


@pytest.mark.parametrize("there", [True, False], ids=["old", "none"])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_learner_is_saved_through_a_link(tmp_path, there, steps):
    real, link = tmp_path / "there" / "real", tmp_path / "link1"
    real.parent.mkdir()
    if there:
        real.write_bytes(b"old")
    link.symlink_to(Path("there") / "real")
    if steps == 2:
        (tmp_path / "link2").symlink_to("link1")
        link = tmp_path / "link2"
    model = sp.KernelForecaster()
    model.update(1.5)
    sp.save(model, link)
    assert link.is_symlink()
    assert not real.is_symlink()
    assert sp.load(real).predict() == sp.load(link).predict() == model.predict()
    assert sorted(path.name for path in real.parent.iterdir()) == ["real"]


def test_a_link_that_leads_nowhere_or_in_a_circle_is_left_as_it_is(tmp_path):
    nowhere, circle = tmp_path / "nowhere", tmp_path / "circle"
    nowhere.symlink_to(tmp_path / "none" / "real")
    circle.symlink_to(circle)
    for link in (nowhere, circle):
        with pytest.raises(OSError):  # noqa: PT011
            container.replace(link, b"new")
        assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circle", "nowhere"]
