"""Tuned functions on independent streams, with a mock driver that does all work as late as possible; and with other
contexts.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runners.base import DeviceInfo
from runners.gpu.api import Api
from tests.support.calling import ByDlpack, Case, OnGpu, case
from tests.support.mixed import mixed

LATE = ("default first", "default last")
"""The values of CUDA_DOUBLE_LATE."""


def own_stream() -> int:
    """Return a new stream that waits for no other."""
    from cuda.bindings import driver as cuda

    status, made = cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)
    assert status == cuda.CUresult.CUDA_SUCCESS
    return int(made)


def copied(to: int, source: int, size: int, stream: int) -> None:
    """Copy on the device in the order of a stream."""
    from cuda.bindings import driver as cuda

    assert cuda.cuMemcpyDtoDAsync(to, source, size, stream) == (cuda.CUresult.CUDA_SUCCESS,)


def finished(stream: int) -> None:
    """Wait for one stream."""
    from cuda.bindings import driver as cuda

    assert cuda.cuStreamSynchronize(stream) == (cuda.CUresult.CUDA_SUCCESS,)


class Later(ByDlpack):
    """An array whose contents are complete in the order of the stream that a library gives for it."""

    def __init__(self, one: OnGpu, source: int) -> None:
        super().__init__(one)
        self.one, self.source = one, source

    def __dlpack__(self, stream: object = None) -> object:
        assert isinstance(stream, int)
        copied(self.one.address, self.source, self.one.value.nbytes, 0 if stream == 1 else stream)
        return super().__dlpack__(stream)


@dataclass(frozen=True)
class Arrays:
    """Arrays on the mock device that get their contents on a stream, at some later time."""

    api: Api

    def full(self, value: NDArray[Any]) -> int:
        """Return the address of new memory with these contents."""
        address = self.api.allocate(value.nbytes)
        self.api.write(address, np.ascontiguousarray(value))
        return address

    def given(self, one: Case, on: int, factor: int = 1, dlpack: str = "", **more: object) -> dict[str, Any]:
        """Return the arguments of a call, multiplied, complete on the stream `on`; before, they hold 0.

        `dlpack`: the array that only has this interface.
        """
        found: dict[str, Any] = {}
        for name, value in one.values().items():
            if value.shape == () and one.found.program.array(name).by_value:
                found[name] = value
                continue
            value *= value.dtype.type(factor)
            there = OnGpu(value, self.full(np.zeros_like(value)), more)
            if name == dlpack:
                found[name] = Later(replace(there, more={}), self.full(value))
                continue
            copied(there.address, self.full(value), value.nbytes, on)
            found[name] = there
        return found

    def wrong(self, one: Case, results: Any, stream: int) -> str | None:
        """Return what is wrong with results that are used on this stream."""
        several = results if isinstance(results, tuple) else (results,)
        places: list[tuple[OnGpu, int]] = [(r, self.api.allocate(r.value.nbytes)) for r in several]
        for result, place in places:
            copied(place, result.address, result.value.nbytes, stream)
        finished(stream)
        found = []
        for result, place in places:
            found.append(np.empty_like(result.value))
            self.api.read(place, found[-1])
        return one.wrong(tuple(found))


def in_order(device: DeviceInfo, several: Sequence[Case]) -> None:
    """Arguments are complete before kernels read them, and results before they are used, in the order of a stream."""
    from runners.cuda.bindings import open_api

    api = open_api(foreign_streams=True)
    api.open(0)
    arrays, first, second = Arrays(api), own_stream(), own_stream()
    calls: Mapping[str, Callable[[Case], str | None]] = {
        "on the caller's stream": lambda one: arrays.wrong(
            one, one.call(arrays.given(one, first), stream=first, inplace=True), first),
        "on the stream of arrays": lambda one: arrays.wrong(
            one, one.call(arrays.given(one, first, stream=first), inplace=True), first),
        "without a stream": lambda one: arrays.wrong(one, one.call(arrays.given(one, first), inplace=True), second),
        "one by DLPack": lambda one: arrays.wrong(
            one, one.call(arrays.given(one, first, dlpack=_read(one), stream=first), inplace=True), first),
        "twice": lambda one: _twice(arrays, one, first, first),
        "on two streams": lambda one: _twice(arrays, one, first, second),
        "the other way round": lambda one: _twice(arrays, one, second, first),
    }
    for number, one in enumerate(several):
        for words, call in calls.items():
            assert (wrong := call(one)) is None, (number, words, wrong)
            api.synchronize()
    _released(device, arrays, first)


def _read(one: Case) -> str:
    """Return an array that is only read."""
    return next((p.name for p in one.function.contract.parameters if p.kind == "read"), "")


def _twice(arrays: Arrays, one: Case, stream: int, other: int) -> str | None:
    """Two calls without waiting: the results of the first do not change."""
    again = arrays.given(one, other, 3)
    results = one.call(arrays.given(one, stream), stream=stream, inplace=True)
    one.call(again, stream=other, inplace=True)
    if other != stream:
        arrays.api.synchronize()  # the calls alternate
    return arrays.wrong(one, results, stream)


def _released(device: DeviceInfo, arrays: Arrays, stream: int) -> None:
    """The objects of a function are freed when nothing uses them any more."""
    log = Path("released")
    log.unlink(missing_ok=True)
    one, same = (case(mixed(), device, A="texture") for _ in range(2))
    results = one.call(arrays.given(one, stream), stream=stream, inplace=True)
    os.environ["CUDA_DOUBLE_LOG"] = str(log)
    del one
    gc.collect()
    told = log.read_text().splitlines()
    del os.environ["CUDA_DOUBLE_LOG"]
    assert "no texture" in told and "unload" in told and not [line for line in told if line.endswith("in use")], told
    assert arrays.wrong(same, results, stream) is None


def beside_contexts(device: DeviceInfo, several: Sequence[Case]) -> None:
    """The current context of a thread does not change, whichever it is."""
    from cuda.bindings import driver as cuda

    from runners.cuda.bindings import open_api

    api, one, here = open_api(foreign_streams=True), several[-1], [1]
    assert api.device_count() == 2
    del several

    def call(ordinal: int | None) -> None:
        if ordinal is not None:
            api.open(ordinal)
        _, before = cuda.cuCtxGetCurrent()
        assert one.wrong(one.call(one.values())) is None
        here[0] = int(cuda.cuCtxGetCurrent()[1]) - int(before)

    for ordinal in (1, 0, 1):
        call(ordinal)
        assert here == [0]
    here[0] = 1
    thread = threading.Thread(target=call, args=(None,))  # without any context
    thread.start()
    thread.join()
    assert here == [0]
    _, before = cuda.cuCtxGetCurrent()
    arrays = Arrays(api)
    results = one.call(arrays.given(one, 0), inplace=True)
    assert int(cuda.cuCtxGetCurrent()[1]) == int(before) and arrays.wrong(one, results, 0) is None
    log = Path("released")
    log.unlink(missing_ok=True)
    os.environ["CUDA_DOUBLE_LOG"] = str(log)
    caller = one.function.__dict__.pop("_caller")
    del caller
    gc.collect()
    told = log.read_text().splitlines()
    assert "unload" in told and "context" not in told, told
    assert int(cuda.cuCtxGetCurrent()[1]) == int(before)
