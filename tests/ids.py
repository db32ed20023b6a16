"""Ids of tests, the same in every run and on every machine."""

import dataclasses
import re

LONGEST = 60  # of one value in an id
# bytes may hold the clock (gzip's do), addresses tell the process, long numbers the last bits of a
# machine's arithmetic
UNSTABLE = re.compile(r"[^ -~]|\\|0x[0-9a-f]{5,}|\d{9,}|\d\.\d{9,}")


def value_id(val, argname):
    """The id of one value: its text where that is the same in every run and on every machine, else
    the argument's name.
    """
    if not isinstance(val, bytes | str | int | float) and not (
        dataclasses.is_dataclass(val) and not isinstance(val, type)
    ):
        # pytest's own: names of functions and classes, and the argument's name with a number
        return None
    text = val if isinstance(val, str) else repr(val)
    if not isinstance(val, bytes) and len(text) <= LONGEST and not UNSTABLE.search(text):
        return text
    # pytest numbers those that are alike
    return type(val).__name__ if dataclasses.is_dataclass(val) else argname
