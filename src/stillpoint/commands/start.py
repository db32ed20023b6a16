"""Inputs that are not what they are read as, by their first bytes: better said than found out row
by row.
"""

import re

from stillpoint.commands.options import PACKED, InputError, Options, packed

_PACKED = {
    ".gz": re.compile(rb"\x1f\x8b"),
    ".zip": re.compile(rb"PK\x03\x04"),
    ".bz2": re.compile(rb"BZh[1-9]1AY&SY"),
    ".xz": re.compile(rb"\xfd7zXZ"),
}
# a column may be named PAR1, but no name goes on like this
_PARQUET = re.compile(rb"PAR1[\x00-\x08\x0e-\x1f]")


def check_start(options: Options, head: bytes) -> None:
    """Refuse what is compressed or Parquet, and JSON lines that are read as CSV because nobody said
    so. head: first bytes.
    """
    for suffix, mark in _PACKED.items():
        if mark.match(head):
            raise packed(options.source, PACKED[suffix])
    piped = options.source == "-"
    if _PARQUET.match(head):
        if piped:
            raise InputError(
                "Parquet must be a whole file: got - with Parquet in it; write it to a file and"
                " name that"
            )
        raise InputError(
            f"the input must be text: got {options.source}, which is Parquet; add --format parquet"
        )
    if (
        piped
        and options.format is None
        and head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    ):
        what = "got standard input that begins with {"
        raise InputError(
            f"the format must be named where it is not CSV: {what}; add --format jsonl, or write it"
            " to a .jsonl file"
        )
