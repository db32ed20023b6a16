"""The file that everything is kept in, and the lock beside it."""

import errno
import fcntl
import os

import numpy as np
import pytest

from stillpoint.core import container
from stillpoint.core.validation import number, real, under


@pytest.mark.parametrize(("found", "kind", "message"), [
    (9, ValueError, "version 9, and only 10 is known"),
    (11, container.Newer, "version 11, and 10 is the newest known"),
])  # fmt: skip
def test_versions_are_numbers(found, kind, message):
    data = b"".join(container.write("thing", found, {}, {}))
    with pytest.raises(ValueError, match=message) as error:
        container.read("thing", 10, data)
    assert type(error.value) is kind
    assert container.read("thing", found, data) == ({}, {})


def test_one_holds_a_lock_at_a_time(tmp_path):
    held = container.lock(tmp_path / "lock", "taken")
    with pytest.raises(ValueError, match="taken"):
        container.lock(tmp_path / "lock", "taken")
    held.close()
    container.lock(tmp_path / "lock", "taken").close()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_is_not_another_process(tmp_path, monkeypatch, code):
    def without(number, operation):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", without)
    container.lock(tmp_path / "lock", "taken").close()


def test_dates_are_not_numbers():
    days = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")
    for dates in (days, days.astype("datetime64[ns]"), days - days[0], list(days)):
        with pytest.raises(
            ValueError, match=r"(?s)times must be numeric: got .*; convert dates to seconds first"
        ):
            real("times", dates, "drop it")
    for one in (np.datetime64(1, "ns"), np.timedelta64(1, "ns")):
        with pytest.raises(ValueError, match="time must be a number: got"):
            number("time", one)


def test_what_is_under_a_prefix():
    assert under({"a.b": 1, "a.a.c": 2, "ab": 3, "x.a.": 4}, "a.") == {"b": 1, "a.c": 2}
