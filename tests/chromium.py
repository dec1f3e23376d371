"""A headless Chromium, driven through the DevTools protocol over a pipe: no driver, no library."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# Chromium reads commands from descriptor 3 and answers on 4; first move ours out of their way.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD_CLOEXEC, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find():
    """Path of an installed Chromium, or None; ORDINATE_CHROMIUM names one elsewhere, or hides all."""
    if "ORDINATE_CHROMIUM" in os.environ:
        return os.environ["ORDINATE_CHROMIUM"] or None
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One page of a browser. Console messages, errors and requests are kept in lists."""

    def __init__(self, program, profile):
        ours, theirs = os.pipe(), os.pipe()  # we write to one, it writes to the other
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        command += [
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--hide-scrollbars",
        ]
        command += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(ours[0]), str(theirs[1]), *command],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.write_to, self.read_from = ours[1], theirs[0]
        self.number, self.session, self.waiting = 0, None, b""
        self.errors, self.requests, self.loaded = [], [], 0
        page = next(
            target for target in self._pages(time.monotonic() + 60) if target["type"] == "page"
        )
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _pages(self, deadline):
        while time.monotonic() < deadline:
            pages = self.call("Target.getTargets")["targetInfos"]
            if any(page["type"] == "page" for page in pages):
                return pages
            time.sleep(0.05)
        raise TimeoutError("Chromium opened no page")

    def call(self, method, **parameters):
        """Send a command, note the events that come meanwhile, return the answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.write_to, text) :]
        while True:
            answer = self._receive(30)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _receive(self, seconds):
        while b"\0" not in self.waiting:
            ready, _, _ = select.select([self.read_from], [], [], seconds)
            if not ready:
                raise TimeoutError(f"Chromium said nothing for {seconds} s")
            piece = os.read(self.read_from, 1 << 20)
            if not piece:
                raise RuntimeError(f"Chromium ended with status {self.process.wait(10)}")
            self.waiting += piece
        line, self.waiting = self.waiting.split(b"\0", 1)
        event = json.loads(line)
        self._note(event.get("method"), event.get("params", {}))
        return event

    def _note(self, method, event):
        if method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.errors.append(details.get("exception", details).get("description", str(details)))
        elif method == "Runtime.consoleAPICalled" and event["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.errors.append(str(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.errors.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded += 1

    def open(self, path: Path):
        """Open a file and wait until it has loaded and drawn."""
        self.errors, self.requests, before = [], [], self.loaded
        self.call("Page.navigate", url=path.as_uri())
        while self.loaded == before:
            self._receive(30)
        self.settle()

    def js(self, expression):
        """Value of an expression, promises awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")

    def settle(self):
        """Wait for two frames, so that what was asked for is drawn."""
        self.js("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            more = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.mouse(kind, x, y, **more)

    def key(self, key, **more):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def touch(self, kind, *fingers):
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(fingers)]
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        self.settle()

    def tap(self, x, y):
        self.touch("touchStart", (x, y))
        self.touch("touchEnd")

    def box(self, selector):
        """Left, top, right and bottom of the first element that matches, in pixels of the window."""
        return self.js(
            "(({left, top, right, bottom}) => [left, top, right, bottom])"
            f"(document.querySelector({selector!r}).getBoundingClientRect())"
        )

    def until(self, condition):
        """Wait, frame by frame, until an expression is true."""
        deadline = time.monotonic() + 60
        while not self.js(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never came true: {condition}")
            self.settle()

    def look(self, width, height, *, dark=False, touch=False, media=""):
        """Set the size of the window, the colour scheme, fingers for a mouse, screen or print."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=touch,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)
        self.settle()

    def screenshot(self, path: Path, *, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait(10)
        finally:
            os.close(self.write_to)
            os.close(self.read_from)
