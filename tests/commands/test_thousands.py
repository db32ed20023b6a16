"""1.098 beside 998 in files separated by `;`: thousands that would be read as decimals."""

import io

import pandas as pd
import pytest

import stillpoint as sp
from stillpoint.commands import fleet, track, tracking

DAYS = [f"{day:02}.01.2024" for day in range(1, 7)]
MIXED = ["1.098", "1.277", "998", "1.004", "", "987"]


def text(cells, separator=";"):
    rows = (f"{day}{separator}{cell}\n" for day, cell in zip(DAYS, cells, strict=True))
    return f"day{separator}y\n" + "".join(rows)


def code_of(tmp_path, content, run=track, **options):
    (tmp_path / "d.csv").write_text(content)
    given = (str(tmp_path / "d.csv"), *((options.pop("key"),) if run is fleet else ()), "y")
    form = {"date_format": "%d.%m.%Y"}
    return run(*given, tmp_path / "o", time="day", quiet=True, **form, **options)


def test_numbers_that_may_be_thousands_are_refused_before_any_is_forecast(tmp_path, capsys):
    assert code_of(tmp_path, text(MIXED)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "row 1: column 'y' must tell thousands from decimals: got '1.098' beside '998'" in error
    assert "write 1098 or 998.000" in error
    assert not (tmp_path / "o" / "predictions.csv").exists()


def test_what_the_refusal_of_thousands_advises_reads_thousands(tmp_path):
    (tmp_path / "d.csv").write_text(text(MIXED))
    with pytest.raises(ValueError, match="thousands from decimals") as refused:
        sp.track(tmp_path / "d.csv", "y", time="day")
    call = str(refused.value).partition("pandas.read_csv(…, ")[2].removesuffix(") reads")
    frame = eval(f"read(io, {call})", {"read": pd.read_csv, "io": io.StringIO(text(MIXED))})
    assert frame["y"].dropna().tolist() == [1098, 1277, 998, 1004, 987]
    assert sp.track(frame, "y", time="day").predictions["time"].tolist() == frame["day"].tolist()


def test_thousands_are_found_though_they_come_later(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tracking, "BATCH", 2)
    assert code_of(tmp_path, text(MIXED)) == 2
    assert "row 3: column 'y' must tell thousands" in capsys.readouterr().err


def test_thousands_of_a_fleet_are_refused_and_its_keys_are_words(tmp_path, capsys):
    content = text(MIXED).replace("\n", ";1.098\n").replace(";1.098", ";k", 1)
    assert code_of(tmp_path, content, fleet, key="k") == 2
    assert "column 'y' must tell thousands" in capsys.readouterr().err
    plain = "day;k;y\n" + "".join(f"{day};{k};5\n" for day in DAYS for k in ("1.098", "998"))
    assert code_of(tmp_path, plain, fleet, key="k") == 0


@pytest.mark.parametrize(
    "cells",
    [
        ["1.098", "1.277", "998", "1.5", "1.004", "987"],
        ["1.098", "0.277", "998", "1.001", "1.004", "987"],
        ["1.098", "1.277", "2998", "1.001", "1.004", "987"],
        ["1.098", "1.277", "9", "12", "0", "1.004"],
        ["109.8", "127.7", "998", "998", "998", "987"],
    ],
    ids=["other decimals", "a leading zero", "four digits", "small numbers", "one decimal"],
)
def test_columns_that_hold_decimals_are_read(tmp_path, cells):
    assert code_of(tmp_path, text(cells)) == 0


def test_points_are_decimal_where_commas_separate(tmp_path):
    assert code_of(tmp_path, text(MIXED, ",")) == 0
