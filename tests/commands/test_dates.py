"""Dates in other forms than ISO's."""

import csv
import json
import re
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from test_track_series import forecast

from stillpoint.commands import fleet, fleet_job, tracking
from stillpoint.commands.dates import digits, kind_and_form, recognised
from stillpoint.commands.errors import RowError
from tracked import bad, run, write

DAYS = [date(2024, 2, 9) + timedelta(i) for i in range(40)]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["2024-01-31", "x"], None),
        (["31/01/2024", "01/02/2024"], "%d/%m/%Y"),
        (["01/02/2024", "01/31/2024"], "%m/%d/%Y"),
        (["30/11/2023", "01/12/2023"], "%d/%m/%Y"),
        (["01/31/2024 23:00", "02/01/2024 00:00"], "%m/%d/%Y %H:%M"),
        (["02/01/2024", "01/02/2024"], "%d/%m/%Y"),  # as months and days they would not be sorted
        (["31.01.2024"], "%d.%m.%Y"),
        (["2024/01/31"], "%Y/%m/%d"),
        (["31 Jan 2024"], "%d %b %Y"),
        (["Jan 31, 2024"], "%b %d, %Y"),
        (["2024-01"], "%Y-%m"),
        (["Jan 2024"], "%b %Y"),
        (["05/06/2024 11:30 PM", "13/06/2024 01:30 AM"], "%d/%m/%Y %I:%M %p"),
        (["2024Q1", "2024Q2"], "%YQ%q"),
        (["2024q4"], "%Yq%q"),
        (["Q3 2024"], "Q%q %Y"),
        (["2024Q5"], None),
        (["later"], None),
        (["01/02/2024", "soon", "13/02/2024"], "%d/%m/%Y"),  # that row is refused, or rejected
    ],
)
def test_usual_forms_are_told_by_their_values(cells, form):
    assert recognised(cells, "t")[0] == form


@pytest.mark.parametrize(
    ("texts", "coming", "options"),
    [
        (
            [f"{2014 + i // 4}-Q{i % 4 + 1}" for i in range(40)],
            ["2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4", "2025-Q1"],
            {},
        ),
        (
            [f"Q{i % 4 + 1}/{2014 + i // 4}" for i in range(39)],
            ["Q4/2023", "Q1/2024"],
            {"date_format": "Q%q/%Y"},
        ),
        ([f"2020-W{i + 1:02}" for i in range(52)], ["2020-W53", "2021-W01"], {}),
        ([f"2020W{i + 1:02}4" for i in range(52)], ["2020W534", "2021W014"], {}),
    ],
)
def test_quarters_and_weeks_go_on_as_they_are_written(tmp_path, texts, coming, options):
    y = np.random.default_rng(1).normal(size=len(texts)).round(3).tolist()
    source = write(tmp_path / "s.csv", {"t": texts, "y": y})
    _, summary = run(source, tmp_path / "o", time="t", horizon=len(coming), **options)
    assert forecast(tmp_path / "o")["time"] == coming
    assert summary["unit_of_time"] == ("week" if "W" in texts[0] else "quarter")


def test_a_form_of_quarters_has_a_year(tmp_path, capsys):
    parts = ["--date-format must have a year", "Q%q"]
    bad(tmp_path, capsys, "t,y\nQ1,2\n", *parts, time="t", date_format="Q%q")


def test_a_date_that_could_be_in_two_forms_is_refused():
    with pytest.raises(RowError, match=r"could be %d/%m/%Y or %m/%d/%Y; give --date-format %d/"):
        recognised(["01/02/2024", "02/02/2024"], "t")
    with pytest.raises(RowError, match=r"got '01/02/2024', which could be"):  # the first tells not
        recognised(["01/01/2024", "01/02/2024", "01/03/2024"], "t")
    told = recognised(["01/01/2024", "01/31/2024", "02/01/2024"], "t")
    assert told == ("%m/%d/%Y", None)
    form, first = recognised(["05/05/2024"], "t")
    assert form in ("%d/%m/%Y", "%m/%d/%Y")  # the same in both
    assert first == "05/05/2024"


def test_numbers_are_dates_where_all_are():
    assert digits(["20240131", "20240201"]) == "%Y%m%d"
    assert digits([202412, 202501]) == "%Y%m"
    assert digits([20240131]) == "%Y%m%d"
    for others in (["20240131", "20240132"], ["202412", "202413"], [202401], ["1", "2"]):
        assert digits(others) is None


def test_times_are_told_in_one_way():
    assert kind_and_form(["20240131", "20240201"], "t") == ("date", "%Y%m%d", None)
    assert kind_and_form([1.0, 2.0], "t") == ("number", None, None)
    assert kind_and_form(["2024-01-31"], "t") == ("date", None, None)
    assert kind_and_form(["31.01.2024"], "t") == ("date", "%d.%m.%Y", None)
    assert kind_and_form(["3101"], "t", "%d%m") == ("date", "%d%m", None)


