"""`sp.track` on columns, rows and files: the numbers of the command, and results in kind."""

import io
import json
import re
import sys
from collections import namedtuple
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.commands import session, totals, tracking
from stillpoint.core import jit
from stillpoint.frames.view import LEAST
from thorough import some
from tracked import floats, run, write

N, H = 130, 5
OWN = ("source", "started", "finished", "rows_per_second", "files", "notes")


@pytest.fixture(scope="module")
def shop():
    """Days of sales with a jump, a price, and words; some targets are missing, three at the end."""
    rng = np.random.default_rng(2)
    day = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-01-01") + N)
    price, promo = rng.choice([1.0, 1.5], N), rng.choice(["off", "flyer"], N)
    week = 6.0 * np.cos(2 * np.pi * np.arange(N) / 7)
    sold = (60 - 8 * price + week + rng.normal(0, 1, N) + 15 * (np.arange(N) > 80)).round(3)
    sold[[20, 21, N - 3, N - 2, N - 1]] = np.nan
    return {"day": day, "price": price, "promo": promo, "sold": sold}


@pytest.fixture(scope="module")
def jump():
    """Days whose level jumps in row 150, the last three without a value."""
    rng = np.random.default_rng(2)
    day = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-01-01") + 200)
    week = 6.0 * np.cos(2 * np.pi * np.arange(200) / 7)
    sold = (60 + week + rng.normal(0, 1, 200) + 15 * (np.arange(200) >= 150)).round(3)
    sold[-3:] = np.nan
    return {"day": day, "sold": sold}


def as_text(columns):
    return {
        name: ["" if str(cell) == "nan" else str(cell) for cell in np.asarray(column).tolist()]
        for name, column in columns.items()
    }


CASES = {
    "series": (("day", "sold"), {"time": "day"}),
    "other columns": (("day", "price", "promo", "sold"), {"time": "day", "known": ["price"]}),
    "regression": (("price", "promo", "sold"), {}),
    "delayed": (("price", "sold"), {"delay": 2}),
    "quantile": (("day", "sold"), {"time": "day", "task": "quantile", "level": 0.8}),
    "no times": (("sold",), {"horizon": 3, "nonnegative": True, "season": [7]}),
}


@pytest.mark.parametrize("case", some(CASES, every=2))
def test_columns_have_the_numbers_and_the_summary_that_the_command_has_of_a_file(
    shop, tmp_path, case
):
    names, options = CASES[case]
    columns = {name: shop[name] for name in names}
    result = sp.track(columns, "sold", **options)
    told = {**options, "known": ",".join(options.get("known", ()))}
    if "season" in options:
        told["season"] = "7"
    source = write(tmp_path / "s.csv", as_text(columns))
    rows, summary = run(source, tmp_path / "o", target="sold", **told)
    for name in ("forecast", "lo", "hi"):
        np.testing.assert_array_equal(result.predictions[name], floats(rows[name]))
    np.testing.assert_array_equal(result.predictions["y"], columns["sold"])
    own = {key: value for key, value in result.summary.items() if key not in OWN}
    assert own == {key: value for key, value in summary.items() if key not in OWN}
    assert json.loads(json.dumps(result.summary)) == result.summary


def test_labels_come_back_with_their_probabilities(shop, tmp_path):
    columns = {"price": shop["price"], "sold": shop["promo"]}
    result = sp.track(columns, "sold", task="binary")
    rows, _ = run(
        write(tmp_path / "s.csv", as_text(columns)), tmp_path / "o", target="sold", task="binary"
    )
    assert list(result.predictions) == ["y", "forecast"]
    assert result.predictions["y"].tolist() == shop["promo"].tolist() == rows["y"]
    np.testing.assert_array_equal(result.predictions["forecast"], floats(rows["forecast"]))


