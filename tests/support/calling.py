"""Tuned functions in a separate process, which loads the driver: `ran_calls` starts it, it runs one of `CHECKS`."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.exports.function import made_function
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem, as_declared, as_modelled
from runners.base import DeviceInfo
from runners.calls import ArgumentError
from runners.check import compare
from runners.data import initial_values
from runners.devices import find_device
from runners.function import TunedFunction
from tests.support.mixed import mixed
from tests.support.paths import ROOT
from tests.support.programs import scop, write_c
from tests.support.reading import read_untimed
from tests.support.suite import problem
from tests.support.written import SMALL, TURNED, small_textures, textured

Values = dict[str, NDArray[Any]]
FLAT = scop("for (i = 0; i < 14; i++) for (j = 0; j < 7; j++) A[i * 7 + j] = A[i * 7 + j] + B[i * 7 + j] * 2;",
            "double A[100], B[100];")
"""Its arrays are matrices with a few more elements than in the program."""


def ran_calls(check: str, device: str, folder: Path, all_cases: bool,
              **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `CHECKS[check]` on `device` in a process, for gemm or for all `cases`; its cache is in `folder`."""
    words = f"from tests.support.calling import run_check; run_check({check!r}, {device!r}, {all_cases})"
    paths = f"{environment.pop('PYTHONPATH', '')}:{ROOT}".lstrip(":")
    return subprocess.run([sys.executable, "-c", words], cwd=folder, capture_output=True, text=True, timeout=300,
                          check=False, env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environment,
                                            "PYTHONPATH": paths})


def run_check(check: str, device: str, all_cases: bool) -> None:
    """The entry point of that process."""
    found = find_device(device)
    CHECKS[check](found, [*(cases(found) if all_cases else ()), case(problem("gemm"), found)])


@dataclass(frozen=True)
class Case:
    """A problem and a plan as a function, with its arguments."""

    found: Problem
    function: TunedFunction

    def call(self, given: Mapping[str, Any], **more: Any) -> Any:
        """Call the function with all arguments by name."""
        return self.function(**given, **more)

    def values(self) -> Values:
        """Return new arrays by name, in the program's shapes."""
        values = initial_values(self.found)
        return {a.name: as_declared(a, values[a.name]).copy() for a in self.found.program.arrays if a.role != "temp"}

    def wrong(self, results: Any) -> str | None:
        """Return what is wrong with the results of a call."""
        outputs, program = self.found.program.outputs, self.found.program
        several = results if isinstance(results, tuple) else (results,)
        got = {a.name: as_modelled(a, np.asarray(value)) for a, value in zip(outputs, several, strict=True)}
        want = {a.name: as_modelled(a, as_declared(a, self.found.reference.outputs[a.name])) for a in outputs}
        return compare(program, want, got, rounding=self.found.reference.rounding)


def case(found: Problem, device: DeviceInfo, change: Callable[[Plan], Plan] = lambda plan: plan,
         **placement: str) -> Case:
    """Return the default plan of a problem with a change, its arrays placed elsewhere by name."""
    plan = change(default_plan(found.program, device.target))
    if placement:
        plan = replace(plan, placement=cast(Any, tuple(sorted(placement.items()))))
    variant = lower(found.program, plan, device.target)
    assert len(variant.kernels[0].placements) >= len(placement)
    return Case(found, made_function(found.program, variant, device, "f", (), (), "a test"))


def cases(device: DeviceInfo) -> list[Case]:
    """Return cases with all memories, scalars and types; host loops; several kernels; one-dimensional arrays."""
    flat = read_untimed(write_c(FLAT), Compilation(), None, None, {}, 1)
    assert any(array.elements != array.own_elements for array in flat.program.arrays)
    return [case(mixed(), device), case(mixed(), device, A="texture", B="texture", e="texture"),
            case(mixed(), device, A="constant"), case(problem("seidel-2d"), device), case(problem("gesummv"), device),
            case(flat, device), case(read_untimed(write_c(TURNED), Compilation(), None, None, {}, 1), device, textured),
            case(read_untimed(write_c(SMALL), Compilation(), None, None, {}, 1), device,
                 small_textures("texture2d" if device.target.image_pitch else "texture"))]


def on_numpy(device: DeviceInfo, several: Sequence[Case]) -> None:
    """Results are right twice; arguments stay, or change in place."""
    for one in several:
        assert one.function.compile() is one.function
        for _ in range(2):
            values = one.values()
            before = {name: value.copy() for name, value in values.items()}
            assert (found := one.wrong(one.call(values))) is None, found
            made = {p.name for p in one.function.contract.parameters if p.kind == "made"}
            assert all(np.array_equal(values[n], before[n], equal_nan=True) for n in values if n not in made)
        results = one.call(values, inplace=True)
        assert one.wrong(results) is None
        first = one.found.program.outputs[0].name
        assert (results[0] if isinstance(results, tuple) else results) is values[first]


