"""Tuned code as a function on arrays of CuPy, PyTorch and others, in the caller's process: `calls.Caller` for GPUs.

Kernels run in the primary context of the device, as these libraries do; it is current during calls only. Arguments of
all launches are packed once per call. Arrays that kernels read in another form (textures, constant memory, a few more
elements at the end) are copied on the device first. All this is in the order of one stream: the caller's, else the one
that the arrays name, else the default one. If an array names none, a call waits for the device before (that array may
still be written) and after (the results may be used in any stream).
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.program import ELEMENT_BYTES
from generator.target import LANGUAGES
from generator.variant import Constant, Kernel, Texture
from runners.calls import ArgumentError, Code, Parameter, overlap, wrong
from runners.driver import Compiler, LaunchError
from runners.gpu.api import Api, DeviceAttribute
from runners.gpu.device import configured, loaded_module
from runners.gpu.given import DEFAULT_STREAM, Given, check_address, given, handle_of, is_given, named_stream
from runners.gpu.keys import device_keys
from runners.gpu.textures import texture_memory, texture_over
from runners.gpu.units import Binary, unpacked
from runners.host_program import launches


@dataclass(frozen=True, slots=True)
class _Bound:
    """A kernel: `sources` are the places of its arguments before the iterators."""

    function: Any
    layout: struct.Struct
    sources: tuple[tuple[bool, int], ...]
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy on the device before a call: `rows` of `size` bytes, `pitch` apart in the copy."""

    array: str
    address: int
    rows: int
    size: int
    pitch: int


@dataclass(frozen=True, slots=True)
class _Held:
    """The driver's objects of a Caller."""

    addresses: list[int] = field(default_factory=list)
    textures: list[int] = field(default_factory=list)
    modules: list[Any] = field(default_factory=list)