Sale = namedtuple("Sale", "day sold")
WAYS = {
    "dicts": lambda days, sold: ({"day": d, "sold": y} for d, y in zip(days, sold, strict=True)),
    "named tuples": lambda days, sold: map(Sale, days, sold),
    "lists": lambda days, sold: [[d, y] for d, y in zip(days, sold, strict=True)],
    "columns of lists": lambda days, sold: {"day": days, "sold": sold},
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_and_columns_of_python_are_as_arrays(shop, way):
    expected = sp.track({"day": shop["day"], "sold": shop["sold"]}, "sold", time="day")
    data = WAYS[way](shop["day"].tolist(), shop["sold"].tolist())
    named = {"target": 1, "time": 0} if way == "lists" else {"target": "sold", "time": "day"}
    result = sp.track(data, **named)
    for name in ("predictions", "forecast", "changes"):
        for column, values in getattr(expected, name).items():
            np.testing.assert_array_equal(getattr(result, name)[column], values)


def test_a_path_is_read_as_by_the_command(shop, tmp_path, monkeypatch):
    columns = {"day": shop["day"], "sold": shop["sold"]}
    write(tmp_path / "predictions.csv", as_text(columns))
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    before = (tmp_path / "predictions.csv").read_bytes()
    result = sp.track("predictions.csv", "sold", time="day")
    other = sp.track(tmp_path / "predictions.csv", "sold", time="day")
    expected = sp.track(columns, "sold", time="day")
    for one in (result, other):
        for name, values in expected.predictions.items():
            np.testing.assert_array_equal(one.predictions[name], values)
    # nothing was written, not even over a file of the name that the command gives predictions
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "predictions.csv"]
    assert (tmp_path / "predictions.csv").read_bytes() == before


def test_numbers_alone_are_a_series():
    y = 10.0 + np.cos(np.arange(60))
    results = [sp.track(data) for data in (y, y.tolist(), iter(y.tolist()), {"a": y})]
    assert [result.summary["target"] for result in results] == ["y", "y", "y", "a"]
    for result in results:
        np.testing.assert_array_equal(
            result.predictions["forecast"], sp.Forecaster(10).track(y, horizon=10)[:, 0]
        )
        assert "time" not in result.predictions
        assert len(result.forecast["forecast"]) == 10
        assert result.forecast["step"].tolist() == list(range(1, 11))