def on_opencl(device: DeviceInfo, several: Sequence[Case]) -> None:
    """pyopencl's arrays are used in place, on their own queue or the given one."""
    import pyopencl as cl
    import pyopencl.array as arrays

    from runners.opencl.probe import open_device

    context = cl.Context([open_device(device.key)])
    queue, other = cl.CommandQueue(context), cl.CommandQueue(context)
    for one in several:
        given: dict[str, Any] = {
            n: v if v.shape == () and one.found.program.array(n).by_value else arrays.to_device(queue, v)
            for n, v in one.values().items()}
        assert one.wrong(_fetched(one.call(given))) is None
        assert one.wrong(_fetched(one.call(given, queue=other, inplace=True))) is None
        changed = [p.name for p in one.function.contract.parameters if p.kind == "changed"]
        if changed == [array.name for array in one.found.program.outputs]:
            assert one.wrong(tuple(given[name].get() for name in changed)) is None
    _refused_by_opencl(one, given, context, device)


def _refused_by_opencl(one: Case, given: dict[str, Any], context: Any, device: DeviceInfo) -> None:
    """gemm refuses these arguments for pyopencl's arrays."""
    import pyopencl as cl
    import pyopencl.array as arrays
    from pyopencl.tools import ImmediateAllocator, MemoryPool

    from runners.opencl.probe import open_device

    mixed_up = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    elsewhere = cl.CommandQueue(cl.Context([open_device(device.key)]))
    rows = arrays.to_device(given["C"].queue, np.asfortranarray(given["C"].get()))
    assert given["A"].shape != given["B"].shape
    for changes, words in (({"queue": mixed_up}, "out of order"), ({"queue": elsewhere}, "another OpenCL context"),
                           ({"queue": 3}, "must be a pyopencl.CommandQueue"), ({"C": rows}, "with gaps or in another"),
                           ({"A": given["A"].get()}, "lies on the device and A does not"),
                           ({"A": given["B"]}, "A must be an array of float64 with shape")):
        with pytest.raises(ArgumentError, match=words):
            one.function(**{**given, **changes})
    whole = arrays.zeros(given["C"].queue, 2 * given["C"].size, np.float64)
    part = whole[:given["C"].size].reshape(given["C"].shape)
    part[...] = given["C"]
    assert np.array_equal(one.call(given).get(), one.function(**{**given, "C": part}).get())
    queue: Any = given["C"].queue
    pool = MemoryPool(ImmediateAllocator(queue))
    pooled: dict[str, Any] = {n: arrays.to_device(queue, v.get(), allocator=pool) if isinstance(v, arrays.Array) else v
                              for n, v in given.items()}
    part = arrays.zeros(queue, 2 * given["C"].size, np.float64, allocator=pool)
    part = part[given["C"].size:].reshape(given["C"].shape)
    part[...] = given["C"]
    for changed in (pooled["C"], part):
        assert np.array_equal(one.call(given).get(), one.function(**{**pooled, "C": changed}).get())


def in_threads(device: DeviceInfo, several: Sequence[Case]) -> None:
    """Several threads may call the same function."""
    one = several[-1]
    wrong: list[str | None] = []

    def calls() -> None:
        wrong.extend(one.wrong(one.call(one.values())) for _ in range(20))

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [None] * 80, wrong


@dataclass(frozen=True)
class OnGpu:
    """An array of the mock GPU, with the interface of array libraries; `stream` and `strides` are optional."""

    value: NDArray[Any]
    address: int
    more: Mapping[str, object]

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {"shape": self.value.shape, "typestr": self.value.dtype.str, "data": (self.address, False),
                "version": 3, **self.more}


class ByDlpack:
    """The same with DLPack alone: a capsule with a `DLManagedTensor` in its own memory."""

    def __init__(self, one: OnGpu) -> None:
        from runners.gpu.given import _Tensor

        shape = (ctypes.c_int64 * one.value.ndim)(*one.value.shape)
        code = {"f": 2, "i": 0, "u": 1}[one.value.dtype.kind]
        self.tensor = _Tensor(one.address - 16, 2, 0, one.value.ndim, code, one.value.itemsize * 8, 1, shape, None, 16)
        self.streams: list[object] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, stream: object = None) -> object:
        self.streams.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


