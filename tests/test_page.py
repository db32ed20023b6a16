"""The demo's page in a real browser: it renders, fits a phone, and logs no error."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from extras import program

ROOT = Path(__file__).parent.parent
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr"]


@pytest.fixture(scope="module")
def browser():
    return program("chromium")


@pytest.mark.extra
@pytest.mark.parametrize("size", [(1200, 1000), (390, 844)], ids=["desk", "phone"])
def test_demo_page_renders(browser, size, tmp_path):
    subprocess.run([sys.executable, ROOT / "examples" / "demo.py", "--out", tmp_path], check=True, capture_output=True)
    page, picture = tmp_path / "report.html", tmp_path / "page.png"
    shot = ["--user-data-dir=" + str(tmp_path / "profile"), f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}"]
    done = subprocess.run([browser, *FLAGS, *shot, page.as_uri()], check=True, capture_output=True, text=True, timeout=120)
    assert "CONSOLE" not in done.stderr
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == size
    assert len(data) > 15_000  # a blank page compresses to far less

    dom = [*FLAGS, "--user-data-dir=" + str(tmp_path / "other"), f"--window-size={size[0]},{size[1]}", "--dump-dom"]
    text = subprocess.run([browser, *dom, page.as_uri()], check=True, capture_output=True, text=True, timeout=120).stdout
    assert "Following a drifting level" in text
    assert text.count("<path") > 5  # the figure's curves