ZONE = datetime(2024, 1, 1, 8, tzinfo=UTC)
TIMES = {
    "dates": [date(2024, 1, 1) + timedelta(i) for i in range(40)],
    "datetimes": [datetime(2024, 1, 1, 8) + timedelta(hours=i) for i in range(40)],
    "with a zone": [ZONE + timedelta(hours=i) for i in range(40)],
    "nanoseconds": np.arange(40) * np.timedelta64(1, "h") + np.datetime64("2024-01-01", "ns"),
    "whole numbers": np.arange(0, 400, 10),
    "numbers": np.arange(40) / 4,
    "text in another form": [f"{date(2024, 1, 1) + timedelta(i):%d.%m.%Y}" for i in range(40)],
    "text": [str(date(2024, 1, 1) + timedelta(i)) for i in range(40)],
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_stand_beside_numbers_and_go_on_in_their_kind(kind):
    y, times = np.cos(np.arange(40.0)), TIMES[kind]
    result = sp.track(y, time=times, horizon=3)
    when = result.forecast["time"]
    if isinstance(times, np.ndarray):
        assert when.dtype == times.dtype
    if kind == "text in another form":
        assert when.tolist() == ["10.02.2024", "11.02.2024", "12.02.2024"]
        assert "2024-02-08" in result._repr_html_() or "2024-02-12" in result._repr_html_()
    elif kind == "text":
        assert when.tolist() == ["2024-02-10", "2024-02-11", "2024-02-12"]
    else:
        step = times[1] - times[0]
        assert [*when] == [*np.array([times[-1] + (i + 1) * step for i in range(3)])]
    assert len(result.predictions["time"]) == 40


@pytest.mark.parametrize("kind", [list, np.array, lambda days: np.array(days, dtype=np.int32)])
def test_whole_numbers_that_are_dates_go_on_as_such(jump, kind):
    days = kind([int(str(day).replace("-", "")) for day in jump["day"]])
    result = sp.track({"day": days, "sold": jump["sold"]}, "sold", time="day", horizon=3)
    when = result.forecast["time"]
    assert when.tolist() == [20240716, 20240717, 20240718]
    assert when.dtype == result.predictions["time"].dtype == np.asarray(days).dtype
    assert 20240525 <= result.changes["time"][-1] <= 20240605


def test_texts_in_an_array_of_objects_go_on_as_texts(jump):
    days = jump["day"].astype(str).astype(object)
    result = sp.track({"day": days, "sold": jump["sold"]}, "sold", time="day", horizon=3)
    when = result.forecast["time"]
    assert when.tolist() == ["2024-07-16", "2024-07-17", "2024-07-18"]
    assert when.dtype == result.predictions["time"].dtype == object


def test_rows_without_a_target_at_the_end_are_the_first_steps_ahead(shop):
    result = sp.track({"day": shop["day"], "sold": shop["sold"]}, "sold", time="day", horizon=H)
    assert result.forecast["time"].tolist() == (shop["day"][-3] + np.arange(H)).tolist()
    for name in ("forecast", "lo", "hi"):
        np.testing.assert_array_equal(result.predictions[name][-3:], result.forecast[name][:3])


def test_masked_values_are_missing():
    y = np.ma.masked_array(np.arange(30.0), mask=np.arange(30) % 7 == 3)
    told = sp.track(y, horizon=2).predictions
    np.testing.assert_array_equal(told["y"], y.filled(np.nan))
    same = sp.track({"y": np.ma.masked_array(np.arange(30), mask=y.mask)}, "y", horizon=2)
    np.testing.assert_array_equal(told["forecast"], same.predictions["forecast"])


def test_decimals_are_numbers():
    y = [Decimal(i % 7) / 4 for i in range(40)]
    expected = sp.track(np.array(y, dtype=float), horizon=2).forecast["forecast"]
    for data in (y, iter(y)):
        np.testing.assert_array_equal(sp.track(data, horizon=2).forecast["forecast"], expected)


def test_rows_may_begin_without_a_target():
    told = sp.track(iter([None, *range(20)]), horizon=2).predictions
    assert len(told["y"]) == 21
    assert np.isnan(told["y"][0])


def test_changes_say_in_which_row_they_began(jump):
    days, sold = jump["day"], jump["sold"]
    timed = sp.track(jump, "sold", time="day")
    kept = np.arange(200) % 30 != 29  # days without a row do not count
    gaps = sp.track({"day": days[kept], "sold": sold[kept]}, "sold", time="day", season=7)
    plain = sp.track({"sold": sold}, "sold", season=7)
    for result, rows in (
        (timed, np.arange(200)),
        (gaps, np.flatnonzero(kept)),
        (plain, np.arange(200)),
    ):
        (row,), (kind,) = result.changes["row"], result.changes["kind"]
        assert kind == "level up"
        assert abs(rows[row] - 150) <= 1
    assert timed.changes["time"][0] == days[timed.changes["row"][0]]
    assert timed.changes["words"][0].startswith("level rose from ")
    assert "time" not in plain.changes


def test_a_regression_has_no_forecast_ahead_and_no_changes(shop):
    result = sp.track({name: shop[name] for name in ("price", "promo", "sold")}, "sold")
    assert result.forecast is None
    assert result.changes["row"].size == 0
    assert "steps ahead" not in repr(result)
    assert "regression, of the next row" in repr(result)
    assert "<svg" in result._repr_html_()


def test_it_is_shown_in_one_line(jump):
    result = sp.track(jump, "sold", time="day")
    assert re.fullmatch(
        r"<Tracked sold: 200 rows; 7 steps ahead; seasons 7; RMSE [\d.]+; coverage [\d.]+%;"
        r" 1 change>",
        repr(result),
    )
    assert result.summary["notes"] == []
    ahead = np.append(jump["sold"], [np.nan] * 9)
    assert repr(sp.track({"sold": ahead}, "sold", horizon=7)).endswith(
        "; 1 note in summary['notes']>"
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in ("line", "polyline", "polygon", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_notebook_shows_numbers_and_a_chart_that_fetch_nothing(jump):
    columns = {"day": jump["day"], "a<b>&": jump["sold"]}
    result = sp.track(columns, "a<b>&", time="day")
    page = Tags()
    page.feed(result._repr_html_())
    assert page.open == []
    assert "a<b>&" in page.text
    assert "level rose" in page.text
    lines = [a["points"].split() for tag, a in page.seen if tag == "polyline"]
    # the past up to the last target, and from there the seven steps ahead
    assert sum(map(len, lines[:-1])) == LEAST
    assert len(lines[-1]) == 1 + 7
    assert all("href" not in a and "src" not in a for _, a in page.seen)
    assert not {"script", "link", "img"} & {tag for tag, _ in page.seen}


@pytest.mark.parametrize("task", ["regression", "quantile"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_short_series_can_be_shown_and_drawn(rows, task):
    result = sp.track([5.0, 5.0, np.nan][:rows], task=task)
    assert "<svg" in result._repr_html_()
    assert result.plot().lines


@pytest.mark.parametrize("level", [1e17, -1e60])
def test_a_large_constant_can_be_shown_and_drawn(level):
    result = sp.track(np.full(30, level), horizon=3)
    assert "<svg" in result._repr_html_()
    assert result.plot().lines


def test_a_plot_has_the_past_the_fan_and_the_changes(jump):
    result = sp.track(jump, "sold", time="day")
    axes = result.plot()
    labels = {line.get_label(): line for line in axes.lines}
    assert {"sold", "forecast one row ahead", "forecast ahead", "change"} == set(labels)
    np.testing.assert_array_equal(
        labels["forecast ahead"].get_ydata()[1:], result.forecast["forecast"]
    )
    ahead = labels["forecast ahead"].get_xdata()
    assert ahead[1:].astype("datetime64[D]").tolist() == result.forecast["time"].tolist()
    assert labels["sold"].get_ydata()[-1] == labels["forecast ahead"].get_ydata()[0]
    assert result.plot(axes) is axes


def test_names_with_dollars_are_no_formulas():
    axes = sp.track({r"$\no$": np.arange(30.0)}).plot()
    axes.figure.canvas.draw()
    assert axes.get_ylabel() == r"\$\no\$"


def test_without_matplotlib_a_plot_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for result in (sp.track([1.0, 2.0, 3.0]), sp.backtest([1.0, 2.0, 3.0])):
        with pytest.raises(ImportError, match=r"plot needs matplotlib.*stillpoint\[plot\]"):
            result.plot()


def test_the_page_is_written_where_it_is_asked_for(shop, tmp_path):
    result = sp.track({"day": shop["day"], "sold": shop["sold"]}, "sold", time="day")
    path = result.report(tmp_path / "page.html")
    assert "Forecasting sold" in path.read_text(encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"make the folder .*nowhere first"):
        result.report(tmp_path / "nowhere" / "page.html")


def test_progress_is_shown_where_it_is_asked_for_or_on_a_terminal(monkeypatch):
    shown, tell = [], lambda text, position: None
    monkeypatch.setattr(session, "progress", lambda stack, size, bar: shown.append(bar) or tell)
    for asked in (False, True, None):
        sp.track([1.0, 2.0, 1.5, 2.5], progress=asked)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    sp.track([1.0, 2.0, 1.5, 2.5])
    assert shown[::2] == shown[1::2] == [False, True, False, True]  # of the rows, and at the end


def test_in_a_notebook_one_line_says_that_it_compiles(monkeypatch, capsys):
    class Shown(io.StringIO):
        """Standard error below a cell."""

        __module__ = "ipykernel.iostream"

    def told(progress=None, first=True):
        def figures(*given):
            for _ in range(2 if first else 0):
                jit._announce(totals.totals)
            return totals.totals(*given)

        monkeypatch.setattr(tracking, "totals", figures)
        shown = Shown()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", shown)
            sp.track([1.0, 2.0, 1.5, 2.5], progress=progress)
        return shown.getvalue()

    assert told() == "stillpoint: compiling, once; half a minute or so\n"
    assert told(first=False) == told(progress=False) == ""
    sp.track([1.0, 2.0, 1.5, 2.5])
    assert capsys.readouterr() == ("", "")


def test_later_keys_have_a_note_and_other_lengths_are_refused():
    rows = [{"y": float(i % 3)} for i in range(40)]
    rows[7] = {"y": 1.0, "promo": 1}
    (note,) = (note for note in sp.track(rows, "y", horizon=2).summary["notes"] if "promo" in note)
    assert note.startswith("columns are the keys of the first object: got 'promo' in later ones")
    pairs = [(float(i), float(i % 3)) for i in range(40)]
    for other in ((1.0, 2.0, 3.0), (1.0,)):
        pairs[5] = other
        with pytest.raises(
            ValueError, match=rf"row 5 .*must have 2 cells, .*: got {len(other)} in"
        ):
            sp.track(iter(pairs), "1", time="0", horizon=2)
