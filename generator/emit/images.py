"""Arrays outside of global memory: reading textures, and the definitions for textures and constant memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from generator.emit.words import Words
from generator.program import Program
from generator.variant import Constant, Placed, Texture

NARROW_TYPES = ("char", "unsigned char", "short", "unsigned short", "half")
TEXTURE_TYPES = ("float", "double", "int", "unsigned int", *NARROW_TYPES)


def constant_symbol(array: str) -> str:
    """Return the name of an array in constant memory, if such arrays are not arguments but part of the module."""
    return f"antune_constant_{array}"


def fetch_name(texture: Texture) -> str:
    """Return the function that reads an element: `name(texture, x)` or `name(texture, x, y)`."""
    return f"antune_texel_{texture.type.replace(' ', '_')}_{len(texture.shape)}d"


def placement_preamble(program: Program, placements: Iterable[Placed], words: Words) -> str:
    """Return the definitions before kernels with these placements: functions that read textures, arrays in constant
    memory.
    """
    textures: dict[str, Texture] = {}
    constants: set[Constant] = set()
    for placed in placements:
        match placed:
            case Texture():
                textures[fetch_name(placed)] = placed
            case Constant():
                constants.add(placed)
            case _:
                assert_never(placed)
    parts = [words.sampler] if any(len(t.shape) > 1 for t in textures.values()) else []
    parts += [_fetch_function(textures[name], words) for name in sorted(textures)]
    if words.constant_symbol:
        for constant in sorted(constants, key=lambda c: c.symbol):
            array = program.array(constant.array)
            parts.append(words.constant_symbol.format(type=words.type(array.type), name=constant.symbol,
                                                      elements=array.elements))
    return "".join(parts)


def parameter(placed: Placed, element: str, name: str, words: Words) -> str:
    """Return the declaration of the argument `name`. `element`: the type of the elements in the dialect."""
    match placed:
        case Texture(_, _, shape, _):
            return f"{words.textures[len(shape)]} {name}"
        case Constant():
            return f"{words.constant_memory}const {element} *{words.restrict} {name}"
        case _:
            assert_never(placed)


def symbols(placements: Sequence[Placed], words: Words) -> dict[str, str]:
    """Return the names of arrays that are not arguments."""
    return {p.array: p.symbol for p in placements if isinstance(p, Constant)} if words.constant_symbol else {}


def _fetch_function(texture: Texture, words: Words) -> str:
    dims = len(texture.shape)
    head = f"{words.device_function} {words.type(texture.type)} {fetch_name(texture)}"
    coordinates = ", ".join(f"int {name}" for name in "xy"[:dims])
    body = "".join(f"  {line}\n" for line in words.fetch(texture.type, dims, texture.words))
    return f"{head}({words.textures[dims]} image, {coordinates}) {{\n{body}}}\n"