@pytest.mark.parametrize(
    ("written", "month"), [("%m/%d/%Y", 1), ("%d/%m/%Y", 1), ("%d %B %Y", 5), ("%d.%m.%Y", 3)]
)
def test_a_first_date_that_is_the_same_in_two_forms_leaves_it_to_later_ones(
    tmp_path, monkeypatch, written, month
):
    """The first row comes alone, and the run goes on from it: 01/01 may be either, May is short."""
    monkeypatch.setattr(tracking, "BATCH", 1)
    days = [date(2024, month, month) + timedelta(12 * i) for i in range(30)]
    rows = {}
    for form in ("%Y-%m-%d", written):
        columns = {"t": [f"{day:{form}}" for day in days], "y": VALUES[:30]}
        source = write(tmp_path / "s.csv", columns)
        lines, folder = Path(source).read_text().splitlines(keepends=True), tmp_path / form[1]
        for end in (2, 3, 31):
            Path(source).write_text("".join(lines[:end]))
            options = {"time": "t", "learner": "regression", "checkpoint": folder / "c"}
            rows[form] = run(source, folder / "o", **options)[0]["forecast"]
    assert rows[written] == rows["%Y-%m-%d"]


def test_dates_that_come_one_by_one_are_refused_once_they_could_be_two(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(tracking, "BATCH", 1)
    text = "t,y\n01/01/2024,1\n01/02/2024,2\n01/13/2024,3\n"
    bad(tmp_path, capsys, text, "row 2: column 't' must tell day and month apart", time="t")


def test_a_fleet_whose_first_rows_are_all_of_one_day_looks_at_the_next(tmp_path, monkeypatch):
    """As of so many keys that a batch has no more than the first of January."""
    monkeypatch.setattr(fleet_job, "BATCH", 5)
    days, ahead = [date(2024, 1, 1) + timedelta(12 * i) for i in range(20)], {}
    for form in ("%Y-%m-%d", "%m/%d/%Y"):
        columns = {
            "key": [key for _ in days for key in "abcde"],
            "t": [f"{day:{form}}" for day in days for _ in "abcde"],
            "y": (5 * VALUES)[:100],
        }
        source, out = write(tmp_path / "f.csv", columns), tmp_path / form[1]
        options = {"time": "t", "horizon": 2, "quiet": True}
        assert fleet(str(source), "key", "y", out, **options) == 0
        rows = csv.DictReader((out / "forecasts" / "part-00000.csv").read_text().splitlines())
        ahead[form] = [(datetime.strptime(row.pop("time"), form), *row.values()) for row in rows]
    assert ahead["%m/%d/%Y"] == ahead["%Y-%m-%d"]
    text = "key,t,y\n" + "".join(f"{key},01/0{day}/2024,1\n" for day in (1, 2) for key in "abcde")
    (tmp_path / "f.csv").write_text(text)
    assert fleet(str(tmp_path / "f.csv"), "key", "y", tmp_path / "o", **options) == 2


VALUES = np.random.default_rng(0).normal(size=40).round(3).tolist()


@pytest.fixture(scope="module")
def iso(tmp_path_factory):
    """Forecasts of the values with their dates in ISO's form."""
    folder = tmp_path_factory.mktemp("iso")
    source = write(folder / "i.csv", {"t": DAYS, "y": VALUES})
    return run(source, folder / "i", time="t", horizon=3)[0]["forecast"]


@pytest.mark.parametrize(
    ("written", "options"),
    [
        ("%d/%m/%Y", {}),
        ("%d.%m.%Y", {}),
        ("%B %d, %Y", {}),
        ("%Y%m%d", {"date_format": "%Y%m%d"}),
        ("%Y%m%d", {}),
        ("%d|%m|%y", {"date_format": "%d|%m|%y"}),
        ("%d/%m/%Y", {"date_format": "%d/%m/%Y"}),
        ("%Y-%m-%d %H:%M:%S UTC", {}),
    ],
)
def test_a_series_goes_on_in_the_form_of_its_dates(iso, tmp_path, monkeypatch, written, options):
    source = write(tmp_path / "s.csv", {"t": [f"{day:{written}}" for day in DAYS], "y": VALUES})
    lines = Path(source).read_text().splitlines(keepends=True)
    options = {**options, "time": "t", "horizon": 3, "checkpoint": tmp_path / "c"}
    monkeypatch.setattr(tracking, "BATCH", 20)
    for end in (25, 41):
        Path(source).write_text("".join(lines[:end]))
        rows, summary = run(source, tmp_path / "o", **options)
    assert rows["forecast"] == iso
    assert summary["unit_of_time"] == "day"
    ahead = [DAYS[-1] + timedelta(i + 1) for i in range(3)]
    assert forecast(tmp_path / "o")["time"] == [f"{day:{written}}" for day in ahead]
    assert summary["forecast"][0]["at"] == np.datetime64(ahead[0], "s").astype(float)


@pytest.mark.parametrize(
    ("written", "options"), [("%d.%m.%Y", {}), ("%Y-%d-%m", {"date_format": "%Y-%d-%m"})]
)
def test_the_page_has_changes_where_they_were_in_any_form_of_dates(tmp_path, written, options):
    rng, days = np.random.default_rng(0), np.arange(300)
    y = 20.0 + 10.0 * (days >= 200) + rng.normal(size=300)
    kept = np.flatnonzero((days < 60) | (days >= 110))  # days without a row are slots, not rows
    dates = [date(2023, 1, 1) + timedelta(int(i)) for i in kept]

    def marks(form, **more):
        columns = {"t": [f"{day:{form}}" for day in dates], "y": y[kept].tolist()}
        source, out = write(tmp_path / "s.csv", columns), tmp_path / "o"
        summary = run(source, out, time="t", horizon=3, season="none", alerts=0.01, **more)[1]
        page = (out / "report.html").read_text(encoding="utf-8")
        drawn = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])["axes"]
        axes = {name: axis for name, axis in drawn.items() if axis["kind"] == "date"}
        told = {name: (axis["marks"], axis["alarms"]) for name, axis in axes.items()}
        alarms = re.search(r"<h2[^>]*>Alerts.*?</section>", page, re.DOTALL)[0]
        return summary["changes"][-1], drawn["run"], told, alarms

    change, axis, *found = marks(written, **options)
    began = dates[axis["row"][axis["marks"][0]["at"]] - 1]
    assert abs((began - date(2023, 7, 20)).days) <= 2
    assert f"{began:{written}}" == change["time"]
    assert change["at"] == np.datetime64(began, "s").astype(float)
    assert found == list(marks("%Y-%m-%d")[2:])


