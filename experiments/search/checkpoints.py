"""The explorer's state beside the store, so that a long run resumes in seconds.

The state follows from the stored history: without a checkpoint, resuming asks and tells everything again, which takes
as long as the explorer took (a few ms per evaluation). A checkpoint is that state after some iteration, written now and
then between iterations, when nothing is measured; resuming goes on from the latest. It is a shortcut and never a
source: it is used only where it was made by the same code, libraries, options and stored history (`_Header`), and
anything else, a missing or damaged file included, is as if there were none. The state is data, never code
(`explorer.frozen`).

How often: when the explorer's own work since the last one took longer than `LEAST_S` and `TIMES` what writing took. So
a killed run loses a few seconds of work, and writing takes a quarter of the explorer's time at most.
"""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.files import write_atomically
from experiments.store import Store
from experiments.values.environment import current_environment
from experiments.values.program_json import to_json
from experiments.values.records import RunInfo
from experiments.values.versions import SEARCH
from explorer.base import Explorer
from generator.errors import InputError
from generator.plan import Plan
from graph.space import Space

CHECKPOINT_FILE = "search.checkpoint"
FORMAT = "antune checkpoint 2"
LEAST_S, TIMES = 4.0, 3.0
PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class _Header:
    """What the state is a function of, and the hash of its compressed text."""

    format: str
    key: str
    iteration: int
    asked: int
    history: str
    content: str


@dataclass(frozen=True, slots=True)
class Saved:
    """An explorer as it was when it had been told iteration `iteration`, with which `asked` evaluations were asked."""

    explorer: Explorer
    iteration: int
    asked: int


@dataclass(slots=True)
class Checkpoints:
    """Writes and reads the checkpoint of one run. `plans` are those of the store when it was opened, by digest."""

    store: Store
    space: Space
    key: str
    plans: Mapping[str, Plan]
    _spent_s: float = 0.0  # by the explorer since the last one
    _cost_s: float = 0.0  # of the last one
    _history: Any = field(default_factory=hashlib.sha256)
    _hashed: int = -1

    @property
    def _path(self) -> Path:
        return self.store.directory / CHECKPOINT_FILE

    def load(self) -> Saved | None:
        """The latest state; None when there is none that belongs to this history and code."""
        try:
            first, _, body = self._path.read_bytes().partition(b"\n")
            header = _Header(**json.loads(first))
        except (OSError, TypeError, ValueError):
            return None
        if (header.format, header.key, header.content) != (FORMAT, self.key, hashlib.sha256(body).hexdigest()):
            return None
        from explorer.frozen import thaw

        if self._history_until(header.asked) == header.history:
            with suppress(InputError, zlib.error, UnicodeDecodeError):
                return Saved(thaw(_lines(body), self.space, self.plans), header.iteration, header.asked)
        self._history, self._hashed = hashlib.sha256(), -1
        return None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Counts what the explorer does inside."""
        began_s = time.process_time()
        yield
        self._spent_s += time.process_time() - began_s

    def due(self) -> bool:
        """True when much would be lost without a new one."""
        return self._spent_s > max(LEAST_S, TIMES * self._cost_s)

    def save(self, explorer: Explorer, iteration: int, asked: int, stored: Container[str]) -> None:
        """Write the state after `iteration`, in place of the last one, unless too little was done since to be worth it.

        `stored` are the digests of plans that the store has by now, with their outcomes.
        A place that cannot be written any more ends the run elsewhere, or not at all; and an explorer whose state
        cannot be written is resumed by asking and telling.
        """
        if self._spent_s <= LEAST_S / 4:
            return
        from explorer.frozen import NotPlain, freeze

        began_s = time.process_time()
        with suppress(OSError, NotPlain):
            body = _compressed(freeze(explorer, self.space, stored))
            header = _Header(
                FORMAT, self.key, iteration, asked, self._history_until(asked), hashlib.sha256(body).hexdigest()
            )
            write_atomically(self._path, json.dumps(asdict(header)).encode() + b"\n" + body)
        self._spent_s, self._cost_s = 0.0, time.process_time() - began_s

    def _history_until(self, number: int) -> str:
        """A hash of what the store says about all evaluations up to that one."""
        for row in self.store.told(self._hashed + 1, number):
            self._history.update(repr(row).encode())
        self._hashed = max(self._hashed, number)
        return str(self._history.hexdigest())


def _compressed(lines: Iterable[str]) -> bytes:
    """The text, of which there is never more than a line at a time."""
    compressor = zlib.compressobj(1)
    return b"".join([*(compressor.compress(line.encode()) for line in lines), compressor.flush()])


def _lines(body: bytes) -> Iterator[str]:
    """The lines that `_compressed` took, one at a time."""
    decompressor, rest = zlib.decompressobj(), b""
    while body:
        rest += decompressor.decompress(body, PIECE)
        body = decompressor.unconsumed_tail
        *whole, rest = rest.split(b"\n")
        yield from (line.decode() for line in whole)


def key_of(info: RunInfo, adopted: int) -> str:
    """A hash of what a search depends on beside its history; `adopted` iterations were told as somebody else's."""
    now = current_environment()
    code = [entry for entry in now.rooms if entry[0] in SEARCH]
    text = json.dumps([FORMAT, to_json(info.options), info.subject.digest, to_json(info.device.target), adopted, code,
                       now.python, now.packages])
    return hashlib.sha256(text.encode()).hexdigest()
