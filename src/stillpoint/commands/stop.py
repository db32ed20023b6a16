"""Ctrl-C between batches: the first asks a run to end, so that what it writes is whole; the second
ends it at once.
"""

import signal
import threading
from types import FrameType
from typing import Any


class Stop:
    """While in use, `signal` is the number of the interrupt or termination asked for; 0 for
    none.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():  # others may not
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._asked)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """End at once if that was asked for: where nothing would be left half done."""
        if self.signal:
            raise KeyboardInterrupt

    def _asked(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number
