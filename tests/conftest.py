"""Shared settings: seeded, unhurried Hypothesis runs, and a compiled-code cache that notices every edit."""

import hashlib
import os
import signal
import sys
from pathlib import Path

from hypothesis import settings

# A shell's background jobs ignore Ctrl-C, and so would every process that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]

# Numba's cache looks at a function's own file only: keyed by all compiled sources, a changed callee cannot go unnoticed.
sources = sorted((HERE.parent / "src").rglob("_hot.py"))
key = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(HERE.parent / ".numba-cache" / key))

settings.register_profile("stillpoint", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("stillpoint")
