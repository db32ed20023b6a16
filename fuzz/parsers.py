"""Text of any kind through the readers and the encoder of `stillpoint track`: InputError, or rows
that do not depend on batches.

An input is read twice, in small batches and in large ones. Numbers, texts and the place where it
stopped must be the same; an error leaves the encoder as it was; reading ends where the input does.
"""

import contextlib
import io
import json
import os
import tempfile
import warnings
import zlib
from pathlib import Path

from source import Source
from stillpoint.commands import track
from stillpoint.commands.cells import missing, seconds
from stillpoint.commands.encode import Encoder
from stillpoint.commands.errors import InputError, RowError
from stillpoint.commands.formats import format_of
from stillpoint.commands.jsonl import JsonReader
from stillpoint.commands.lines import Lines
from stillpoint.commands.options import FORMATS, TASKS, TrackOptions
from stillpoint.commands.text import CsvReader

CELLS = (
    "",
    "0",
    "1",
    "-2.5",
    "1e3",
    "1e100",
    "1e101",
    "1e400",
    "-1e76",
    "nan",
    "inf",
    "-Infinity",
    "na",
    "null",
    "None",
    "true",
    "False",
    "yes",
    "no",
    "a",
    "b",
    " 1 ",
    "1,5",
    "1.234,5",
    "0x10",
    "1_000",
    "٣",
    "é",
    "\U0001f600",
    '"',
    '""',
    "'",
    "\\",
    "\0",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "2024-02-30",
    "2024-W01-1",
    "0001-01-01",
    "9999-12-31T23:59:59.999999+14:00",
    "2024-01-01 12:00:00.5",
    "12:00",
    "1970-01-01T00:00:00+00:00:30",
    "-1",
    "00",
    "1.0",
    "1.",
    ".5",
    "--1",
    "1e-400",
    "5e-324",
    "1.098",
    "998",
    "1 098",
    "1\u00a0098",
    "12,5",
    "31/12/2024",
    "31.02.2024",
)
JSON = (
    "null",
    "true",
    "1",
    "-0.0",
    "1e400",
    "NaN",
    "Infinity",
    '"a"',
    '"1"',
    "[]",
    "{}",
    '{"a": 1}',
    '"\\ud800"',
    '"\\u00e9"',
    "1" * 400,
    "1" * 5000,
    "1.5",
    '"2024-01-01"',
    '""',
    "-1e76",
    "1e101",
    '"yes"',
    "false",
    "[" * 3000,
)
NAMES = ("t", "y", "a", "b", "")
# what a column of a table that is mostly right holds, and its times, row by row
COLUMNS = (
    ("0", "1", "-2.5", "1e3"),
    ("0", "1", "", "nan"),
    ("a", "b", "é"),
    ("yes", "no", "Yes"),
    ("1.098", "998", "12.5"),
    ("1,5", "2", "12,25"),
)
TIMES = (
    "{:d}",
    "{:d}.5",
    "202401{:02d}",
    "2024-01-{:02d}",
    "{:02d}/01/2024",
    "{:02d}.01.2024",
    "2024-W{:02d}-1",
)
SHARES = {"regression": "coverage", "quantile": "level", "interval": "coverage"}
DATES = (None, None, None, None, None, "%d/%m/%Y", "%d.%m.%Y", "%Y%m%d")
DOUBTS = ("must tell thousands from decimals", "must tell day and month apart")
# one execution in so many runs the whole command, which takes a hundred times as long
COMMANDS = 2000


class Found(Exception):
    """What a fuzzer looks for."""


def table(source: Source, kind: str) -> bytes:
    """Text: mostly a table of the cells above with some bytes changed, or any bytes."""
    style = source.byte()
    if style < 32:
        return source.data[source.place :]
    rows = source.byte() % 8
    names = list(NAMES[: 2 + source.byte() % 3])
    ends = source.pick(("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n \n"))
    if kind == "csv":
        mark = source.pick((",", ",", ",", ";", "\t", "|"))
        lines = [mark.join(names)]
        plain = columns(source, names) if source.byte() % 2 else None
        for row in range(rows):
            cells = [
                source.pick(CELLS) if plain is None or source.byte() % 32 == 0 else of_row(row)
                for of_row in plain or names
            ]
            lines.append(mark.join(cells[: len(names) - (source.byte() % 24 == 0)]))
        lines[0] = ("\ufeff" if style % 16 == 0 else "") + lines[0]
    else:
        lines = [
            "{" + ", ".join(f'"{name}": {source.pick(JSON)}' for name in names) + "}"
            for _ in range(rows)
        ]
    text = bytearray((ends.join(lines) + (ends if style % 2 else "")).encode())
    for _ in range(source.byte() % 4 if style % 4 == 0 else 0):
        if text:
            text[(source.byte() << 8 | source.byte()) % len(text)] = source.byte()
    return bytes(text)


def columns(source: Source, names: list[str]):
    """Of each column the function from a row's number to its cell."""
    pools = [[source.pick(TIMES)] if name == "t" else source.pick(COLUMNS) for name in names]
    return [lambda row, pool=pool: source.pick(pool).format(row + 1) for pool in pools]