class GpuCaller:
    """`calls.Caller`. It frees its objects on the device at the end."""

    def __init__(self, api: Api, code: Code, compiler: Compiler) -> None:
        """Compiles the code unless it is cached, and loads it. Raises InputError, BuildError, LaunchError."""
        keys = device_keys(api, code.device.target.dialect)
        if code.device.key not in keys:
            raise InputError(f"the {LANGUAGES[code.variant.dialect].title} device {code.device.key} is not there; see "
                             "`antune devices`")
        self._api, self._code, self._ordinal = api, code, keys.index(code.device.key)
        self._lock, self._held = Lock(), _Held()
        weakref.finalize(self, _release, api, self._ordinal, self._held).atexit = False
        with api.entered(self._ordinal):
            self._make(compiler)

    def _make(self, compiler: Compiler) -> None:
        """Make all objects on the device."""
        code = self._code
        self._own = {name: self._allocate(array.bytes) for name, array in code.own_arrays.items()}
        self._copies = [_Copy(p.array.name, self._own[p.array.name], 1, p.array.own_bytes, 0)
                        for p in code.contract.parameters
                        if p.padded and p.array.name in self._own and p.kind != "made"]
        """Those with more elements come first: others may be copied from them."""
        self._textures: dict[Texture, int] = {}
        codes = compiler.compile(code.variant).codes
        kernels = zip(code.variant.kernels, codes, strict=True)
        self._numbers = dict(code.numbers)
        self._kernels = [self._bind(kernel, unpacked(packed)) for kernel, packed in kernels]
        self._fixed = [*self._own.values(), *self._textures.values()]
        """Addresses and texture objects that are not the caller's, as `_Bound.sources` counts them."""
        self._staged: dict[str, int] = {}
        self._vectors = {name: max(dict(kernel.vectors).get(name, 1) for kernel in code.variant.kernels)
                         for kernel in code.variant.kernels for name, _ in kernel.vectors}
        self._steps = [(self._kernels[launch.kernel], _grid(launch.items, launch.block), _three(launch.block),
                        launch.iterators) for launch in launches(code.variant)]
        self._streams: dict[int, Any] = {}
        self._default = DEFAULT_STREAM[code.device.target.dialect]
        self._latest: Any = None

    def takes(self, value: object) -> bool:
        """See `Caller`: accepts all objects that are in the memory of such a GPU."""
        return is_given(value, self._code.variant.dialect)

    def prepare(self, queue: Any) -> None:
        """See `Caller`: everything is already compiled and loaded."""

    def check(self, values: Sequence[Any], queue: Any) -> None:
        """See `Caller`: the call itself checks arrays, as capsules can be taken only once."""
        if queue is not None:
            handle_of(queue)
        for parameter, value in zip(self._code.contract.parameters, values, strict=True):
            if parameter.kind == "made" and any(self.takes(one) for one in values):
                _check_result(parameter, value, False)

    def on_host(self, arrays: Mapping[str, NDArray[Any]], scalars: Sequence[Any], queue: Any) -> None:
        """See `Caller`. Raises LaunchError."""
        parameters = self._code.contract.parameters
        handle = 0 if queue is None else handle_of(queue)
        with self._api.entered(self._ordinal), self._lock:
            stream = self._stream(handle)
            if not self._staged:
                self._staged = {p.name: self._allocate(p.array.own_bytes) for p in parameters if p.kind != "scalar"}
            for p in parameters:
                if p.kind in ("read", "changed"):
                    self._api.write(self._staged[p.name], np.ascontiguousarray(arrays[p.name]))
            self._api.synchronize()  # the stream may not wait for copies
            self._run([self._staged.get(p.name, 0) for p in parameters], scalars, stream)
            self._api.synchronize()
            for p in parameters:
                if p.written:
                    into = np.empty(p.shape, p.dtype)
                    self._api.read(self._staged[p.name], into)
                    arrays[p.name][...] = into

    def on_device(self, values: Sequence[Any], scalars: Sequence[Any], queue: Any, inplace: bool) -> list[Any]:
        """See `Caller`; results have to be given, as it is unknown which library should make them."""
        named = {stream for p, value in zip(self._code.contract.parameters, values, strict=True)
                 if p.kind != "scalar" and (stream := named_stream(value)) is not None}
        handle = _one(named) if queue is None else handle_of(queue)
        places, addresses = [], []
        keep: list[Given] = []
        for parameter, value in zip(self._code.contract.parameters, values, strict=True):
            if parameter.kind == "scalar":
                places.append(0)
                continue
            _check_result(parameter, value, inplace)
            found = given(parameter, value, handle or self._default)
            keep.append(found)
            places.append(found.address)
            addresses.append((parameter, found.address, found.address + parameter.array.own_bytes))
        overlap(addresses)
        with self._api.entered(self._ordinal), self._lock:
            for (parameter, _, _), found in zip(addresses, keep, strict=True):
                self._check_place(parameter, found)
            if queue is None and not all(found.ready for found in keep):
                self._api.synchronize()  # until now, any stream may write or read them
            self._run(places, scalars, self._stream(handle))
            if queue is None and any(found.stream is None for found in keep):
                self._api.synchronize()  # any stream may use the results next
        return list(values)

    def _check_place(self, parameter: Parameter, found: Given) -> None:
        """Raise ArgumentError unless an array is on the device that the code is for, at an address for its vectors.
        """
        device = self._api.ordinal_of(found.address) if found.device is None else found.device
        if device != self._ordinal:
            there = "outside of the memory of all devices" if device is None else f"on device {device}"
            raise wrong(parameter, f"one {there}", f"the code is for device {self._ordinal}")
        if not parameter.padded:  # of which kernels get a copy
            check_address(parameter, found.address, self._vectors.get(parameter.array.name, 1))

    def _allocate(self, size: int) -> int:
        self._held.addresses.append(self._api.allocate(size))
        return self._held.addresses[-1]

    def _stream(self, handle: int) -> Any:
        if handle not in self._streams:
            self._streams[handle] = self._api.foreign_stream(0 if handle == self._default else handle)
        return self._streams[handle]

    def _run(self, places: Sequence[int], scalars: Sequence[Any], stream: Any) -> None:
        """Launch all kernels; `places` are addresses by place in the contract."""
        if (self._fixed or self._copies) and self._latest is not None and stream is not self._latest:
            self._api.synchronize()  # the previous call may still use the copies, and the memory between kernels
        self._latest, numbers = stream, list(self._numbers.values())
        self._copy_in(places, stream)
        for bound, grid, block, iterators in self._steps:
            values = [(scalars[at] if at >= 0 else numbers[~at]).item() if of_scalar else
                      (places[at] if at >= 0 else self._fixed[~at])
                      for of_scalar, at in bound.sources]
            arguments = bound.layout.pack(*values, *iterators)
            self._api.launch(bound.function, grid, block, bound.shared_bytes, arguments, stream)
        for number, p in enumerate(self._code.contract.parameters):
            if p.padded and p.written and p.array.name in self._own:
                self._api.copy(places[number], self._own[p.array.name], p.array.own_bytes, stream)

    def _copy_in(self, places: Sequence[int], stream: Any) -> None:
        for copy in self._copies:
            place, own = places[self._place(copy.array)], self._own.get(copy.array)
            source = place if own is None or own == copy.address else own
            for row in range(copy.rows):
                self._api.copy(copy.address + row * copy.pitch, source + row * copy.size, copy.size, stream)

    def _place(self, name: str) -> int:
        """Return the place in the contract of an array or scalar of the caller."""
        place = self._code.place(name)
        assert place is not None, f"{name} is the caller's"
        return place

    def _bind(self, kernel: Kernel, binary: Binary) -> _Bound:
        api, variant = self._api, self._code.variant
        module = loaded_module(api, binary)
        self._held.modules.append(module)
        function = configured(api, kernel, variant, module, api.device_attribute(
            self._ordinal, DeviceAttribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR))
        textures = {placed.array: placed for placed in kernel.placements if isinstance(placed, Texture)}
        for constant in (placed for placed in kernel.placements if isinstance(placed, Constant)):
            address, size = api.symbol(module, constant.symbol)
            self._copies.append(_Copy(constant.array, address, 1, size, 0))
        sources = [self._number(name) if name in kernel.scalars else self._source(name, textures.get(name))
                   for name in kernel.arguments]
        kinds = "".join(self._kind(name) if name in kernel.scalars else "Q" for name in kernel.arguments)
        return _Bound(function, struct.Struct("@" + kinds + "i" * len(kernel.iterators)), tuple(sources),
                      kernel.dynamic_bytes(variant.dialect))

    def _number(self, name: str) -> tuple[bool, int]:
        """Return the source of a scalar: a place in the contract, or ~place in the code's numbers."""
        place = self._code.place(name)
        return True, ~list(self._numbers).index(name) if place is None else place

    def _kind(self, name: str) -> str:
        """Return the letter of `struct` for a scalar."""
        place = self._code.place(name)
        return (self._numbers[name].dtype if place is None else self._code.contract.parameters[place].dtype).char

    def _source(self, name: str, texture: Texture | None) -> tuple[bool, int]:
        """Return the source of an argument: a place in the contract, or ~place in `_fixed`."""
        place = self._code.given(name)
        if texture is not None:
            if texture not in self._textures:
                self._textures[texture] = self._make_texture(texture)
            return False, ~(len(self._own) + list(self._textures).index(texture))
        return False, ~list(self._own).index(name) if place is None else place

    def _make_texture(self, texture: Texture) -> int:
        """Return a texture object over memory that each call or kernels fill."""
        if texture.in_place:
            self._held.textures.append(self._api.texture(texture_over(texture, self._own[texture.array])))
            return self._held.textures[-1]
        size = ELEMENT_BYTES[texture.type] * texture.shape[0]
        rows = texture.shape[1] if len(texture.shape) > 1 else 1
        alignment = self._api.device_attribute(self._ordinal, DeviceAttribute.TEXTURE_PITCH_ALIGNMENT)
        pitch = size + (-size % alignment if rows > 1 else 0)
        address = self._allocate(pitch * rows)
        self._copies.append(_Copy(texture.array, address, rows, size, pitch))
        self._held.textures.append(self._api.texture(texture_memory(texture, address, pitch)))
        return self._held.textures[-1]


def _release(api: Api, ordinal: int, held: _Held) -> None:
    """Free everything, in any thread."""
    with suppress(LaunchError), api.entered(ordinal):  # refused: the device is lost, with all that was on it
        api.synchronize()
        for texture in held.textures:
            api.free_texture(texture)
        for module in held.modules:
            api.unload(module)
        for address in held.addresses:
            api.free(address)


def _check_result(parameter: Parameter, value: object, inplace: bool) -> None:
    if value is None:
        raise ArgumentError(f"{parameter.name} is missing: on a GPU, give an array for each result")
    if parameter.kind == "changed" and not inplace:
        raise wrong(parameter, "one that must stay as it is", "on a GPU, say inplace=True, or give a copy with it")


def _one(streams: set[int]) -> int:
    """Return the stream that the arrays name, or the default one. Raises ArgumentError if they name several."""
    if len(streams) > 1:
        raise ArgumentError("the arrays belong to different streams; say with stream= which one to use")
    return next(iter(streams), 0)


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _grid(items: Sequence[int], block: Sequence[int]) -> tuple[int, int, int]:
    return _three([count // threads for count, threads in zip(items, block, strict=True)])
