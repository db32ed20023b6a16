"""Pages of series: the forecast ahead comes first, and each part says what the summary says."""

import copy
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from series_run import START, series_of
from test_report_page import Reader, written

from stillpoint.report.ahead import Ahead, cycle
from stillpoint.report.axis import Axis
from stillpoint.report.data import hardest_stretch
from stillpoint.report.facts import Facts
from stillpoint.report.paces import worded
from stillpoint.report.words import figure, near, steps
from thorough import some_of
from tracked import run, write


def page_of(tmp_path, history, summary):
    return Reader(written(tmp_path, history, summary, "Forecasting load"))


def section(page, title, ends="What |How |Guarantees"):
    """The text of a section."""
    return re.search(f"{title}(.*?)(?={ends})", page.text)[1]


def test_the_first_chart_has_the_last_rows_and_the_fan(tmp_path):
    history, summary = series_of()
    page = page_of(tmp_path, history, summary)
    first = page.drawing["charts"][0]
    assert (first["id"], first["axis"]) == ("ahead", "recent")
    axis = page.drawing["axes"]["recent"]
    past = len(axis["x"]) - 24
    assert past == 3 * 24  # the fan is a quarter of it
    np.testing.assert_array_equal(axis["x"], START + 3600.0 * np.arange(600 - past, 624))
    said = [each["forecast"] for each in summary["forecast"]]
    np.testing.assert_allclose(axis["columns"]["ahead"][past:], said, rtol=1e-6)
    assert axis["columns"]["ahead"][:past] == [None] * past
    assert axis["columns"]["y"][past:] == [None] * 24
    np.testing.assert_allclose(
        axis["columns"]["y"][:past], history.recent()["y"][-past:], rtol=1e-6
    )
    assert axis["marks"][0] == {"at": past - 1, "text": "now"}


def test_the_answer_is_one_sentence_and_three_numbers(tmp_path):
    history, summary = series_of()
    page = page_of(tmp_path, history, summary)
    assert (
        "Over the next 24 hours load should average 200.0, about as much as over the last 24;"
        " lowest 180.0 (26 Mar 12:00), highest 220.0 (26 Mar 00:00)." in page.text
    )
    assert "2.05 against 3.00" in page.text
    assert (
        "typical error one hour ahead; about 32% less than repeating the value of a day ago"
        in page.text
    )
    assert "of values fell inside their interval; 90% was asked for" in page.text
    assert "the next value, 26 Mar 2024 00:00; 90% interval 216.0 to 224.0" in page.text
    assert sum(tag == "dd" for tag, _ in page.tags) == 3


def test_without_a_target_nothing_is_foretold(tmp_path):
    history, summary = series_of()
    page = page_of(tmp_path, history, summary | {"targets": 0})
    assert "No row has a value of load: nothing was learnt" in page.text
    assert "should average" not in page.text
    assert "the next value" not in page.text


def test_changes_have_words_size_and_a_place_on_the_charts(tmp_path):
    history, summary = series_of()
    page = page_of(tmp_path, history, summary)
    told = section(page, "What changed")
    assert "Level rose from 150 to 200 on 17 March 2024 (+50.0, +33%) noticed 3 hours later" in told
    assert page.run["marks"] == [{"at": 200, "text": "1"}]  # buckets of two rows
    assert "largest change" not in page.text
    calm = page_of(tmp_path, history, summary | {"changes": []})
    assert "no change of level, spread, slope or season was found" in calm.text


def test_many_changes_leave_the_last_twelve_in_view(tmp_path):
    history, summary = series_of()
    one = summary["changes"][0]
    many = [one | {"start": i, "row": i, "words": f"level rose, case {i}"} for i in range(30)]
    page = page_of(tmp_path, history, summary | {"changes": many[::-1]})
    told = section(page, "What changed")
    assert told.index("18 earlier changes") < told.index("case 17") < told.index("case 18")
    assert [a["value"] for tag, a in page.tags if tag == "li"] == [str(i + 1) for i in range(30)]


