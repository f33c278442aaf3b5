"""Arrays that kernels read as textures: texture objects over copies in linear memory, or over arrays that other kernels
write.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from generator.program import ELEMENT_BYTES
from generator.variant import Texture
from runners.data import Values
from runners.gpu.api import Api, Channel, TextureMemory

CHANNELS: dict[str, Channel] = {"float": Channel.FLOAT, "double": Channel.SIGNED_INT32, "int": Channel.SIGNED_INT32,
                                "unsigned int": Channel.UNSIGNED_INT32, "char": Channel.SIGNED_INT8,
                                "unsigned char": Channel.UNSIGNED_INT8, "short": Channel.SIGNED_INT16,
                                "unsigned short": Channel.UNSIGNED_INT16, "half": Channel.UNSIGNED_INT16}


class Textures:
    """Textures, made when a kernel first needs them. No guard zones: textures cannot be written."""

    def __init__(self, api: Api, values: Values, pitch_alignment: int) -> None:
        """`values` are the contents of all arrays; `pitch_alignment`: alignment of rows of two-dimensional textures in
        bytes.
        """
        self._api, self._values, self._alignment = api, values, pitch_alignment
        self._handles: dict[Texture, int] = {}
        self._addresses: dict[Texture, int] = {}

    def of(self, texture: Texture, at: int | None = None) -> int:
        """Return the texture object; if `at` is given, over that memory, which kernels write and which must not move.

        Raises:
            LaunchError: the device refuses it.
        """
        if texture not in self._handles and at is not None:
            self._handles[texture] = self._api.texture(texture_over(texture, at))
        if texture not in self._handles:
            contents = self._contents(texture)
            address = self._addresses[texture] = self._api.allocate(contents.nbytes)
            self._api.write(address, contents)
            self._handles[texture] = self._api.texture(texture_memory(texture, address, contents.shape[1]))
        return self._handles[texture]

    def upload(self) -> None:
        """Write all of them again from the host: a kernel may have written out of bounds."""
        for texture in self._addresses:
            self._api.write(self._addresses[texture], self._contents(texture))

    def copy(self, pointer: Callable[[str], int]) -> None:
        """Copy all of them again from the arrays on the device, at the addresses `pointer(name)`; do not wait.

        Rows with padding are written from the host.
        """
        for texture, address in self._addresses.items():
            size = self._values[texture.array].nbytes
            if self._padding(texture):
                self._api.write(address, self._contents(texture))
            else:
                self._api.copy(address, pointer(texture.array), size)

    def _padding(self, texture: Texture) -> int:
        """Return the bytes after each row."""
        return -(ELEMENT_BYTES[texture.type] * texture.shape[0]) % self._alignment if len(texture.shape) > 1 else 0

    def _contents(self, texture: Texture) -> NDArray[np.uint8]:
        """Return the bytes of the texels, of shape (rows, bytes of a row with its padding)."""
        row = ELEMENT_BYTES[texture.type] * texture.shape[0]
        elements = np.frombuffer(self._values[texture.array].tobytes(), np.uint8).reshape(-1, row)
        return np.ascontiguousarray(np.pad(elements, ((0, 0), (0, self._padding(texture)))))


def texture_over(texture: Texture, address: int) -> TextureMemory:
    """Return the memory of a texture over an array that kernels write: between rows there is nothing."""
    return texture_memory(texture, address, texture.texel_bytes * texture.shape[0])


def texture_memory(texture: Texture, address: int, pitch: int) -> TextureMemory:
    """Return the memory of a texture; a texel is an element: one number, or the two words of a double. Rows are `pitch`
    bytes apart.
    """
    channel = CHANNELS[texture.type]
    channels = ELEMENT_BYTES[texture.type] // channel.bytes
    if len(texture.shape) == 1:
        return TextureMemory(address, channel, channels, texture.shape[0])
    return TextureMemory(address, channel, channels, texture.shape[0], texture.shape[1], pitch)
