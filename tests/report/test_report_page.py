"""The report page without a browser: its words and curves are its data's, and it needs nothing
else.
"""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from stillpoint.report.data import largest_change
from stillpoint.report.history import history_from_arrays
from stillpoint.report.page import write_page
from stillpoint.report.words import count, figure, percent, verdict

RNG = np.random.default_rng(0)


def run_of(rows=1500, buckets=2000, time=None, **more):
    """A drifting level, forecast fairly well, whose experts swap places two thirds through."""
    t = np.arange(rows)
    truth = np.sin(t / 200) + 2.0 * (t > rows * 2 // 3)
    y = truth + 0.3 * RNG.standard_normal(rows)
    forecast = truth + 0.1 * RNG.standard_normal(rows)
    guesses = {
        "stillpoint": forecast,
        "last value": np.r_[0.0, y[:-1]],
        "running mean": np.zeros(rows),
        "truth": truth,
    }
    late = 0.8 * (t > rows * 2 // 3)
    weights = np.stack([0.9 - late, np.full(rows, 0.1), late], axis=1)
    parts = {
        "lo": forecast - 0.5,
        "hi": forecast + 0.5,
        "losses": {k: np.abs(y - v) for k, v in guesses.items()},
        "weights": weights,
    }
    names = {"expert_labels": ["slow", "medium", "fast"], "loss_name": "absolute error"}
    history = history_from_arrays(
        y, forecast, **{**parts, **more}, **names, time=time, buckets=buckets
    )
    inside = np.abs(y - forecast) <= 0.5
    loss = {k: float(v.sum()) / max(rows, 1) for k, v in parts["losses"].items()}
    return history, {
        "rows": rows,
        "target": "level",
        "loss": loss,
        "coverage": {"target": 0.9, "achieved": inside.sum() / max(rows, 1)},
    }


def written(tmp_path, history, summary, title="A run"):
    path = tmp_path / "report.html"
    write_page(path, history, summary, title)
    return path.read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Text, tags and attributes; complains about tags that do not close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.words, self.inside = [], [], [], [], {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.links += [
            v for k, v in attributes if k in ("src", "href", "action", "data", "srcset", "poster")
        ]
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.inside.setdefault(self.open[-1], []).append(data)
        else:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"[ \n]+", " ", "".join(self.words))  # but thin spaces stay

    @property
    def drawing(self):
        return json.loads(self.inside["script"][0])

    @property
    def run(self):
        """The axis of the whole run."""
        return self.drawing["axes"]["run"]


def test_page_is_whole_and_needs_nothing_else(tmp_path):
    text = written(tmp_path, *run_of())
    page = Reader(text)
    assert text.startswith("<!doctype html>")
    assert page.links == ["data:,"]
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"url\((?!#)|@import|\bfetch\(|XMLHttpRequest|import\(", text)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for name in ("aria-labelledby", "aria-describedby"):
        assert all(a[name] in ids for _, a in page.tags if name in a)
    assert [
        a.get("aria-label") for tag, a in page.tags if tag == "svg" and not a.get("aria-label")
    ] == []


def test_words_say_what_the_data_say(tmp_path):
    history, summary = run_of(4000)
    page, c, loss = Reader(written(tmp_path, history, summary)), history.columns(), summary["loss"]
    for name, words in (
        ("last value", "repeating the last value"),
        ("running mean", "forecasting the average of everything so far"),
    ):
        saved = round(100 * (1 - c["loss:stillpoint"].sum() / c[f"loss:{name}"].sum()))
        assert f"about {saved}% less error than {words}" in page.text
    achieved = c["covered"].sum() / c["scored"].sum()
    assert (
        f"asked to hold 90% of the time and held {percent(achieved)} of the time; it is 1.00 wide"
        " on average" in page.text
    )
    assert (
        f"would have made {percent(loss['truth'] / loss['stillpoint'])} of our error" in page.text
    )
    assert "forecast level for 4\u202f000 rows" in page.text
    row = int(
        re.search(r"largest change was noticed around row ([\d\u202f]+)", page.text)[1].replace(
            "\u202f", ""
        )
    )
    assert abs(row - 2667) < 200
    assert "from “slow” to “fast”" in page.text
    assert "theorem" not in page.text  # nothing was promised


def test_curves_are_those_of_the_data(tmp_path):
    history, summary = run_of(3000, buckets=500)
    summary["coverage"] |= {
        "most_misses": 0.1 * 3000 + 3 * np.sqrt(0.09 * 3100) + 0.9,
        "least_misses": 0.1 * 3000 - 3 * np.sqrt(0.09 * 3100) - 0.1,
    }
    drawing, c = Reader(written(tmp_path, history, summary)).drawing, history.columns()
    columns = {
        name: np.array([np.nan if v is None else v for v in values])
        for name, values in drawing["axes"]["run"]["columns"].items()
    }
    assert [chart["id"] for chart in drawing["charts"]] == [
        "target",
        "losses",
        "regret",
        "errors",
        "misses",
        "weights",
        "coverage",
    ]
    for name in ("y_min", "y_mean", "y_max", "forecast", "lo", "hi"):
        np.testing.assert_allclose(columns[name], c[name], rtol=1e-6)
    ours = np.cumsum(c["loss:stillpoint"])
    np.testing.assert_allclose(columns["sum:stillpoint"], ours, rtol=1e-6)
    np.testing.assert_allclose(columns["over:truth"], ours - np.cumsum(c["loss:truth"]), atol=1e-4)
    np.testing.assert_allclose(
        columns["over:last value"], ours - np.cumsum(c["loss:last value"]), atol=1e-4
    )
    np.testing.assert_allclose(
        columns["excess"],
        np.cumsum(c["scored"] - c["covered"]) - 0.1 * np.cumsum(c["scored"]),
        atol=1e-4,
    )
    seen = np.cumsum(c["scored"])
    np.testing.assert_allclose(
        columns["at most"], 3 * np.sqrt(0.09 * (seen + 100)) + 0.9, rtol=1e-6
    )
    np.testing.assert_allclose(
        columns["at least"], -3 * np.sqrt(0.09 * (seen + 100)) - 0.1, rtol=1e-6
    )
    b = 400  # coverage in the last window of 100 rows, buckets of 6
    share = c["covered"][b - 16 : b + 1].sum() / c["scored"][b - 16 : b + 1].sum()
    assert columns["share"][b] == pytest.approx(share, rel=1e-6)
    assert np.isnan(columns["share"][0])


def test_a_band_is_drawn_only_where_it_was_promised(tmp_path):
    history, summary = run_of(3000)
    for most, expected in (
        (None, False),
        (340.0, False),
        (0.1 * 3000 + 6 * np.sqrt(0.05 * 0.95 * 3100) + 1.9, True),
    ):
        given = {
            **summary,
            "coverage": (
                {**summary["coverage"], "least_misses": 0.0}
                | ({} if most is None else {"most_misses": most})
            ),
        }
        columns = Reader(written(tmp_path, history, given)).run["columns"]
        assert ("at most" in columns) == expected
        assert "at least" not in columns


@pytest.mark.parametrize(
    "gone",
    [
        "y_",
        "forecast",
        "lo",
        "covered",
        "loss:",
        "loss:stillpoint",
        "weight:",
        "time",
        "width",
        "row",
        "rows",
    ],
)
def test_missing_parts_leave_no_hole(tmp_path, gone):
    history, summary = run_of(500, time=np.arange(500.0))
    history.data = {
        name: v
        for name, v in history.data.items()
        if not (name.startswith(gone) if gone[-1] in ":_" else name == gone)
    }
    del summary["coverage"], summary["loss"]
    page = Reader(written(tmp_path, history, summary))
    figures = [a["id"] for tag, a in page.tags if tag == "svg"]
    assert sorted(figures) == sorted(f"c-{chart['id']}" for chart in page.drawing["charts"])
    assert ("c-weights" in figures) == (gone != "weight:")
    assert ("c-losses" in figures) == (gone != "loss:")
    assert not re.search(r"\b(nan|None|undefined|inf)\b", page.text)


@pytest.mark.parametrize("rows", [0, 1, 2, 30])
def test_short_runs_have_a_page(tmp_path, rows):
    history, _ = run_of(rows)
    page = Reader(written(tmp_path, history, {}))
    assert f"{rows} row" in page.text
    assert bool(page.drawing["charts"]) == (rows > 1)


def test_names_cannot_become_markup(tmp_path):
    evil = "</script><script>alert(1)</script>&\"'\u2028"
    history, summary = run_of(300)
    history.expert_labels = [evil, "b", "c"]
    history.data[f"loss:{evil}"] = history.data["loss:last value"]
    summary |= {
        "target": evil,
        "features": [evil],
        "source": f"/a/{evil}",
        "task": evil,
        "certificate": {evil: 3.0},
        "started": evil,
    }
    text = written(tmp_path, history, summary, evil)
    page = Reader(text)
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    assert "alert(1)" not in page.inside["script"][1]
    assert page.drawing["charts"][-2]["series"][0]["name"] == evil
    assert "<script>alert" not in text


def test_holes_and_infinities_are_left_blank(tmp_path):
    rows = 600
    y, forecast = RNG.standard_normal((2, rows))
    lo, hi = forecast - 1.0, forecast + 1.0
    y[50:90], lo[:40], hi[:40], lo[100], hi[100] = np.nan, -np.inf, np.inf, np.nan, np.nan
    loss = np.where(np.isnan(y), np.nan, np.abs(y - forecast))
    history = history_from_arrays(
        y, forecast, lo, hi, {"stillpoint": loss, "last value": np.full(rows, np.inf)}
    )
    history.data["weight:0"], history.data["weight:1"] = np.full(rows, np.nan), np.ones(rows)
    history.data["loss:last value"][:] = np.inf
    summary = {
        "loss": {"stillpoint": 1.0, "last value": np.inf},
        "certificate": {"a": np.nan, "b": None, "c": np.inf},
        "coverage": {"target": 0.9, "achieved": 0.5, "mean_width": np.inf, "most_misses": None},
    }
    page = Reader(written(tmp_path, history, summary))
    assert not re.search(r"\b(nan|None|inf)\b", page.text)
    columns = page.run["columns"]
    assert columns["lo"][:40] == [None] * 40
    assert columns["y_mean"][50:90] == [None] * 40
    assert "it is 2.00 wide" in page.text
    c = history.columns()
    assert c["scored"].sum() == rows - 41  # (−∞, ∞) is scored, a missing target or interval is not
    assert c["covered"][:40].all()


def test_dates_are_told_as_dates(tmp_path):
    start = 1_709_251_200.0  # 1 March 2024
    history, summary = run_of(1000, time=start + 86400.0 * np.arange(1000))
    page = Reader(written(tmp_path, history, {**summary, "time_kind": "date", "source": "a/b.csv"}))
    assert page.run["kind"] == "date"
    assert page.run["x"][:2] == [1709251200, 1709337600]
    assert "b.csv · 1\u202f000 rows · 1 Mar 2024 – 25 Nov 2026" in page.text
    back = history_from_arrays(np.arange(50.0), time=-np.arange(50.0))
    # time must not run backwards
    assert Reader(written(tmp_path, back, {"time_kind": "date"})).run["kind"] == "row"


def test_times_that_no_calendar_has_are_numbers(tmp_path):
    for start, kind in (
        (-62_135_596_800.0, "date"),
        (-62_135_596_801.0, "number"),
        (253_402_300_799.0, "number"),
    ):
        history = history_from_arrays(np.arange(50.0), time=start + np.arange(50.0))
        assert Reader(written(tmp_path, history, {"time_kind": "date"})).run["kind"] == kind


def test_a_number_beyond_floats_is_a_dash(tmp_path):
    assert figure(10**400) == count(10**400) == percent(-(10**400)) == "–"
    history, summary = run_of(50)
    written(tmp_path, history, {**summary, "certificate": {"a": 10**400}})


def test_certificates_are_told_and_drawn(tmp_path):
    history, summary = run_of(800, buckets=200)
    bound, measured = np.arange(800.0) + 5, np.sqrt(np.arange(800.0))
    curve = {"row": np.arange(800), "bound": bound, "measured": measured}
    certificate = {"error beyond the best, at most": 1234.5, "misses at most": 77.0}
    page = Reader(
        written(
            tmp_path, history, {**summary, "certificate": certificate, "certificate_curve": curve}
        )
    )
    assert "error beyond the best: at most 1\u202f230" in page.text
    assert "misses: at most 77" not in page.text
    assert page.run["columns"]["bound"] == (bound[3::4]).tolist()
    np.testing.assert_allclose(page.run["columns"]["measured"], measured[3::4], rtol=1e-6)


def test_size_of_a_long_run(tmp_path):
    rows, experts = 200_000, 40
    values = RNG.standard_normal((6, rows)) * 1234.5678
    weights = RNG.dirichlet(np.ones(experts), rows)
    losses = {
        name: np.abs(values[i])
        for i, name in enumerate(
            ("stillpoint", "last value", "running mean", "full-history RLS", "truth")
        )
    }
    history = history_from_arrays(
        values[0],
        values[1],
        values[2],
        values[3],
        losses,
        weights,
        time=1.7e9 + np.arange(rows) * 0.1,
    )
    assert len(history.columns()["row"]) == 2000
    assert (
        len(written(tmp_path, history, {"time_kind": "date", "coverage": {"target": 0.9}}))
        < 1_500_000
    )


def test_history_from_arrays_adds_up():
    rows, buckets = 1003, 100
    history, _ = run_of(rows, buckets)
    c = history.columns()
    assert c["rows"].sum() == rows
    assert set(c["rows"]) == {10.0, 11.0}
    np.testing.assert_array_equal(c["row"], np.cumsum(c["rows"]) - c["rows"])
    assert c["scored"].sum() == rows
    assert (c["y_min"] <= c["y_mean"]).all()
    assert (c["y_mean"] <= c["y_max"]).all()
    with pytest.raises(ValueError, match="forecast must have shape"):
        history_from_arrays([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="weights must have shape"):
        history_from_arrays([1.0, 2.0], weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="expert_labels must be 2 names"):
        history_from_arrays([1.0, 2.0], weights=np.ones((2, 2)), expert_labels=["a"])


def test_steady_weights_are_no_change():
    weights = np.full((400, 3), 1 / 3) + 0.01 * RNG.standard_normal((400, 3))
    assert (
        largest_change(
            history_from_arrays(np.zeros(400), weights=weights).columns(), ["a", "b", "c"]
        )
        is None
    )


def test_numbers_for_people():
    thin = "\u202f"
    cases = {
        0: "0",
        1: "1.00",
        -1234.5: f"−1{thin}230",
        0.00012345: "0.000123",
        999.9: f"1{thin}000",
        12345678: f"12{thin}300{thin}000",
    }
    cases |= {
        1.5e12: f"1.50{thin}×{thin}10¹²",
        -2e-7: f"−2.00{thin}×{thin}10⁻⁷",
        np.nan: "–",
        np.inf: "–",
        None: "–",
        0.5: "0.500",
    }
    assert {k: figure(k) for k in cases} == cases
    assert [count(v) for v in (0, 1234567, -5, np.nan)] == ["0", f"1{thin}234{thin}567", "−5", "–"]
    assert [percent(v) for v in (0.9, 0.9012, 1, -0.05, None, 1e300)] == [
        "90%",
        "90.1%",
        "100%",
        "−5%",
        "–",
        f"1.00{thin}×{thin}10³⁰²%",
    ]
    assert [percent(v) for v in (0.9996, 0.99999)] == ["over 99.9%"] * 2
    assert [verdict(a, 1.0) for a in (0.63, 1.12, 1.004, 3.0, 0.001, 0.0)] == [
        "about 37% less error than",
        "about 12% more error than",
        "about the same error as",
        "about 3.0 times the error of",
        "over 99% less error than",
        "about 100% less error than",
    ]


def test_a_baseline_far_behind_still_has_not_all_of_the_error(tmp_path):
    history, summary = run_of()
    text = Reader(
        written(tmp_path, history, summary | {"loss": {"stillpoint": 0.001, "last value": 1.0}})
    ).text
    assert "over 99% less" in text
    assert "100% less" not in text


def test_a_run_without_a_target_claims_no_error(tmp_path):
    history, _ = run_of(losses={"stillpoint": np.zeros(1500), "last value": np.zeros(1500)})
    given = {
        "rows": 1500,
        "target": "level",
        "loss": {"stillpoint": None, "last value": None},
        "loss_rows": 0,
    }
    reader = Reader(written(tmp_path, history, given))
    assert "No forecast could be scored" in reader.text
    assert "Error added up" not in reader.text
    assert "Ahead or behind" not in reader.text
    assert "Mean error" not in reader.text


def test_the_chance_is_that_of_a_label(tmp_path):
    history, summary = run_of()
    text = Reader(
        written(
            tmp_path, history, summary | {"task": "binary", "labels": {"0": "no", "1": "<yes>"}}
        )
    ).text
    assert "the chance that level is “<yes>” for" in re.sub(r"\s+", " ", text)
    assert "the chance of level for" in re.sub(
        r"\s+", " ", Reader(written(tmp_path, history, summary | {"task": "binary"})).text
    )


def test_notes_are_on_the_page(tmp_path):
    history, summary = run_of()
    reader = Reader(
        written(
            tmp_path, history, summary | {"notes": ["column 'a<b' was read as words", "second"]}
        )
    )
    assert "Note: column 'a<b' was read as words." in reader.text
    assert "Note: second." in reader.text
    assert "Note:" not in Reader(written(tmp_path, history, summary)).text


def test_a_time_that_is_the_number_of_the_row_is_called_row(tmp_path):
    history, summary = run_of(4000, time=np.arange(4000.0))
    assert (
        "largest change was noticed around row " in Reader(written(tmp_path, history, summary)).text
    )
    history, summary = run_of(4000, time=np.arange(1.0, 4001.0))
    assert (
        "largest change was noticed around time "
        in Reader(written(tmp_path, history, summary)).text
    )
