"""The process of `antune tune --live`: serves the report of a run on 127.0.0.1 during the run.

The run may be measuring the processor that this process uses. Therefore a page is made between timings: its thread
shares the lock that a timing on the host's cores holds alone, like a compiler of the pool. It has an ordinary priority,
because timings wait for it. All other threads have the lowest one (niceness 19); they only send what is ready. Neither
has the policy SCHED_IDLE: on a machine without an idle core, such a thread gets 3 of 1027 parts of a core beside one
ordinary process, and a page that takes 2 s comes after ten minutes; with niceness 19 it is 15 of 1039.

The process makes a page only if a browser asked for it, the store has changed, and enough time has passed since the
last page: `PAUSE_S` seconds, and `PAUSE_RATIO` times as long as the last page took, so that timings wait for a 20th of
the run at most. It reads the store over its own read-only connection. Requests do not wait for the new page; they get
the last one. The process ends with the run or with its parent process; browsers that are connected get the last page
first.

    python -m experiments.report.live SOCKET DIRECTORY PARENT
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from experiments.report.live_view import TOKEN
from experiments.report.page import about, asset, contents, library, main_part, sections, whole_page
from experiments.words import command, describe_count
from generator.errors import InputError
from runners.locks import cores_lock, shared

PAUSE_S, PAUSE_RATIO = 4.0, 20.0
GRAPH_S = 1.0
LINGER_S, LOOKING_S = 20.0, 12.0
"""At the end, a browser that asked in the last `LOOKING_S` seconds has `LINGER_S` seconds to get the last page."""
STATUS = '<p class="live" data-state="waiting" role="status">connecting</p>'
_HOSTS = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class Made:
    """The page at store version `version`, in parts that the page's script inserts; `message` describes the state."""

    version: str
    message: str
    heading: str = ""
    about: str = ""
    contents: str = ""
    main: str = ""


class LiveReport:
    """The page of the run in `directory`, made again on request when it is due."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made = Made("", "waiting for the run to begin: the program is compiled and run once")
        self.ended = threading.Event()
        self.done = threading.Event()
        self.asked_s = -LOOKING_S
        self.told_end = False
        self._wanted = threading.Event()

    def want(self) -> None:
        """Record that a browser asked for the page."""
        self.asked_s = time.monotonic()
        self._wanted.set()

    @property
    def watched(self) -> bool:
        """Whether a browser asked for the page recently."""
        return time.monotonic() - self.asked_s < LOOKING_S

    def work(self) -> None:
        """Make pages until the run ends, and a last one if a browser is watching."""
        while not self.ended.is_set():
            if self._wanted.wait(0.5):
                self._wanted.clear()
                took_s = self._make()
                self.ended.wait(max(PAUSE_S, PAUSE_RATIO * took_s) if took_s else 0.0)
        if self.watched:
            self._make()
        self.done.set()

    def _make(self) -> float:
        """Make the page if the store has changed, while nothing is timed on the host's cores; return the seconds that
        it took, 0 if the store has not changed.
        """
        version = _version(self.directory)
        if not version or version == self.made.version:
            return 0.0
        try:
            with shared(cores_lock()):
                begin_s = time.monotonic()
                self.made = _page(self.directory, version)
                return time.monotonic() - begin_s
        except (InputError, OSError, ValueError) as error:  # the next attempt may succeed
            self.made = Made(version, f"the page cannot be made: {error}")
            return PAUSE_S / PAUSE_RATIO


def _version(directory: Path) -> str:
    """Return a text that changes with every commit to the store, from the times and sizes of its files; empty without a
    store.
    """
    found = []
    for name in ("run.sqlite", "run.sqlite-wal"):
        try:
            stat = (directory / name).stat()
        except OSError:
            continue
        found.append(f"{stat.st_mtime_ns:x}-{stat.st_size:x}")
    return "-".join(found) if (directory / "run.sqlite").exists() else ""


def _page(directory: Path, version: str) -> Made:
    from experiments.report.facts import gather
    from experiments.search.parts import PARTS
    from experiments.store import read_store

    with read_store(directory) as store:
        facts = gather(store)
        shown = sections(store, facts, PARTS, GRAPH_S)
    message = f"live: {describe_count(len(facts.results), 'result')} as of {time.strftime('%H:%M:%S')}"
    return Made(version, message, facts.heading, about(facts), contents(shown), main_part(shown))


class _Server(ThreadingHTTPServer):
    """An HTTP server on a socket that is already listening."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, report: LiveReport, token: str) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.report = report
        self.token = token


class _Handler(BaseHTTPRequestHandler):
    """Answers GET requests: the page, its state as JSON, plotly.js."""

    server: _Server
    timeout = 10

    def do_GET(self) -> None:
        """Answer requests to 127.0.0.1. Requests under other host names are rejected, even if these resolve to
        127.0.0.1.
        """
        report, address = self.server.report, urlsplit(self.path)
        if (self.headers.get("Host") or "").rsplit(":", 1)[0] not in _HOSTS:
            self._send(403, "text/plain", "only for 127.0.0.1")
            return
        _, token, *rest = [*address.path.split("/", 2), ""]
        if not compare_digest(token.encode(), self.server.token.encode()):
            self._send(404, "text/plain", "antune prints the whole address")
            return
        match f"/{rest[0]}":
            case "/":
                report.want()
                script = asset("live.js")
                page = whole_page(
                    "antune", str(report.directory), (), '<script src="plotly.js"></script>', STATUS, script
                )
                self._send(200, "text/html", page)
            case "/state":
                report.want()
                self._send(200, "application/json", self._state(parse_qs(address.query).get("have", [""])[0]))
            case "/plotly.js":
                self._send(200, "text/javascript", library(), "max-age=86400")
            case _:
                self._send(404, "text/plain", "there is only /")

    def _state(self, have: str) -> str:
        report = self.server.report
        made, done = report.made, report.done.is_set()
        report.told_end |= done
        state = "ended" if done else "running" if made.main else "waiting"
        whole = asdict(made) if have != made.version else {"version": made.version, "message": made.message}
        return json.dumps({"state": state, "report": command("report", report.directory)} | whole)

    def _send(self, status: int, kind: str, text: str, cache: str = "no-store") -> None:
        content = text.encode("utf-8", "surrogateescape")
        self.send_response(status)
        for name, value in (("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(content))),
                            ("Cache-Control", cache), ("X-Content-Type-Options", "nosniff")):
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True  # the browser closed the connection

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the terminal belongs to the run."""


def serve(listening: socket.socket, directory: Path, parent: int, token: str) -> None:
    """Serve the page below /TOKEN/ until SIGTERM or the end of process `parent`; watching browsers get the last page
    first.
    """
    report = LiveReport(directory)
    signal.signal(signal.SIGTERM, lambda *_: report.ended.set())
    server = _Server(listening, report, token)
    threading.Thread(target=report.work, daemon=True).start()
    os.nice(19)  # on Linux: of this thread, and of those that it starts from now on
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while not report.ended.wait(1.0):
        if os.getppid() != parent:
            report.ended.set()
    end_s = time.monotonic() + LINGER_S
    while report.watched and not report.told_end and time.monotonic() < end_s:
        time.sleep(0.1)
    time.sleep(0.2)  # let pending responses finish


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3]), os.environ[TOKEN])