def test_changes_without_words_are_told_from_their_numbers(tmp_path):
    history, summary = series_of()
    change = summary["changes"][0] | {"words": None}
    kinds = {
        "level": (150, 200, "Level rose from 150 to 200 on 17 Mar 2024 16:00 (+50.0, +33%)"),
        "level down": (2, -3, "Level fell from 2.00 to −3.00 on 17 Mar 2024 16:00 (−5.00)"),
        "wider": (2, 5, "Spread grew from 2.00 to 5.00 on 17 Mar 2024 16:00 (2.5 times as wide)"),
        "narrower": (2, 5, "Spread shrank on 17 Mar 2024 16:00 "),
    }
    for kind, (before, after, words) in kinds.items():
        given = change | {"kind": kind, "before": before, "after": after}
        page = page_of(tmp_path, history, summary | {"changes": [given]})
        assert words in section(page, "What changed")
        assert ("times as wide" in page.text) == (kind == "wider")


def test_components_add_up_in_words(tmp_path):
    page = page_of(tmp_path, *series_of())
    told = section(page, "What the forecast is made of")
    parts = "level200.0 trend+0.1 daily pattern+19.9 recent deviations−0.5 the next forecast219.5"
    assert parts in told
    bars = [a["style"] for tag, a in page.tags if tag == "i" and "left" in a.get("style", "")]
    ends = [tuple(map(float, re.findall(r"[\d.]+", bar))) for bar in bars]
    assert all(0 <= left and left + width <= 100.01 for left, width in ends)
    assert ends[2][0] == pytest.approx(
        ends[1][0] + ends[1][1], abs=0.5
    )  # one begins where another ends


def test_horizons_say_how_far_ahead_it_is_good(tmp_path):
    history, summary = series_of()
    page = page_of(tmp_path, history, summary)
    told = section(page, "How far ahead it is good", "How it went")
    assert (
        "Better than the best simple forecast up to 6 hours ahead; from 24 hours on, repeating the"
        " value of a day ago does as well." in told
    )
    assert "The typical error is 2.05 at 1 hour and 3.20 at 24 hours ahead." in told
    assert "Intervals held 87.6% to 89.9% of the values." in told
    axis = page.drawing["axes"]["steps"]
    assert axis["x"] == [1, 2, 6, 24]
    assert axis["columns"]["error"] == [2.05, 2.1, 2.3, 3.2]
    assert axis["columns"]["held"] == [0.899, 0.898, 0.894, 0.876]
    for errors, words in (
        ((1.0, 1.5), "at every horizon: 67% less error for the next hour, 50% less 24 hours ahead"),
        ((3.0, 4.0), "No better than the best simple forecast at any horizon."),
        ((3.0, 2.0), "Better than the best simple forecast at 1 of 2 horizons."),
    ):
        two = [
            {"step": h, "error": e, "seasonal naive": 3.0}
            for h, e in zip((1, 24), errors, strict=True)
        ]
        assert words in Ahead(summary | {"horizons": two}).reach


def test_a_few_rows_say_nothing_of_how_good_it_is(tmp_path):
    source = write(tmp_path / "s.csv", {"y": [1.0, 3.0, 2.0, 5.0, 4.0]})
    _, summary = run(source, tmp_path / "o")
    told = Reader((tmp_path / "o" / "report.html").read_text(encoding="utf-8")).text
    assert "of values fell inside their interval: too few rows to say" in told
    assert "best simple forecast" not in Ahead(summary).reach
    assert summary["notes"] == []  # its intervals reach below 0, as those of a few rows do


def test_many_horizons_are_behind_a_fold(tmp_path):
    history, summary = series_of()
    many = [{"step": h, "error": 1.0 + h, "last value": 9.0} for h in range(1, 101)]
    page = page_of(tmp_path, history, summary | {"horizons": many})
    few, every = section(page, "How far ahead it is good", "How it went").split("All 100 horizons")
    shown = re.findall(r"(\d+) hours?\d", few.split("interval’s width")[1])
    assert shown == ["1", "2", "4", "7", "14", "27", "52", "100"]
    assert len(re.findall(r"\d+ hours?\d", every)) == 100


def test_buckets_of_many_rows_are_not_taken_for_rows(tmp_path):
    history, summary = series_of(rows=3000, keep=False)  # buckets of ten rows
    page = page_of(tmp_path, history, summary)
    axis = page.drawing["axes"]["recent"]
    assert len(axis["x"]) == 8 + 24  # three horizons of rows
    assert np.diff(axis["x"][-25:]).tolist() == [3600.0 * 10] + [3600.0] * 23
    assert "over the last" not in page.text