def test_dates_without_zeros_go_on_without(tmp_path):
    texts = [f"{day.day}/{day.month}/{day.year}" for day in DAYS]
    source = write(tmp_path / "s.csv", {"t": texts, "y": range(40)})
    run(source, tmp_path / "o", time="t", horizon=15)
    assert forecast(tmp_path / "o")["time"][-4:] == [
        "31/3/2024",
        "1/4/2024",
        "2/4/2024",
        "3/4/2024",
    ]


def test_mistakes_about_dates_are_told(tmp_path, capsys):
    bad(
        tmp_path,
        capsys,
        "t,y\n01/02/2024,1\n02/02/2024,2\n",
        "row 1: column 't' must tell day and month apart",
        "give --date-format %d/%m/%Y or %m/%d/%Y",
        time="t",
    )
    text = "t,y\n31/01/2024,1\n2024-02-01,2\n"
    bad(tmp_path, capsys, text, "row 2:", "must hold dates as %d/%m/%Y: got '2024", time="t")
    text = "t,y\nsoon,1\n"
    bad(tmp_path, capsys, text, "row 1:", "or give --date-format such as", time="t")
    for form in ("dd/mm", "%d", "%H:%M", ""):
        bad(tmp_path, capsys, text, "--date-format must", time="t", date_format=form)
    form, parts = "%Y-%m-%d %Z", ["must have no %Z", "spell the zone, as '%Y-%m-%d UTC'"]
    bad(tmp_path, capsys, "t,y\n2024-01-31 UTC,1\n", *parts, time="t", date_format=form)


@pytest.mark.parametrize(
    ("times", "what", "options"),
    [
        (["26T01:00", "26T02:00", "26T02:00", "26T03:00"], "the same time as the row", {}),
        (["26T02:30", "26T02:45", "26T02:00", "26T02:15"], "an earlier time than the row", {}),
        (["26T01:00", "26T02:00", "26T02:00"], "the same time", {"date_format": "%Y-%m-%dT%H:%M"}),
    ],
)
def test_an_hour_that_comes_twice_in_autumn_asks_for_offsets(
    tmp_path, capsys, times, what, options
):
    rows = "".join(f"2025-10-{time},{i}\n" for i, time in enumerate(times))
    remedy = "if clocks were set back then, write times with their offset from UTC, as 2025-10-26T"
    bad(tmp_path, capsys, f"t,y\n{rows}", "row 3", what, remedy, time="t", **options)
    spring = rows.replace("2025-10-26", "2025-05-26")
    assert "UTC" not in bad(tmp_path, capsys, f"t,y\n{spring}", what, time="t", **options)


@pytest.mark.parametrize("first", [1, 13])
@pytest.mark.parametrize("cell", ["soon", "2024-01-09", ""])
def test_a_cell_that_is_no_date_is_named_also_where_the_first_dates_do_not_tell(
    tmp_path, capsys, first, cell
):
    """Of 01/01 to 09/01 day and month could be either; dates after the bad one tell."""
    days = [f"{first + i:02}/01/2025" for i in range(15)]
    days[9] = cell
    text = "d,y\n" + "".join(f"{day},{i % 4}\n" for i, day in enumerate(days))
    error = bad(tmp_path, capsys, text, "row 10", "column 'd'", time="d", horizon=2)
    assert "day and month" not in error


def test_dates_that_nothing_tells_are_refused_as_such_beside_a_bad_one(tmp_path, capsys):
    text = "d,y\n01/02/2025,0\n02/02/2025,1\nsoon,2\n"
    bad(tmp_path, capsys, text, "row 1", "must tell day and month apart", time="d")
