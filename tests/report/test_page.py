"""Report pages in a real browser: they render, fit a phone, log no error, and their charts answer
to mouse, fingers and keys.
"""

import base64
import fcntl
import json
import os
import re
import select
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from series_run import series_of
from test_alerts_page import alerts_of, changed, unusual

from extras import HEADLESS, program
from stillpoint.report.history import history_from_arrays
from stillpoint.report.page import write_page

ROOT = Path(__file__).parents[2]


class Chromium:
    """A headless browser behind a pair of pipes: the DevTools protocol, JSON messages each ended by
    a zero byte.
    """

    def __init__(self, path, profile):
        read, self._out = os.pipe()
        self._in, write = os.pipe()
        # clear of 3 and 4, where the browser looks
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read, write)]
        flags = [*HEADLESS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [path, *flags, "about:blank"],
            preexec_fn=lambda: [os.dup2(end, fd) for end, fd in zip(theirs, (3, 4), strict=True)],
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (read, write, *theirs):
            os.close(end)
        self._buffer, self._count, self.events, self._session = b"", 0, [], None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (reply := self._next(60.0)).get("id") != self._count:
            self.events.append(reply)
        assert "error" not in reply, (method, reply)
        return reply["result"]

    def _next(self, patience):
        while b"\0" not in self._buffer:
            assert select.select([self._in], [], [], patience)[0], "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser is gone"
            self._buffer += part
        head, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(head)

    def open(self, page, size=(1200, 900), dark=False, touch=False, scale=1, unfold=True):
        """Show a file at that size; afterwards everything it asked for and complained about is in
        `events`.
        """
        self.events = []
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": scale, "mobile": touch}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=5)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.as_uri())
        self.wait(
            "document.readyState === 'complete' && document.querySelectorAll('.curve').length > 0"
        )
        if unfold:
            self.run("document.querySelector('.fold').open = true")
            self.wait("[...document.querySelectorAll('.plot > svg')].every(s => s.firstChild)")

    def run(self, script):
        reply = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def wait(self, condition, patience=20.0):
        end = time.monotonic() + patience
        while True:
            with suppress(AssertionError):  # a script may meet a page that is on its way out
                if self.run(condition):
                    return
            assert time.monotonic() < end, condition
            time.sleep(0.02)

    def frame(self):
        self.run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def touch(self, kind, *points):
        self.call(
            "Input.dispatchTouchEvent",
            type=kind,
            touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)],
        )

    def picture(self, whole=False):
        return base64.b64decode(
            self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        )

    def close(self):
        self._process.terminate()
        self._process.wait(20)
        for end in (self._in, self._out):
            os.close(end)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    browser = Chromium(program("chromium"), tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    rng, t = np.random.default_rng(0), np.arange(3000)
    truth = np.sin(t / 200) + 2.0 * (t > 2000)
    y, forecast = truth + 0.3 * rng.standard_normal(3000), truth + 0.1 * rng.standard_normal(3000)
    guesses = {
        "stillpoint": forecast,
        "last value": np.r_[0.0, y[:-1]],
        "running mean": np.zeros(3000),
        "truth": truth,
    }
    losses, late = {name: np.abs(y - guess) for name, guess in guesses.items()}, 0.8 * (t > 2000)
    weights = np.stack([0.9 - late, np.full(3000, 0.1), late], axis=1)
    history = history_from_arrays(
        y, forecast, forecast - 0.5, forecast + 0.5, losses, weights, time=1.7e9 + 3600.0 * t
    )
    write_page(path, history, {"time_kind": "date", "coverage": {"target": 0.9}}, "A run")
    return path


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    path = tmp_path_factory.mktemp("series") / "report.html"
    write_page(path, *series_of(), "Forecasting load")
    return path


def troubles(browser):
    kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
    asked = [
        e["params"]["request"]["url"]
        for e in browser.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    return [e for e in browser.events if e.get("method") in kinds] + [
        u for u in asked if not u.startswith(("file:", "data:"))
    ]


def middle(browser, chart, share=0.5, height=0.5):
    """A point in a chart, which is scrolled into view."""
    browser.run(f"document.getElementById('c-{chart}').scrollIntoView({{block: 'center'}})")
    box = browser.run(
        f"JSON.stringify(document.getElementById('c-{chart}').getBoundingClientRect())"
    )
    box = SimpleNamespace(**json.loads(box))
    return box.x + share * box.width, box.y + height * box.height


TIP = (
    "[...document.querySelectorAll('.tip:not([hidden])')].map(t => t.parentNode.firstChild.id + ' '"
    " + t.innerText).join('|')"
)
RANGE = "document.getElementById('range').textContent"
CURVE = "document.querySelector('#c-losses .s-ours').getAttribute('d')"


@pytest.mark.extra
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [(1200, 900), (390, 844)], ids=["desk", "phone"])
def test_page_renders(chromium, page, size, dark):
    chromium.open(page, size, dark, touch=size[0] < 500)
    # nothing sticks out sideways
    assert chromium.run("document.documentElement.scrollWidth") == size[0]
    assert chromium.run("document.querySelectorAll('.plot > svg').length") == 7
    assert chromium.run(
        "[...document.querySelectorAll('.plot > svg')].every(s => s.querySelectorAll('path').length"
        " > 0)"
    )
    assert not chromium.run(
        "/NaN|undefined|Infinity|null/.test(document.querySelector('main').innerHTML)"
    )
    paper = [
        int(v)
        for v in re.findall(
            r"\d+", chromium.run("getComputedStyle(document.body).backgroundColor")
        )[:3]
    ]
    assert max(paper) < 60 if dark else min(paper) > 230
    picture = chromium.picture()
    assert struct.unpack(">II", picture[16:24]) == size
    assert len(picture) > 15_000
    assert troubles(chromium) == []


@pytest.mark.extra
def test_hover_tells_and_drag_zooms_all_charts(chromium, page):
    chromium.open(page)
    x, y = middle(chromium, "target")
    chromium.mouse("mouseMoved", x, y)
    chromium.frame()
    tip = chromium.run(TIP)
    assert tip.startswith("c-target")
    assert "rows 1\u202f4" in tip
    assert "forecast" in tip
    # the same time in every chart
    assert chromium.run("document.querySelectorAll('.cursor').length") == 7
    whole, before = chromium.run(RANGE), chromium.run(CURVE)
    chromium.mouse("mousePressed", x, y, button="left", clickCount=1)
    chromium.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    chromium.mouse("mouseMoved", x + 200, y, button="left", buttons=1)
    assert chromium.run("document.querySelectorAll('.brush').length") == 1
    chromium.mouse("mouseReleased", x + 200, y, button="left", clickCount=1)
    chromium.frame()
    assert re.search(r"2024 .*– .*2024 .*· rows 1\u202f4\d\d–2\u202f", chromium.run(RANGE))
    assert chromium.run(CURVE) != before
    assert not chromium.run("document.getElementById('reset').hidden")
    for clicks in (1, 2):
        chromium.mouse("mousePressed", x, y, button="left", clickCount=clicks)
        chromium.mouse("mouseReleased", x, y, button="left", clickCount=clicks)
    chromium.frame()
    assert (chromium.run(RANGE), chromium.run(CURVE)) == (whole, before)
    chromium.mouse("mouseMoved", 5, 5)
    chromium.frame()
    assert chromium.run(TIP) == ""
    assert troubles(chromium) == []


@pytest.mark.extra
def test_fingers_read_and_zoom(chromium, page):
    chromium.open(page, (390, 844), touch=True)
    x, y = middle(chromium, "weights", 0.7)
    chromium.touch("touchStart", (x, y))
    chromium.touch("touchMove", (x + 20, y))
    chromium.touch("touchEnd")
    chromium.frame()
    assert chromium.run(TIP).startswith("c-weights")
    whole = chromium.run(RANGE)
    assert "Pinch" in whole
    chromium.touch("touchStart", (x - 20, y))
    chromium.touch("touchStart", (x - 20, y), (x + 20, y))
    for reach in (30, 50, 70):
        chromium.touch("touchMove", (x - reach, y), (x + reach, y))
    chromium.touch("touchEnd")
    chromium.frame()
    first, last = (
        int(v.replace("\u202f", ""))
        for v in re.search(r"rows ([\d\u202f]+)–([\d\u202f]+)", chromium.run(RANGE)).groups()
    )
    assert 3000 / 4.5 < last - first < 3000 / 2.8  # fingers 3.5 times as far apart
    time.sleep(0.4)
    for _ in range(2):
        chromium.touch("touchStart", (x, y))
        chromium.touch("touchEnd")
    chromium.frame()
    assert chromium.run(RANGE) == whole
    assert troubles(chromium) == []


@pytest.mark.extra
def test_keys_and_legend(chromium, page):
    chromium.open(page)
    chromium.run("document.getElementById('c-coverage').focus()")
    for key in ("ArrowRight", "ArrowRight", "+", "+"):
        chromium.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        chromium.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        chromium.frame()
    assert "coverage of the last" in chromium.run("document.getElementById('say').textContent")
    assert "rows" in chromium.run(RANGE)
    chromium.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    chromium.frame()
    assert "Drag" in chromium.run(RANGE)
    chromium.run("document.querySelector('#k-losses .key').click()")
    assert chromium.run("document.querySelector('#c-losses .s-ours')") is None
    assert chromium.run("document.querySelectorAll('#c-losses .curve').length") == 3
    for key in ("target", "coverage"):  # to the last curve, and none
        chromium.run(f"document.querySelectorAll('#k-{key} .key').forEach(key => key.click())")
    assert "NaN" not in chromium.run("document.querySelector('main').innerHTML")
    assert troubles(chromium) == []


@pytest.mark.extra
def test_page_prints(chromium, page):
    chromium.open(page, dark=True)
    pdf = base64.b64decode(chromium.call("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 6


SIZES = {"desk": (1280, 860), "phone": (390, 844)}
SHOWN = (
    "[...document.querySelectorAll('{0}')].map(e => e.getBoundingClientRect())"
    ".map(r => [r.top, r.bottom, r.width])"
)


@pytest.mark.extra
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_series_is_answered_above_the_fold(chromium, series, size, dark):
    chromium.open(series, size, dark, touch=size[0] < 500, unfold=False)
    assert chromium.run("document.documentElement.scrollWidth") == size[0]
    ((top, bottom, width),) = chromium.run(SHOWN.format("#c-ahead"))
    assert top > 0
    assert bottom < size[1]
    assert width > 0.55 * size[0]
    told = chromium.run(SHOWN.format(".lead, .numbers dd"))
    assert len(told) == 4
    assert told[0][1] < size[1]
    if size[0] > 1000:  # the numbers are beside the chart
        assert all(low < bottom for _, low, _ in told)
    assert (
        chromium.run("document.querySelectorAll('#c-ahead .f-fan, #c-ahead .s-ours').length") == 2
    )
    assert chromium.run("document.querySelector('.fold').open") is False
    html = chromium.run("document.querySelector('main').innerHTML")
    assert not re.search("NaN|undefined|Infinity|null", html)
    assert len(chromium.picture()) > 15_000
    assert troubles(chromium) == []


@pytest.mark.extra
def test_the_forecast_and_the_run_zoom_apart(chromium, series):
    chromium.open(series, (1280, 860))
    before = chromium.run("document.querySelector('#c-target .s-target').getAttribute('d')")
    x, y = middle(chromium, "ahead", 0.9)
    chromium.mouse("mouseMoved", x, y)
    chromium.frame()
    tip = chromium.run(TIP)
    assert re.search(r"forecast\s+\d", tip)
    assert "90% interval" in tip
    chromium.mouse("mousePressed", x, y, button="left", clickCount=1)
    chromium.mouse("mouseMoved", x - 300, y, button="left", buttons=1)
    chromium.mouse("mouseReleased", x - 300, y, button="left", clickCount=1)
    chromium.frame()
    assert "Mar 2024" in chromium.run(RANGE)
    after = chromium.run("document.querySelector('#c-target .s-target').getAttribute('d')")
    assert after == before
    chromium.run("document.getElementById('reset').click()")
    chromium.frame()
    assert "Drag" in chromium.run(RANGE)
    x, y = middle(chromium, "reach", 0.6)
    chromium.mouse("mouseMoved", x, y)
    chromium.frame()
    assert "hours ahead" in chromium.run(TIP)
    assert troubles(chromium) == []


LABELS = (
    "[...document.querySelectorAll('#c-target > text[text-anchor=end]')].map(t => t.textContent)"
)


@pytest.mark.extra
def test_outliers_leave_room_for_the_rest(chromium, tmp_path):
    rng = np.random.default_rng(5)
    y = rng.standard_normal(2000)
    y[:4] = 5000.0
    forecast = np.r_[0.0, y[:-1]]
    history = history_from_arrays(y, forecast, forecast - 1e4 / np.arange(1, 2001), forecast + 3)
    path = tmp_path / "report.html"
    write_page(path, history, {"coverage": {"target": 0.9}}, "A run")
    chromium.open(path)
    assert max(float(t.replace("\u202f", "").replace("−", "-")) for t in chromium.run(LABELS)) < 20
    note = chromium.run("document.getElementById('n-target').innerText")
    assert re.search(
        r"Beyond the edge of this chart: .*the target at .*rows 0–\d+, as far as 5\u202f000", note
    )
    chromium.run("document.querySelector('#n-target button').click()")
    assert (
        max(float(t.replace("\u202f", "").replace("−", "-")) for t in chromium.run(LABELS)) >= 4000
    )
    assert troubles(chromium) == []


@pytest.mark.extra
def test_a_jump_at_the_end_is_no_outlier(chromium, tmp_path):
    y = np.random.default_rng(6).standard_normal(2000)
    y[-5:] += 500.0
    path = tmp_path / "report.html"
    write_page(path, history_from_arrays(y, y), {}, "A run")
    chromium.open(path)
    assert (
        max(float(t.replace("\u202f", "").replace("−", "-")) for t in chromium.run(LABELS)) >= 400
    )


@pytest.mark.extra
def test_demo_page_renders(chromium, tmp_path):
    subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py", "--out", tmp_path],
        check=True,
        capture_output=True,
    )
    for size in ((1200, 1000), (390, 844)):
        chromium.open(tmp_path / "report.html", size)
        assert (
            chromium.run("document.querySelector('h1').textContent") == "Following a drifting level"
        )
        assert chromium.run("document.querySelectorAll('.plot > svg').length") == 8
        assert chromium.run("document.documentElement.scrollWidth") == size[0]
        assert troubles(chromium) == []


@pytest.mark.extra
@pytest.mark.parametrize("size", [(1200, 900), (390, 844)], ids=["desk", "phone"])
def test_alarms_are_read_off_the_strip(chromium, tmp_path, size):
    history, summary = series_of()
    last = [unusual(201), unusual(585, 240.0), changed(590, 586, "wider", 2.0, 3.0)]
    write_page(tmp_path / "report.html", history, summary | {"alerts": alerts_of(last)}, "Alerts")
    chromium.open(tmp_path / "report.html", size, touch=size[0] < 500)
    assert chromium.run("document.documentElement.scrollWidth") == size[0]
    for chart, kinds in (("ahead", ["", "moved"]), ("target", ["", "", "moved"])):
        marks = f"[...document.querySelectorAll('#c-{chart} .alarm')]"
        names = chromium.run(f"{marks}.map(m => m.classList[1] || '').join('|')").split("|")
        assert names == kinds
    middle(chromium, "target")
    first = "document.querySelector('#c-target .alarm').getBoundingClientRect()"
    box = SimpleNamespace(**json.loads(chromium.run(f"JSON.stringify({first})")))
    chromium.mouse("mouseMoved", box.x + 4, box.y + box.height / 2)  # a little beside it
    chromium.frame()
    tip = chromium.run(TIP)
    assert tip.startswith("c-target")
    assert "180.0 instead of 150.0" in tip
    assert chromium.run("getComputedStyle(document.querySelector('.alarm')).fill") != (
        chromium.run("getComputedStyle(document.querySelector('.moved')).fill")
    )
    assert "NaN" not in chromium.run("document.querySelector('main').innerHTML")
    assert troubles(chromium) == []
