"""Where the command begins: Ctrl-C while its parts are still being loaded is one line and exit code
130, as it is later.
"""

import os
import signal
from types import FrameType

_MESSAGE = b"interrupted while starting; nothing was read or written, run the command again\n"


def main() -> None:
    """Load the command line and run it."""
    # whoever started this may have it ignored
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from stillpoint.commands.cli import app

    app(prog_name="stillpoint")


def loaded() -> None:
    """From here on Ctrl-C is an exception, which commands meet in their own ways."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """An exception would not do: modules that are just being imported turn it into errors of their
    own.
    """
    os.write(2, _MESSAGE)
    os._exit(128 + number)
