"""A real browser for tests: Chromium without a window, controlled over a pipe by the Chrome DevTools Protocol.

The protocol is JSON with a zero byte after each message, on the descriptors 3 and 4 of the browser. It needs no port,
no driver of a matching version, no package. https://chromedevtools.github.io/devtools-protocol describes the messages.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
WAIT_S = 300.0
"""Long, since the machine may be busy."""
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
DRAWN = "document.documentElement?.hasAttribute('data-drawn')"
WIDER = "document.documentElement.scrollWidth - innerWidth"


class BrowserFault(AssertionError):
    """The browser did not do what it was asked to."""


@dataclass
class Browser:
    """One page. `errors` are exceptions, messages of the console and of the browser; `requests` are all loaded
    addresses.
    """

    process: subprocess.Popen[bytes]
    write_to: int
    read_from: int
    session: str = ""
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _sent: int = 0
    _rest: bytes = b""

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s:
            answer = self._receive(end_s)
            if answer.get("id") == self._sent:
                if "error" in answer:
                    raise BrowserFault(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
        raise BrowserFault(f"{method}: no answer")

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; wait for a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserFault(
                f"{expression[:80]}: {answer['exceptionDetails'].get('exception', {}).get('description')}"
            )
        return answer["result"].get("value")

    def until(self, expression: str, limit_s: float = WAIT_S) -> float:
        """Wait until an expression is true; return the seconds that it took."""
        begin_s = time.monotonic()
        while not self.run(expression):
            if time.monotonic() - begin_s > limit_s:
                raise BrowserFault(f"not within {limit_s:g} s: {expression}; errors: {self.errors}")
            time.sleep(0.05)
        return time.monotonic() - begin_s

    def open(self, address: str) -> None:
        """Go to a page; clear `errors` and `requests`."""
        self.errors.clear()
        self.requests.clear()
        self.call("Page.navigate", url=address)

    def look(self, width: int, height: int = 900, scheme: str = "light", media: str = "", mobile: bool = False) -> None:
        """Set the size of the window in pixels, and the reader's preferences."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """Write a PNG of the page, or of the visible part."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self) -> bytes:
        """Return the printed page."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def close(self) -> None:
        """End the browser with all of its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.write_to)
        os.close(self.read_from)

    def _receive(self, end_s: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self.read_from], [], [], max(0.0, end_s - time.monotonic()))[0]:
                raise BrowserFault("the browser is silent")
            piece = os.read(self.read_from, 1 << 20)
            if not piece:
                raise BrowserFault("the browser has ended")
            self._rest += piece
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, given: Mapping[str, Any]) -> None:
        match event:
            case "Runtime.exceptionThrown":
                details = given["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if given["type"] in ("error", "warning", "assert"):
                self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in given["args"]))
            case "Log.entryAdded" if given["entry"]["level"] in ("error", "warning"):
                self.errors.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])


def chromium() -> str:
    """Return the browser's program; skip the test if there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name)) and _starts(path)), None)
    if found is None:
        pytest.skip("no Chromium here: `apt-get install chromium`")
    return found


def _starts(path: str) -> bool:
    """Return whether the program works: some systems have one that only says where to get the real one."""
    said = subprocess.run(
        [path, "--version"], check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT_S
    )
    return said.returncode == 0


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Yield a browser with an empty page and its own profile, which is removed at the end."""
    program = chromium()
    to_browser, from_browser = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        ends = to_browser[0], from_browser[1]
        words = [
            sys.executable,
            "-c",
            _START,
            *map(str, ends),
            program,
            *FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=ends,
            start_new_session=True,
        )
        for end in ends:
            os.close(end)
        page = Browser(process, to_browser[1], from_browser[0])
        try:
            _attach(page)
            yield page
        finally:
            page.close()


def _attach(page: Browser) -> None:
    targets = page.call("Target.getTargets")["targetInfos"]
    target = next(one["targetId"] for one in targets if one["type"] == "page")
    page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        page.call(f"{domain}.enable")