def on_gpu(device: DeviceInfo, several: Sequence[Case]) -> None:
    """Arrays of other libraries are used in place."""
    from runners.cuda.bindings import open_api

    api = open_api(foreign_streams=True)
    api.open(0)

    def put(value: NDArray[Any], **more: object) -> OnGpu:
        address = api.allocate(value.nbytes)
        api.write(address, np.ascontiguousarray(value))
        return OnGpu(value, address, more)

    def get(one: OnGpu) -> NDArray[Any]:
        into = np.empty_like(one.value)
        api.synchronize()
        api.read(one.address, into)
        return into

    _, stream = api.stream()
    for number, one in enumerate(several):
        def given(one: Case = one, **more: object) -> dict[str, Any]:
            return {n: v if v.shape == () and one.found.program.array(n).by_value else put(v, **more)
                    for n, v in one.values().items()}
        for arguments, more in ((given(), {}), (given(stream=stream), {}), (given(), {"stream": stream})):
            results = one.function(**arguments, **more, inplace=True)
            fetched = tuple(get(r) for r in (results if isinstance(results, tuple) else (results,)))
            assert (wrong := one.wrong(fetched)) is None, (number, wrong)
    dlpack = given()
    output = dlpack["C"]
    one.function(**{n: ByDlpack(v) if isinstance(v, OnGpu) else v for n, v in dlpack.items()}, inplace=True)
    assert one.wrong(get(output)) is None
    _refused_by_gpu(one, given(), put)
    _refused_in_vectors(one.found, device, put)
    _given_back(device)


def _given_back(device: DeviceInfo) -> None:
    """The objects of a function on the device are freed with it; results are ready when a call returns."""
    log = Path("calls")
    os.environ["CUDA_DOUBLE_LOG"] = str(log)
    one = case(mixed(), device, A="texture")
    results = one.call(one.values())
    assert one.wrong(results) is None
    del one
    gc.collect()
    told = log.read_text().splitlines()
    assert 0 < sum(line.startswith("texture ") for line in told) == told.count("no texture")
    freed, made = ([line for line in told if line.startswith(f"{word} ")] for word in ("free", "allocate"))
    assert made and sorted(line.split()[1] for line in freed) == sorted(line.split()[1] for line in made)
    assert told.count("load") > 0
    del os.environ["CUDA_DOUBLE_LOG"]


def _refused_by_gpu(one: Case, given: dict[str, Any], put: Callable[..., OnGpu]) -> None:
    strided = replace(given["A"], more={"strides": (8, 8)})
    overlapping = replace(given["C"], address=given["A"].address)
    two = {"A": replace(given["A"], more={"stream": 5}), "B": replace(given["B"], more={"stream": 7})}
    small, host = put(np.zeros(3)), OnGpu(given["A"].value, given["A"].value.ctypes.data, {})
    elsewhere = ByDlpack(given["A"])
    elsewhere.tensor.device_id = 1
    for changes, words in (({"A": strided}, "gaps"), ({"C": overlapping}, "share memory"), ({"A": small}, "shape"),
                           (two, "different streams"), ({"stream": "x"}, "stream must be"),
                           ({"A": host}, "outside of the memory"), ({"A": elsewhere}, "one on device 1: the code is"),
                           ({"stream": -1}, "stream must be"), ({"A": np.zeros(3)}, "lies on the device"),
                           ({"inplace": False}, "say inplace=True")):
        with pytest.raises(ArgumentError, match=words):
            one.function(**{**given, "inplace": True, **changes})


def _refused_in_vectors(found: Problem, device: DeviceInfo, put: Callable[..., OnGpu]) -> None:
    """Rows of A are accessed in vectors, those of B, of odd length, are not."""
    one = case(found, device, lambda plan: replace(plan, kernels=tuple(
        replace(kernel, tile=(16, 16), block=(4, 4), shared=True, inner_tile=8, vector=4) for kernel in plan.kernels)))
    given: dict[str, Any] = {n: put(v) if v.shape else v for n, v in one.values().items()}

    def part(name: str) -> OnGpu:
        value: NDArray[Any] = given[name].value
        whole = put(np.concatenate([np.zeros(1), value.ravel()]))
        return OnGpu(value, whole.address + value.itemsize, {})

    one.function(**{**given, "B": part("B"), "inplace": True})
    with pytest.raises(ArgumentError, match=r"A must be .* begins 8 bytes behind a multiple of 16"):
        one.function(**{**given, "A": part("A"), "inplace": True})


def _fetched(results: Any) -> Any:
    return tuple(r.get() for r in results) if isinstance(results, tuple) else results.get()


def on_streams(device: DeviceInfo, several: Sequence[Case]) -> None:
    """See `tests.support.streams`."""
    from tests.support.streams import in_order

    in_order(device, several)


def on_devices(device: DeviceInfo, several: Sequence[Case]) -> None:
    """See `tests.support.streams`."""
    from tests.support.streams import beside_contexts

    beside_contexts(device, several)


CHECKS: Mapping[str, Callable[[DeviceInfo, Sequence[Case]], None]] = {
    "numpy": on_numpy, "opencl": on_opencl, "threads": in_threads, "gpu": on_gpu, "streams": on_streams,
    "contexts": on_devices}