def test_what_it_relies_on_has_names_and_shares(tmp_path):
    history, summary = series_of()
    told = section(page_of(tmp_path, history, summary), "What it relies on")
    assert re.search(
        "for the next hour season of 24, slow70% level30% 24 hours ahead level60% memory40%",
        re.sub(r"\s+", " ", told),
    )
    parts = [{"name": f"n{i}", "share": 0.1} for i in range(10)]
    found = Ahead(summary | {"relies_on": {"next": parts}}).relies
    assert [row["name"] for row in found[0][1]] == ["n0", "n1", "n2", "n3", "n4", "everything else"]
    assert found[0][1][-1]["share"] == pytest.approx(0.5)


def test_rows_that_wait_for_their_targets_are_part_of_the_fan(tmp_path):
    history, summary = series_of(waiting=6)
    page = page_of(tmp_path, history, summary)
    axis = page.drawing["axes"]["recent"]
    n = len(axis["x"])
    now = axis["marks"][0]["at"]
    assert n - 1 - now == 24 + 6
    assert axis["columns"]["y"][now + 1 :] == [None] * 30
    assert None not in axis["columns"]["ahead"][now + 1 :]
    assert axis["columns"]["forecast"][now + 1 :] == [None] * 30
    assert "the next value, 25 Mar 2024 18:00" in page.text
    assert "Over the next 30 hours" in page.text
    assert "all together" not in page.text  # the total is of the steps after these rows


def test_without_single_rows_the_buckets_are_drawn(tmp_path):
    history, summary = series_of(keep=False)
    page = page_of(tmp_path, history, summary)
    axis = page.drawing["axes"]["recent"]
    assert axis["x"][-24:] == (START + 3600.0 * np.arange(600, 624)).tolist()
    assert np.isfinite(np.array(axis["columns"]["y"][:-24], dtype=float)).all()


@pytest.mark.parametrize("kind", ["none", "number", "broken"])
def test_forecasts_have_places_whatever_their_times(tmp_path, kind):
    history, summary = series_of(spacing=1.0, unit=None)
    for each in summary["forecast"]:
        each["time"] = {"none": None, "broken": "tomorrow"}.get(kind, each["time"])
        if kind == "number":
            each["at"] = START + 600 + 2.0 * each["step"]
    if kind == "none":
        columns = history.columns()
        del columns["time"]
        del history.last["time"]
    page = page_of(tmp_path, history, summary)
    x = page.drawing["axes"]["recent"]["x"][-24:]
    first, step = {"none": (600, 1), "number": (START + 602, 2), "broken": (START + 600, 1)}[kind]
    assert x == [first + step * i for i in range(24)]


def test_a_series_of_one_step_has_its_next_value(tmp_path):
    history, summary = series_of(horizon=1)
    page = page_of(tmp_path, history, summary)
    assert "The next value of load should be about 220.0, " in page.text
    assert "How far ahead" not in page.text
    assert "all together" not in page.text


def test_a_quantile_of_a_series_is_a_level(tmp_path):
    history, summary = series_of()
    for each in summary["forecast"]:
        each["lo"], each["hi"] = None, each["forecast"]
    page = page_of(tmp_path, history, summary | {"task": "quantile"})
    assert (
        "Over the next 24 hours load should stay below 200 on average, 90% of the time" in page.text
    )
    assert "the level for the next value, 26 Mar 2024 00:00" in page.text
    assert "which should be above 90% of the values" in page.text


def test_steps_without_an_interval_are_told(tmp_path):
    history, summary = series_of()
    assert "There is none yet" not in page_of(tmp_path, history, summary).text
    for each in summary["forecast"][9:]:
        each |= {"lo": None, "hi": None}
    page = page_of(tmp_path, history, summary)
    told = "hold 90% of the values. There is none yet 10 hours ahead and further: too few values"
    assert told in page.text


def test_a_short_series_is_drawn_once(tmp_path):
    history, summary = series_of(rows=60, horizon=24)
    ids = [chart["id"] for chart in page_of(tmp_path, history, summary).drawing["charts"]]
    assert ids[0] == "ahead"
    assert "target" not in ids


def test_the_first_forecast_is_made_of_nothing_and_not_drawn(tmp_path):
    history, summary = series_of(rows=60, horizon=24)
    history.last["forecast"][0] = -1e6
    said = page_of(tmp_path, history, summary).drawing["axes"]["recent"]["columns"]["forecast"]
    assert said[0] is None
    assert min(value for value in said if value is not None) > 100.0


KEYS = (
    "forecast",
    "total",
    "horizons",
    "changes",
    "components",
    "relies_on",
    "seasons",
    "coverage",
)


