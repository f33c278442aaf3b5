"""The explorer's state, saved next to the store, so that a long run resumes in seconds.

The state follows from the stored history. Without a checkpoint, resuming repeats all asks and tells, which takes as
long as the explorer took (a few ms per evaluation). A checkpoint is the state after some iteration; it is written
between iterations, when nothing is measured, and resuming starts from the latest one. It is only an optimisation: it is
used only if the code, libraries, options and stored history are the same (`_Header`). A checkpoint that differs, is
missing or is damaged is ignored. The state is data, never code (`explorer.frozen`).

A checkpoint is due when the explorer has worked, since the last one, for more than `LEAST_S` seconds and more than
`TIMES` as long as writing took. So a killed run loses a few seconds of work, and writing takes at most a quarter of the
explorer's time.
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
from experiments.values.rooms import SEARCH
from explorer.base import Explorer
from generator.errors import InputError
from generator.plan import Plan
from graph.space import Space

CHECKPOINT_FILE = "search.checkpoint"
FORMAT = "antune checkpoint 3"
LEAST_S, TIMES = 4.0, 3.0
PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class _Header:
    """The dependences of the state, and the hash of the compressed state."""

    format: str
    key: str
    iteration: int
    asked: int
    ahead: int
    history: str
    content: str


@dataclass(frozen=True, slots=True)
class Saved:
    """An explorer after it was told iteration `iteration`, whose last evaluation is number `asked`.

    It was asked for the `ahead` following iterations, too.
    """

    explorer: Explorer
    iteration: int
    asked: int
    ahead: int


@dataclass(slots=True)
class Checkpoints:
    """Writes and reads the checkpoint of one run. `plans` maps digests to the plans that the store held when it was
    opened.
    """

    store: Store
    space: Space
    key: str
    plans: Mapping[str, Plan]
    _spent_s: float = 0.0  # the explorer's processor time since the last checkpoint
    _cost_s: float = 0.0  # processor time that the last checkpoint took
    _history: Any = field(default_factory=hashlib.sha256)
    _hashed: int = -1

    @property
    def _path(self) -> Path:
        return self.store.directory / CHECKPOINT_FILE

    def load(self) -> Saved | None:
        """Return the saved state; None if there is none for this history and code."""
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
                return Saved(thaw(_lines(body), self.space, self.plans), header.iteration, header.asked,
                             header.ahead)
        self._history, self._hashed = hashlib.sha256(), -1
        return None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Add the processor time of the enclosed work to the explorer's."""
        began_s = time.process_time()
        yield
        self._spent_s += time.process_time() - began_s

    def due(self) -> bool:
        """Return True if the explorer has worked long enough since the last checkpoint."""
        return self._spent_s > max(LEAST_S, TIMES * self._cost_s)

    def save(self, explorer: Explorer, iteration: int, asked: int, ahead: int, stored: Container[str]) -> None:
        """Write the state after `iteration` over the last checkpoint, unless the explorer did too little work since.

        `asked`, `ahead`: see `Saved`. `stored` holds the digests of the plans whose outcomes are in the store. If the
        file cannot be written, the run continues without a new checkpoint. An explorer whose state cannot be written is
        resumed by asking and telling.
        """
        if self._spent_s <= LEAST_S / 4:
            return
        from explorer.frozen import NotPlain, freeze

        began_s = time.process_time()
        with suppress(OSError, NotPlain):
            body = _compressed(freeze(explorer, self.space, stored))
            header = _Header(
                FORMAT, self.key, iteration, asked, ahead, self._history_until(asked), hashlib.sha256(body).hexdigest()
            )
            write_atomically(self._path, json.dumps(asdict(header)).encode() + b"\n" + body)
        self._spent_s, self._cost_s = 0.0, time.process_time() - began_s

    def _history_until(self, number: int) -> str:
        """Return a hash of all stored evaluations up to `number`."""
        for row in self.store.told(self._hashed + 1, number):
            self._history.update(repr(row).encode())
        self._hashed = max(self._hashed, number)
        return str(self._history.hexdigest())


def _compressed(lines: Iterable[str]) -> bytes:
    """Return the compressed lines; only one line at a time is held uncompressed."""
    compressor = zlib.compressobj(1)
    return b"".join([*(compressor.compress(line.encode()) for line in lines), compressor.flush()])


def _lines(body: bytes) -> Iterator[str]:
    """Yield the lines that `_compressed` was given, one at a time."""
    decompressor, rest = zlib.decompressobj(), b""
    while body:
        rest += decompressor.decompress(body, PIECE)
        body = decompressor.unconsumed_tail
        *whole, rest = rest.split(b"\n")
        yield from (line.decode() for line in whole)


def key_of(info: RunInfo, adopted: int) -> str:
    """Return a hash of everything but the history that a search depends on, with the number of adopted iterations."""
    now = current_environment()
    code = [entry for entry in now.rooms if entry[0] in SEARCH]
    text = json.dumps([FORMAT, to_json(info.options), info.subject.digest, to_json(info.device.target), adopted, code,
                       now.python, now.packages])
    return hashlib.sha256(text.encode()).hexdigest()
