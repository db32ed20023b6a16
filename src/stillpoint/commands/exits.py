"""From what a command raises to an exit code and one line: the same for every command that writes
files from rows.
"""

import signal
from collections.abc import Callable

from stillpoint.commands.stop import Stop
from stillpoint.core.terminal import tell


def exit_code(run: Callable[[Stop], int], checkpoint: bool) -> int:
    """What `run` returns; 1 where reading or writing fails or memory runs out, 2 where arguments or
    input cannot be used.

    130 at a second Ctrl-C, or at the first before there is anything to write; 143 if it is a
    termination.
    """
    stop = Stop()
    try:
        with stop:
            return run(stop)
    except KeyboardInterrupt:
        again = "go on" if checkpoint else "start over"
        code = 128 + (stop.signal or signal.SIGINT)
        return say(
            f"interrupted; what was written is whole, run the command again to {again}", code
        )
    except MemoryError as error:
        remedy = "choose fewer columns, or use a machine with more"
        return say(
            f"error: memory ran out: {str(error) or 'no more was to be had'}; what was written is"
            f" whole, {remedy}",
            1,
        )
    except BrokenPipeError:
        return 1
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        again = (
            "run it again to go on"
            if checkpoint
            else "run it again; with --checkpoint DIR it can go on"
        )
        return say(
            f"error: reading or writing failed{place}: {error.strerror or error}; what was written"
            f" is whole, {again}",
            1,
        )
    except ValueError as error:
        return say(f"error: {error}", 2)


def stopped(message: str, checkpoint: bool, stop: Stop) -> int:
    """The exit code after a first Ctrl-C, or a termination, and a line on how to go on."""
    remedy = (
        "run the same command to go on"
        if checkpoint
        else "add --checkpoint DIR to be able to go on"
    )
    return say(f"interrupted: {message}; {remedy}", 128 + stop.signal)


def say(message: str, code: int) -> int:
    """Tell the user; returns the code."""
    tell(message, err=True)
    return code
