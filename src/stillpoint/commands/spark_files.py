"""Files that Spark is to read: their one format, how times are written, Spark's own words."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stillpoint.commands import cells
from stillpoint.commands.errors import InputError
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.formats import format_of, open_reader
from stillpoint.commands.sources import inputs
from stillpoint.commands.text import CsvReader

LOG = "spark.log"
_SOME = 1000  # rows to look for a time in, at a time
_DAY = 10  # characters of a date without a time of day


def load(
    spark: Any,
    reader: Any,
    options: FleetOptions,
    kind: str,
    first: str,
    look: tuple[list[str], str, str],
    *,
    days: bool = False,
) -> Any:
    """Return the rows of the files, times as numbers or timestamps; as days where they are such.

    days: whether that is asked for.
    """
    import pyspark.sql.functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    names, delimiter, moment = look
    if kind == "csv":  # text: what cannot be read as a number is to be told, not lost
        schema = StructType([StructField(name, StringType()) for name in names])
        reader = (
            reader.option("header", True).option("sep", delimiter).option("enforceSchema", False)
        )
    else:
        schema = spark.read.format("json" if kind == "jsonl" else kind).load(first).schema
    source = Path(options.source).resolve()
    if source.is_file():
        reader = reader.option("pathGlobFilter", source.name)
    folder = source if source.is_dir() else source.parent
    rows = reader.schema(schema).format("json" if kind == "jsonl" else kind).load(str(folder))
    assert options.time is not None
    if dict(rows.dtypes)[options.time] == "string":
        text = F.trim(F.col(f"`{options.time}`"))
        cell = text.try_cast("double" if moment == "number" else "timestamp")
        if days and moment == "day":  # a time of day must not be lost
            cell = F.when(F.length(text) <= _DAY, text.try_cast("date"))
        rows = rows.withColumn(options.time, cell)
    return rows


def one_format(options: FleetOptions) -> str:
    """Return the one format of all files."""
    if options.source == "-":
        raise InputError(
            "the input must be files on Spark: got standard input; use --engine local, or write it"
            " to a folder"
        )
    if not Path(options.source).exists():
        raise InputError(f"the input must exist: got {options.source}; check the path")
    kinds = sorted({format_of(path, options.format) for path in inputs(options.source)})
    if len(kinds) > 1:
        what = f"got {' and '.join(kinds)}; put them in folders of their own"
        raise InputError(f"the files must have one format on Spark: {what}")
    return kinds[0]


def look(options: FleetOptions, files: list[str]) -> tuple[list[str], str, str]:
    """Return columns and delimiter of the first file, and the kind of the first time there is."""
    names, delimiter, moment = _look_into(options, files[0])
    for file in files[1:]:
        moment = moment or _look_into(options, file)[2]
    return names, delimiter, moment or "number"


def _look_into(options: FleetOptions, file: str) -> tuple[list[str], str, str]:
    reader = open_reader(file, options.format)
    try:
        while not reader.begin():
            if reader.ended:
                raise InputError(
                    f"the input must have a header and rows: got nothing in {file}; check the file"
                )
        delimiter = reader.delimiter if isinstance(reader, CsvReader) else ","
        if options.time not in reader.names:
            return reader.names, delimiter, ""
        reader.use([options.time])
        moment = ""
        while not moment:
            batch = reader.read(_SOME)
            if batch.rows == 0 and reader.ended:
                break
            moment = cells.first_time_kind(batch.columns[0])
            if moment == "date" and _are_days(batch.columns[0]):
                moment = "day"
        return reader.names, delimiter, moment
    finally:
        reader.close()


def _are_days(given: Sequence[Any]) -> bool:
    return all(isinstance(cell, str) and len(cell.strip()) <= _DAY for cell in given)


@contextmanager
def errors_to(path: Path) -> Iterator[None]:
    """What is started here writes its errors to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with path.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def line(error: Any) -> str:
    """Return the line of Spark's that says most: that of an error in Python, or else the first."""
    text = str(getattr(error, "desc", None) or error).strip()
    text = text.rpartition("terminated with exception: ")[2]
    found = re.findall(r"^\w*(?:Error|Exception): .*", text, flags=re.MULTILINE)
    return " ".join((found[-1] if found else text.partition("\n")[0]).split())[:300]