ODD = [None, [], {}, "words", 7, [None], [{}], {"a": None}]


@pytest.mark.parametrize(("key", "value"), some_of([*KEYS, "unit_of_time", "all"], ODD, every=12))
def test_parts_that_are_missing_or_odd_leave_no_hole(tmp_path, key, value):
    if key == "coverage" and not isinstance(value, dict | None):
        pytest.skip("a mapping by its documentation")
    history, summary = series_of()
    summary |= dict.fromkeys(KEYS[:-1] if key == "all" else (key,), value)
    page = page_of(tmp_path, history, summary)
    figures = [a["id"] for tag, a in page.tags if tag == "svg"]
    assert sorted(figures) == sorted(f"c-{chart['id']}" for chart in page.drawing["charts"])
    assert not re.search(r"\b(nan|None|undefined|inf)\b", page.text)


def test_infinite_ends_and_broken_numbers_are_left_out(tmp_path):
    history, summary = series_of()
    given = copy.deepcopy(summary)
    for each in given["forecast"]:
        each |= {"lo": None, "hi": None}
    given["forecast"][3]["forecast"] = None
    given["total"]["lo"] = None
    given["components"]["slope"] = None
    given["horizons"][1] |= {"error": None}
    given["horizons"][2] |= {"last value": None, "coverage": None}
    page = page_of(tmp_path, history, given)
    assert "made of" not in page.text
    assert page.drawing["axes"]["steps"]["x"] == [1, 6, 24]
    names = [s["name"] for s in page.drawing["charts"][0]["series"]]
    assert names == ["its interval", "one step ahead", "forecast", "load"]
    assert not re.search(r"\b(nan|None|inf)\b", page.text)


def test_names_of_a_series_cannot_become_markup(tmp_path):
    evil = "</script><script>alert(1)</script>&\"'\u2028"
    history, summary = series_of()
    summary |= {
        "target": evil,
        "unit_of_time": evil,
        "components": {evil: 1.0, "season " + evil: 2.0},
    }
    summary["changes"][0] |= {"words": evil, "kind": evil}
    summary["horizons"] = [{"step": h, "error": 2.0, evil: 3.0} for h in (1, 2)]
    summary["relies_on"] = {"next": [{"name": evil, "share": 1.0}]}
    summary["forecast"][0]["time"] = evil
    text = written(tmp_path, history, summary, evil)
    page = Reader(text)
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    assert "<script>alert" not in text


def test_vacuous_promises_are_left_out(tmp_path):
    history, summary = series_of()
    for most, told in ((120.0, True), (400.0, False)):
        given = summary | {"coverage": summary["coverage"] | {"most_misses": most, "misses": 30.0}}
        assert ("could have fallen outside" in page_of(tmp_path, history, given).text) == told


def test_squared_losses_are_told_in_units(tmp_path):
    history, summary = series_of()
    del summary["forecast"], summary["horizons"]
    page = page_of(tmp_path, history, summary)
    errors = {name: figure(np.sqrt(loss)) for name, loss in summary["loss"].items()}
    assert f"{errors['stillpoint']} against {errors['last value']}" in page.text
    assert "error here means root mean squared error" in page.text


def test_paces_are_in_plain_words():
    given = [
        "no drift",
        "level ±1% of noise",
        "all ±0.1% of noise",
        "slopes ±10%, level ±100% of noise",
        "level ±1 log-odds",
        "errors of the last 5",
    ]
    assert worded(given) == [
        "nothing drifts",
        "level drifts slowly",
        "level and effects drift very slowly",
        "effects drift steadily, level drifts fast",
        "level drifts fast",
        "errors of the last 5",
    ]
    # names that would be one word stay apart
    assert worded(["level ±1% of noise", "level ±2% of noise"])[1] == "level ±2% of noise"


def test_seasons_and_steps_in_words():
    assert [
        cycle(*case)[1] for case in ((24, "hour"), (168, "hour"), (12, "month"), (10, None))
    ] == [
        "daily pattern",
        "weekly pattern",
        "yearly pattern",
        "pattern of 10 rows",
    ]
    assert cycle(365.25, "day") == ("a year", "yearly pattern")
    assert [steps(1, "day"), steps(2, None), steps(1000, "hour")] == [
        "1 day",
        "2 rows",
        "1\u202f000 hours",
    ]


