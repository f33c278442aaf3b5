"""Images on an OpenCL device: arrays that kernels read as textures. Used in worker processes only."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import pyopencl as cl
from numpy.typing import NDArray

from generator.variant import Texture
from runners.data import Values
from runners.memory import GUARD
from runners.opencl.asking import IMAGE_PITCH_ALIGNMENT, asked

_CHANNELS = {1: cl.channel_order.R, 2: cl.channel_order.RG}
_UNSIGNED = {1: cl.channel_type.UNSIGNED_INT8, 2: cl.channel_type.UNSIGNED_INT16, 4: cl.channel_type.UNSIGNED_INT32}
_TYPES = {"float": cl.channel_type.FLOAT, "int": cl.channel_type.SIGNED_INT32,
          "unsigned int": cl.channel_type.UNSIGNED_INT32}
LEAST_ARGUMENTS = 128
"""The least number of images per kernel in OpenCL's full profile (CL_DEVICE_MAX_READ_IMAGE_ARGS); antune uses no more.
"""
_DIMENSIONS = (cl.mem_object_type.IMAGE2D, cl.mem_object_type.IMAGE1D_BUFFER)


@dataclass(frozen=True, slots=True)
class ImageSupport:
    """A device's support of textures; the fields are those of `generator.target.Target`."""

    images: bool
    image_1d: int
    image_2d: tuple[int, int]
    image_pairs: bool
    image_narrow: bool
    image_pitch: int


def image_support(device: cl.Device) -> ImageSupport:
    """Return the support of `device` for the images that generated kernels read."""
    if not device.image_support or device.max_read_image_args < LEAST_ARGUMENTS:
        return ImageSupport(False, 0, (0, 0), False, False, 0)
    context = cl.Context([device])
    forms = frozenset.intersection(*(_forms(context, kind) for kind in _DIMENSIONS))
    return ImageSupport((1, 4) in forms, device.image_max_buffer_size,
                        (device.image2d_max_width, device.image2d_max_height), (2, 4) in forms,
                        {(1, 1), (1, 2)} <= forms, _pitch(device))


def _forms(context: cl.Context, kind: cl.mem_object_type) -> frozenset[tuple[int, int]]:
    """Return the possible texels of unsigned integers: their number, and their size in bytes."""
    try:
        formats = cl.get_supported_image_formats(context, cl.mem_flags.READ_ONLY, kind)
    except cl.Error:  # a driver that does not know this type of image
        return frozenset()
    there = {(f.channel_order, f.channel_data_type) for f in formats}
    return frozenset((words, size) for words, order in _CHANNELS.items() for size, channel in _UNSIGNED.items()
                     if (order, channel) in there)


def _pitch(device: cl.Device) -> int:
    """Return the unit of the rows of a two-dimensional image over a buffer, in texels; 0: there are no such images."""
    value = ctypes.c_uint()
    return value.value if asked(device, IMAGE_PITCH_ALIGNMENT, value) else 0


def make_image(context: cl.Context, texture: Texture, size: int) -> tuple[cl.Image, cl.Buffer | None]:
    """Return an empty image for the `size` bytes of an array, and its buffer if it has one dimension.

    Raises:
        pyopencl.Error: the device refuses it.
    """
    kind = _TYPES[texture.type] if texture.typed else _UNSIGNED[texture.channel_bytes]
    form = cl.ImageFormat(_CHANNELS[texture.words], kind)
    flags = cl.mem_flags.READ_ONLY
    row = cl.Buffer(context, flags, size) if len(texture.shape) == 1 else None  # PoCL accepts no sub-buffers
    return cl.create_image(context, flags, form, shape=texture.shape, buffer=row), row


def image_over(context: cl.Context, texture: Texture, buffer: cl.Buffer) -> cl.Image:
    """Return the image of an array that kernels write at the start of `buffer`.

    Raises:
        pyopencl.Error: the device refuses it.
    """
    form = cl.ImageFormat(_CHANNELS[texture.words], _UNSIGNED[texture.channel_bytes])
    image = cl.ImageDescriptor()  # `create_image` refuses buffers under two dimensions
    image.image_type = _DIMENSIONS[-len(texture.shape)]
    width, height = (*texture.shape, 1)[:2]
    image.shape, image.pitches, image.buffer = (width, height, 1), (0, 0), buffer
    image.num_mip_levels = image.num_samples = 0
    return cl.Image(context, cl.mem_flags.READ_ONLY, form, desc=image)


class Images:
    """Copies of arrays as images, made when a kernel first needs them. No guard zones: images cannot be written."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, values: Values) -> None:
        """`values` are the contents of all arrays."""
        self._context, self._queue, self._values = context, queue, values
        self._images: dict[Texture, cl.Image] = {}
        self._rows: dict[Texture, cl.Buffer] = {}

    def of(self, texture: Texture) -> cl.Image:
        """Return the image of a texture. Raises pyopencl.Error if the device refuses it."""
        if texture not in self._images:
            self._make(texture)
        return self._images[texture]

    def upload(self) -> None:
        """Write all images again from the host; do not wait."""
        for texture in self._images:
            self._fill(texture)

    def copy(self, whole: Mapping[str, cl.Buffer]) -> None:
        """Copy all images again from the arrays on the device, between their guard zones; do not wait."""
        for texture, image in self._images.items():
            source = whole[texture.array]
            if texture in self._rows:
                cl.enqueue_copy(self._queue, self._rows[texture], source, src_offset=len(GUARD),
                                byte_count=self._values[texture.array].nbytes)
            else:
                cl.enqueue_copy(  # type: ignore[call-overload]  # pyopencl's stubs lack `offset`
                    self._queue, image, source, offset=len(GUARD), origin=(0, 0), region=texture.shape)

    def _make(self, texture: Texture) -> None:
        image, row = make_image(self._context, texture, self._values[texture.array].nbytes)
        self._images[texture] = image
        if row is not None:
            self._rows[texture] = row
        self._fill(texture)
        self._queue.finish()

    def _fill(self, texture: Texture) -> None:
        contents: NDArray[Any] = self._values[texture.array]
        assert contents.nbytes == texture.texel_bytes * prod(texture.shape), "texels are the bytes of the array"
        if texture in self._rows:
            cl.enqueue_copy(self._queue, self._rows[texture], contents)
        else:
            cl.enqueue_copy(self._queue, self._images[texture], contents, origin=(0, 0), region=texture.shape)
