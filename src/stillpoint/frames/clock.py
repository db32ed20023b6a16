"""Times from their texts, as the data have them."""

from collections.abc import Sequence
from datetime import datetime, time
from typing import NamedTuple

import numpy as np

from stillpoint.commands.cells import seconds
from stillpoint.commands.dates import moment
from stillpoint.core.validation import Array


class Clock(NamedTuple):
    """How times are written.

    kind: "date", "number", or "row" where there are none. form: of dates, as `strptime` has it;
    None for ISO's.
    """

    kind: str
    form: str | None = None

    def moments(self, texts: Sequence[str]) -> list[datetime]:
        """Return dates."""
        return [moment(text, self.form) for text in texts]

    def numbers(self, texts: Sequence[str]) -> Array:
        """Return times as numbers, dates in seconds since 1970."""
        if self.kind == "number":
            return np.array([float(text) for text in texts])
        return np.array([seconds(at) for at in self.moments(texts)])

    def array(self, texts: Sequence[str]) -> Array:
        """Return times as numbers, dates of NumPy, or datetimes where they have a zone."""
        if self.kind == "number":
            return self.numbers(texts)
        found = self.moments(texts)
        if any(at.tzinfo is not None for at in found):
            return np.array([*found, None], dtype=object)[:-1]
        clocked = any(":" in text for text in texts) or any(at.time() != time() for at in found)
        dates = np.array(found, dtype="datetime64[us]")
        return dates if clocked else dates.astype("datetime64[D]")
