"""Shared settings: seeded, unhurried Hypothesis runs; helpers of the tests and of fuzz/ can be imported."""

import signal
import sys
from pathlib import Path

from hypothesis import settings

# A shell's background jobs ignore Ctrl-C, and so would every process that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]

settings.register_profile("stillpoint", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("stillpoint")