def options(source: Source, kind: str) -> TrackOptions:
    """Arguments, mostly such as are right."""
    odd = source.byte()
    target = "y" if odd < 230 else source.text()
    time = (None, "t", "t")[odd % 3] if odd < 240 else source.text()
    features = (
        (None, None, (), ("a",), ("a", "b"))[source.byte() % 5]
        if odd < 246
        else (source.text(), source.text())
    )
    task = source.pick(TASKS) if odd < 250 else source.text()
    shares = {}  # a task takes one of them, or none
    if style := source.byte() % 8 if task in SHARES else 0:
        shares[SHARES[task]] = 0.8 if style < 6 else source.number()
    elif odd >= 252:
        shares["level"] = source.number()
    delay = source.byte() % 4 if odd < 254 else -source.byte()
    form = kind if odd < 253 else source.text()
    return TrackOptions(
        "-",
        target,
        Path("out"),
        time=time,
        features=features,
        task=task,
        delay=delay,
        format=form,
        date_format=source.pick(DATES) if time == "t" else None,
        **shares,
    )


def run(data: bytes, chosen: TrackOptions, kind: str, limits: list[int]):
    """All rows of an input in batches of these sizes: what they were, how it ended, and where."""
    handle = os.memfd_create("input")
    try:
        os.write(handle, data)
        lines = Lines(f"/proc/self/fd/{handle}", False, quotes=kind == "csv")
    finally:
        os.close(handle)
    reader = CsvReader(lines) if kind == "csv" else JsonReader(lines)
    told, rounds = [], 0
    try:
        while not reader.begin():
            if reader.ended:
                return told, "nothing", 0
        encoder = Encoder(chosen, chosen.columns(reader.names))
        reader.use(encoder.names)
        while not reader.ended:
            rounds += 1
            if rounds > 10_000:
                raise Found(f"reading does not end: {data!r}")
            batch = reader.read(limits[rounds % len(limits)])
            while batch.rows:
                before = json.dumps(encoder.state(), sort_keys=True)
                try:
                    rows = encoder.encode(batch)
                except RowError as error:
                    if json.dumps(encoder.state(), sort_keys=True) != before:
                        raise Found(f"a refused batch has changed the encoder: {data!r}") from error
                    reader.back(batch, error.index)
                    if error.index == 0:
                        raise
                    batch = batch.head(error.index)
                    continue
                for start, stop, dim in rows.pieces:
                    for t in range(start, stop):
                        texts = [
                            None if texts is None else texts[t]
                            for texts in (rows.time_texts, rows.y_texts)
                        ]
                        told.append(
                            (
                                rows.X[t, :dim].tobytes(),
                                rows.y[t].tobytes(),
                                rows.times[t].tobytes(),
                                *texts,
                            )
                        )
                break
        if reader.position != len(data) and kind == "csv" and b"\r" not in data:
            raise Found(f"reading ended at {reader.position} of {len(data)}: {data!r}")
        return told, json.dumps(encoder.state(), sort_keys=True), reader.position
    except InputError as error:
        return told, str(error), reader.position
    finally:
        reader.close()


def one(data: bytes) -> None:
    """One execution."""
    source = Source(data)
    kind = source.pick(("csv", "jsonl"))
    style = source.byte()
    if style < 16:
        cell(source)
        return
    try:
        chosen = options(source, kind)
        format_of(chosen.source, chosen.format)
    except InputError:
        return
    except Exception as error:
        raise Found(f"options: {type(error).__name__}: {error}") from error
    text = table(source, kind)
    if chosen.format not in ("csv", "jsonl"):
        return
    try:
        small, large = (run(text, chosen, chosen.format, limits) for limits in ([1, 2, 3], [1000]))
    except Found:
        raise
    except Exception as error:
        raise Found(f"{kind}: {type(error).__name__}: {error}: {text!r} {chosen}") from error
    if any(doubt in str(said) for doubt in DOUBTS for _, said, _ in (small, large)):
        return  # it depends on how many rows are looked at together
    # the place may be before or after blank lines, and what is wrong with a row that swallows
    # others can be said in two ways
    broken = small[1].startswith("a row must") and large[1].startswith("a row must")
    if small[0] != large[0] or not (broken or small[1] == large[1]):
        raise Found(f"{kind}: batches matter: {text!r} {chosen}\n{small}\n{large}")
    if zlib.crc32(data) % COMMANDS == 0:  # by chance, so that breeding cannot seek what is slow
        command(text, chosen)


def cell(source: Source) -> None:
    """A cell as a time and as missing: any text, and any value that JSON has."""
    text = source.pick(CELLS) if source.byte() % 2 else source.text()
    values = [text]
    with contextlib.suppress(ValueError, RecursionError):
        values.append(json.loads(text))
    for value in values:
        missing(value)
        try:
            seconds(value)
        except (TypeError, ValueError, OverflowError):
            pass
        except Exception as error:
            raise Found(f"seconds({value!r}): {type(error).__name__}: {error}") from error


def command(text: bytes, chosen: TrackOptions) -> None:
    """The whole command, files and report and all; it answers with an exit code."""
    share = SHARES.get(chosen.task)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"input.{chosen.format}"
        path.write_bytes(text)
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            try:
                code = track(
                    str(path),
                    chosen.target,
                    Path(folder) / "out",
                    time=chosen.time,
                    features=chosen.features,
                    task=chosen.task,
                    date_format=chosen.date_format,
                    **({share: getattr(chosen, share)} if share else {}),
                    delay=chosen.delay,
                    format=chosen.format,
                    quiet=True,
                )
            except Exception as error:
                raise Found(f"track: {type(error).__name__}: {error}: {text!r} {chosen}") from error
        if code not in (0, 2):
            raise Found(f"track: exit code {code}: {text!r} {chosen}")


def setup() -> None:
    """Warnings are no findings here."""
    warnings.simplefilter("ignore")
    assert FORMATS