def test_numbers_are_as_fine_as_their_intervals():
    cases = {
        (147.68, 7.5): "147.7",
        (147.68, 75.0): "148",
        (147.68, 0.05): "147.680",
        (0.2, 75.0): "0",
        (-3.4, 15.0): "−3",
        (5.0, None): "5.00",
        (0.0, 3.0): "0",
        (None, 3.0): "–",
    }
    assert {case: near(*case) for case in cases} == cases


def test_the_hardest_stretch_is_at_its_row_and_in_errors_not_squares():
    buckets, spike = 400, 230
    ours = np.full(buckets, 4.0)
    ours[spike] = 250_000.0
    columns = {"loss:stillpoint": ours, "rows": np.ones(buckets)}
    at, ratio = hardest_stretch(columns)
    assert at == spike
    assert ratio == pytest.approx((9 * 4.0 + 250_000.0) / 10 / 4.0)
    history, summary = series_of()
    columns = {name: values.copy() for name, values in history.columns().items()}
    columns["loss:stillpoint"][200] = 1e6
    spiky = SimpleNamespace(**{**vars(history), "columns": lambda: columns})
    assert Facts(spiky, summary).hardest == (
        200,
        pytest.approx(hardest_stretch(columns)[1] ** 0.5),
    )


@pytest.mark.parametrize(
    ("start", "gap", "coming"),
    [
        ("2025-01-01T00:00:00+01:00", 86400, ["1 May 2025", "2 May 2025"]),
        ("2025-01-01T00:00:00+00:00", 1, ["1 Jan 2025 00:02:00", "1 Jan 2025 00:02:01"]),
    ],
    ids=["days in Berlin", "seconds"],
)
def test_times_are_told_by_the_clock_of_the_data_and_as_finely_as_they_come(
    tmp_path, start, gap, coming
):
    """Midnights in winter and in summer are midnights, though not in UTC."""
    zone = ZoneInfo("Europe/Berlin") if "+01" in start else UTC
    first = datetime.fromisoformat(start).astimezone(zone)
    at = [first + timedelta(seconds=gap * i) for i in range(120)]
    y = np.random.default_rng(0).normal(size=120).round(2).tolist()
    rows = {"t": [one.isoformat() for one in at], "y": y}
    _, summary = run(write(tmp_path / "s.csv", rows), tmp_path / "o", time="t", horizon=2)
    page = Reader((tmp_path / "o" / "report.html").read_text(encoding="utf-8"))
    assert summary["utc_offset"] == at[-1].utcoffset().total_seconds()
    assert f"the next value, {coming[0]};" in page.text
    for text in coming:
        assert text in section(page, "The forecast as a table")
    days = page.drawing["axes"]["recent"]["x"]
    assert all(x % min(gap, 86400) == 0 for x in days)


def test_times_that_are_numbers_are_told_apart(tmp_path):
    y = np.random.default_rng(0).normal(size=200).round(2).tolist()
    rows = {"t": list(range(20001, 20201)), "y": y}
    run(write(tmp_path / "s.csv", rows), tmp_path / "o", time="t", horizon=3)
    page = Reader((tmp_path / "o" / "report.html").read_text(encoding="utf-8"))
    table = section(page, "The forecast as a table").replace("\u202f", "")
    assert all(str(time) in table for time in (20201, 20202, 20203))
    assert page.drawing["axes"]["recent"]["digits"] == 5


def test_values_far_from_0_are_told_apart_in_charts_and_tables():
    """Readings of a meter, that move by a hundred-millionth of themselves."""
    rows = np.arange(1.0, 401.0)
    y = 10.0 + 3.0 * np.cos(rows)
    series = [{"name": "y", "column": "y"}]
    for far in (0.0, 1e4, 1e9):
        values = far + y
        values[200] *= 10.0  # and a typo
        axis = Axis("row", rows, rows, np.ones(400), columns={"y": values})
        drawn = axis.drawing()["columns"]["y"]
        np.testing.assert_allclose(drawn[:200], values[:200], rtol=0.0, atol=6e-4)
        told = axis.table(series, None, turn=False)["rows"]
        assert len({cell for _, cell in told}) > 6
    alike = np.where(rows > 5, 1013.25, np.nextafter(1013.25, 0.0))
    axis = Axis("row", rows, rows, np.ones(400), columns={"y": alike})
    assert set(axis.drawing()["columns"]["y"]) == {1013.25}
    assert {cell for _, cell in axis.table(series, None, turn=False)["rows"]} == {"1\u202f010"}
