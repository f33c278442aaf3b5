"""The connection to a Dask scheduler: all calls to the cluster, typed, with errors that users can fix."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import CancelledError, Client, Future, KilledWorker
from distributed.diagnostics.plugin import WorkerPlugin

from generator.errors import AntuneError, InputError
from runners.cluster.offers import Offer
from runners.cluster.preload import describe
from runners.cluster.versions import differences, versions

ADDRESS = r"\w+://.+:\d+/?"
CONNECT_S = 10.0
FETCH_S = 5.0
START = "start workers with `antune worker {}`, or Dask's own with `--preload runners.cluster.preload`"


class Lost(Exception):
    """The worker that had the task is lost, or the scheduler has forgotten the task."""


class Fatal(Exception):
    """Dask has given up the task: several workers that had it were lost, one after the other."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A worker that cannot be used, and why."""

    message: str


class Hub:
    """A Dask client. Not thread-safe."""

    def __init__(self, address: str) -> None:
        """Connects to the scheduler at `address`, or to the one that wrote the file `address`.

        Raises:
            InputError: no scheduler answers there, or it refuses the connection.
        """
        self.address = address
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # its relevant errors become ours
        warnings.filterwarnings("ignore", module="distributed")
        self._client = _connect(address)

    def close(self) -> None:
        """Close the connection, and release everything on the cluster."""
        self._client.close(timeout=FETCH_S)

    def addresses(self) -> frozenset[str]:
        """Return the Dask workers that the scheduler currently knows."""
        with self._errors():
            return frozenset(self._client.nthreads())

    def offers(self, of: Collection[str]) -> dict[str, Offer | Misfit | None]:
        """Return what the workers `of` offer; None for those that did not join for antune. Lost workers are left out.
        """
        with self._errors():
            answers: dict[str, object] = self._client.run(describe, workers=sorted(of), on_error="return")
        return {address: _judged(address, answer) for address, answer in sorted(answers.items())
                if not isinstance(answer, OSError)}

    def register(self, plugin: WorkerPlugin) -> None:
        """Give `plugin` to all workers, also to those that join later."""
        with self._errors():
            self._client.register_plugin(plugin)

    def unregister(self, name: str) -> None:
        """Remove the plugin `name` from all workers; do nothing if the connection is lost."""
        if self._client.status == "running":
            with self._errors():
                self._client.unregister_worker_plugin(name)

    @contextmanager
    def leased(self, key: str) -> Iterator[None]:
        """Keep a task `key` at the scheduler until the context is left, or this process ends.

        No worker has the resources that it requests, so it never runs.
        """
        lease = self.submit(int, key=key, resources={"antune-lease": 1})
        try:
            yield
        finally:
            self.forget(lease)

    def submit(self, function: Callable[..., object], *arguments: object, key: str, resources: dict[str, float],
               worker: str | None = None, priority: int = 0) -> Future[Any]:
        """Call `function` on a worker that has `resources` (only on `worker`, if given)."""
        with self._errors():
            return self._client.submit(function, *arguments, key=key, resources=resources, priority=priority,
                                       workers=None if worker is None else [worker], pure=False)

    def result(self, future: Future[Any]) -> Any:
        """Return the result of a finished future.

        Raises:
            Lost: it was lost in transfer; the task has to be repeated.
            Fatal: Dask will not try again.
            AntuneError: the worker could not start the task.
        """
        try:
            return future.result(timeout=FETCH_S)
        except KilledWorker:
            raise Fatal from None
        except (CancelledError, TimeoutError, OSError):
            raise Lost from None
        except Exception as error:  # noqa: BLE001  whatever the other side made of it
            raise AntuneError(f"a worker of {self.address} cannot take a task ({error!r}): install the same versions "
                              "of antune and Dask everywhere, for the scheduler too") from None

    def release(self, future: Future[Any]) -> None:
        """Drop a result that is no longer needed; do not wait."""
        future.release()

    def forget(self, future: Future[Any]) -> None:
        """Cancel a task that has not started, and drop its result."""
        if self._client.status == "running":
            with self._errors():
                future.cancel()

    def tell(self, function: Callable[..., object], *arguments: object) -> None:
        """Call `function` on all workers as soon as possible; do not wait."""
        if self._client.status == "running":
            with self._errors():
                self._client.run(function, *arguments, wait=False, on_error="ignore")

    def check(self) -> None:
        """Raise AntuneError if the connection is lost."""
        if self._client.status != "running":
            raise AntuneError(self._lost("it has closed the connection"))

    def _lost(self, why: object) -> str:
        return (f"the Dask scheduler {self.address} is lost: {why}; what was measured is saved, `antune resume` goes "
                "on when there is a scheduler again")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, CancelledError, TimeoutError) as error:
            raise AntuneError(self._lost(error)) from None
        except RuntimeError as error:
            if self._client.status == "running":
                raise
            raise AntuneError(self._lost(error)) from None


def _judged(address: str, answer: object) -> Offer | Misfit | None:
    if answer is None:
        return None
    if not isinstance(answer, Offer):
        return Misfit(f"the worker {address} cannot answer antune ({answer!r}): install the same version of antune on "
                      "all machines and start the worker again")
    if words := differences(versions(), answer.versions):
        return Misfit(f"the worker {address} does not fit: {words}; install the same versions on all machines and "
                      "start the worker again")
    return answer


def check_scheduler(address: str) -> None:
    """Raise InputError if no scheduler answers at `address`, an address or a scheduler file."""
    Hub(address).close()


def scheduler_address(address: str) -> str:
    """Return `address`, or the one in the scheduler file of that name. Raises InputError if it is neither."""
    file = Path(address)
    if file.suffix == ".json":
        return _read_scheduler_file(file)
    if not re.fullmatch(ADDRESS, address):  # Dask would leave an incomplete client behind
        raise InputError(f"{address!r} is not an address of a Dask scheduler: write tcp://HOST:PORT, tls://HOST:PORT "
                         "(see docs/cluster.md) or its scheduler file; `antune tune --cluster` also takes local:N")
    return address


def _read_scheduler_file(file: Path) -> str:
    """Return the address in `file`; for an empty file, Dask itself would wait forever."""
    if not file.is_file():
        raise InputError(f"there is no scheduler file {file}; `dask scheduler --scheduler-file {file}` writes it")
    try:
        found = str(json.loads(file.read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} is not a scheduler file ({error}); `dask scheduler --scheduler-file {file}` writes one"
        ) from None
    if not re.fullmatch(ADDRESS, found):
        raise InputError(
            f"{file} is not a scheduler file: its address is {found!r}; `dask scheduler --scheduler-file {file}` "
            "writes one"
        )
    return found


def _client(address: str) -> Client:
    return Client(address=address, timeout=CONNECT_S, set_as_default=False, name="antune")


def _connect(address: str, attempts: int = 3) -> Client:
    where = scheduler_address(address)
    try:
        return _client(where)
    except AssertionError:  # Dask waits ten seconds for its own thread, which may be too short on a busy machine
        if attempts == 1:
            raise InputError(f"the machine is too busy to connect to {address}; try again later") from None
        return _connect(address, attempts - 1)
    except (OSError, TimeoutError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({error or 'timeout'}): start one with `dask "
                         "scheduler` and give the address it prints; for tls:// see docs/cluster.md") from None
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"the Dask scheduler {address} cannot be used: {error}; write tcp://HOST:PORT, tls://HOST:PORT (see "
            "docs/cluster.md), a scheduler file, or local:N"
        ) from None
