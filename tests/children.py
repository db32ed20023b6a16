"""Child processes of tests: forked, so that they share what is compiled, waited for, and gone when
the tests are.
"""

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from stillpoint.commands.cli import app

CHILDREN: list[int] = []


@pytest.fixture(autouse=True)
def no_child_survives():
    yield
    while CHILDREN:
        child = CHILDREN.pop()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def in_threads(work, calls, every=1e-5):
    """Make these calls in a thread each, switched as often as every so many seconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(every)
    try:
        threads = [threading.Thread(target=work, args=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)


def ended(child):
    """Its exit code."""
    CHILDREN.remove(child)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def on_pipe(pipe, *others):
    """Make a pipe standard input, in a child."""
    for fd in others:
        os.close(fd)
    sys.stdin = os.fdopen(pipe)


def piped(content, words, monkeypatch):
    """Exit code of `stillpoint` with these words, here; its standard input is a pipe that holds
    this.
    """
    there, here = os.pipe()
    os.write(here, content)
    os.close(here)
    with os.fdopen(there) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        with pytest.raises(SystemExit) as end:
            app(words, prog_name="stillpoint")
    return end.value.code


def forked(work):
    """Run work() in a child that shares what is compiled, and end with the code it returns, or when
    the tests are killed.
    """
    parent, child = os.getpid(), os.fork()
    if child:
        CHILDREN.append(child)
        return child
    try:
        # Linux: the kernel kills it with its parent, whom no fixture survives
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(98)
        code = work()
        sys.stderr.flush()
        os._exit(code)
    finally:
        os._exit(99)


def snapshot(*folders):
    files = [
        path for folder in folders for path in sorted(Path(folder).rglob("*")) if path.is_file()
    ]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def soon(child):
    """Its exit code, if it ends by itself within a while."""
    wait_for(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None)
    return ended(child)


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0
