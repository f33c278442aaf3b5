"""The connection to a Dask scheduler: every call that leaves this process, typed, with errors a user can mend."""

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
    """The worker that had the task is gone, or the scheduler has forgotten it."""


class Fatal(Exception):
    """Dask has given the task up: several workers that had it were lost, one after the other."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A worker that cannot be used, and why."""

    message: str


class Hub:
    """A Dask client. Not for several threads."""

    def __init__(self, address: str) -> None:
        """Connects to the scheduler at `address`, or to the one that wrote the file `address`.

        Raises:
            InputError: no scheduler answers there, or it does not let us in.
        """
        self.address = address
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of its errors becomes ours
        warnings.filterwarnings("ignore", module="distributed")
        self._client = _connect(address)

    def close(self) -> None:
        """Give everything on the cluster back."""
        self._client.close(timeout=FETCH_S)

    def addresses(self) -> frozenset[str]:
        """The Dask workers that the scheduler knows now."""
        with self._errors():
            return frozenset(self._client.nthreads())

    def offers(self, of: Collection[str]) -> dict[str, Offer | Misfit | None]:
        """What the workers `of` offer; None for those that did not join for antune. Who just went away is left out."""
        with self._errors():
            answers: dict[str, object] = self._client.run(describe, workers=sorted(of), on_error="return")
        return {address: _judged(address, answer) for address, answer in sorted(answers.items())
                if not isinstance(answer, OSError)}

    def register(self, plugin: WorkerPlugin) -> None:
        """Give `plugin` to all workers, also those that come later."""
        with self._errors():
            self._client.register_plugin(plugin)

    def unregister(self, name: str) -> None:
        """Take the plugin called `name` away from all workers; nothing happens when the cluster is gone."""
        if self._client.status == "running":
            with self._errors():
                self._client.unregister_worker_plugin(name)

    @contextmanager
    def leased(self, key: str) -> Iterator[None]:
        """While entered, and while this process lives, the scheduler knows a task called `key`.

        No worker has what it asks for: it never runs.
        """
        lease = self.submit(int, key=key, resources={"antune-lease": 1})
        try:
            yield
        finally:
            self.forget(lease)

    def submit(self, function: Callable[..., object], *arguments: object, key: str, resources: dict[str, float],
               worker: str | None = None, priority: int = 0) -> Future[Any]:
        """Have a worker that has `resources` (only `worker`, if given) call `function`."""
        with self._errors():
            return self._client.submit(function, *arguments, key=key, resources=resources, priority=priority,
                                       workers=None if worker is None else [worker], pure=False)

    def result(self, future: Future[Any]) -> Any:
        """The result of a future that is done.

        Raises:
            Lost: it was lost on its way here; the task has to be done again.
            Fatal: Dask will not try again.
            AntuneError: the worker could not even begin.
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
        """The result is not needed any more; waits for nothing."""
        future.release()

    def forget(self, future: Future[Any]) -> None:
        """Cancel what has not begun, and release the result."""
        if self._client.status == "running":
            with self._errors():
                future.cancel()

    def tell(self, function: Callable[..., object], *arguments: object) -> None:
        """Have all workers call `function` as soon as they can; wait for nothing."""
        if self._client.status == "running":
            with self._errors():
                self._client.run(function, *arguments, wait=False, on_error="ignore")

    def check(self) -> None:
        """Raise AntuneError when the connection is lost."""
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
    """Raise InputError when no scheduler answers at `address`, an address or a scheduler file."""
    Hub(address).close()


def scheduler_address(address: str) -> str:
    """`address`, or what the scheduler file of that name says. Raises InputError for what is neither."""
    file = Path(address)
    if file.suffix == ".json":
        return _read_scheduler_file(file)
    if not re.fullmatch(ADDRESS, address):  # Dask would leave a half-made client behind
        raise InputError(f"{address!r} is no address of a Dask scheduler: write tcp://HOST:PORT, tls://HOST:PORT (see "
                         "docs/cluster.md) or its scheduler file; `antune tune --cluster` also takes local:N")
    return address


def _read_scheduler_file(file: Path) -> str:
    """The address in `file`; Dask itself would wait for one that is empty, and for ever."""
    if not file.is_file():
        raise InputError(f"there is no scheduler file {file}; `dask scheduler --scheduler-file {file}` writes it")
    try:
        found = str(json.loads(file.read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} is no scheduler file ({error}); `dask scheduler --scheduler-file {file}` writes one"
        ) from None
    if not re.fullmatch(ADDRESS, found):
        raise InputError(
            f"{file} is no scheduler file: its address is {found!r}; `dask scheduler --scheduler-file {file}` "
            "writes one"
        )
    return found


def _client(address: str) -> Client:
    return Client(address=address, timeout=CONNECT_S, set_as_default=False, name="antune")


def _connect(address: str, attempts: int = 3) -> Client:
    where = scheduler_address(address)
    try:
        return _client(where)
    except AssertionError:  # Dask gives its own thread ten seconds to start, which a busy machine may not keep
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
