"""The attributes of a Generator: parameters, inputs and outputs, and what an instance has in their place.

A type or a number of dimensions that the class leaves open (None) is given with the parameters: `image.type`,
`image.dim`. Python's `bool`, `int` and `float` are the types UInt(1), Int(32) and Float(32).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.images import Image, ImageParam
from generator.frontend_py.param import Param
from generator.frontend_py.types import BOOL, FLOAT32, INT32, Float, Int, Type, UInt
from generator.frontend_py.where import here


class Parameter:
    """A value that is chosen when the pipeline is built; `value` by default."""

    def __init__(self, value: Any) -> None:
        self.value = value


def GeneratorParam(value: Any) -> Any:
    """Return a parameter of a Generator with this default; in `generate` it is the value itself."""
    return Parameter(value)


class InputBuffer(ImageParam):
    """An input image of a Generator; None for a type or number of dimensions that is chosen later."""

    def __init__(self, kind: Any, dimensions: int | None) -> None:
        self.kinds, self.wanted_dims = _types(kind), dimensions
        super().__init__(self.kinds[0] if self.kinds else BOOL, dimensions or 0)


class InputScalar(Param):
    """An input number of a Generator, set by `call` or `--param`."""

    def __init__(self, kind: Any) -> None:
        self.kinds = _types(kind)
        super().__init__(self.kinds[0] if self.kinds else BOOL)


class OutputBuffer(Func):
    """An output of a Generator: `generate` defines it with this type (a list of types: a tuple) and dimensions."""

    def __init__(self, types: Any, dimensions: int | None) -> None:
        self.kinds, self.wanted_dims = _types(types), dimensions
        super().__init__()


class OutputScalar(OutputBuffer):
    """An output without coordinates."""

    def __init__(self, types: Any) -> None:
        super().__init__(types, 0)


def made_parameter(name: str, part: Parameter, given: Any) -> Any:
    """Return the value of a parameter, `given` in the type of its default."""
    if given is None:
        return part.value
    if isinstance(part.value, Type | list):
        kinds = _parsed(given)
        return kinds[0] if isinstance(part.value, Type) else list(kinds)
    try:
        return type(part.value)(given)
    except (TypeError, ValueError):
        raise InputError(f"parameter `{name}` is a {type(part.value).__name__}, {given!r} is none", here()) from None


def made_input(owner: str, name: str, part: InputBuffer | InputScalar, given: Mapping[str, Any]) -> Image | Param:
    """Return the image or number for one instance, with the value that `given` has for it."""
    value, kinds = given.get(name), _chosen(owner, name, part.kinds, given)
    if isinstance(part, InputScalar):
        return value if isinstance(value, Param) else Param(kinds[0], name, value)
    image = ImageParam(kinds[0], _dimensions(owner, name, part.wanted_dims, given), name)
    if value is None:
        return image
    if isinstance(value, Image) and value.data is None:
        return value
    image.set(value)
    return image


def made_output(owner: str, name: str, part: OutputBuffer, given: Mapping[str, Any]) -> Func:
    """Return the Func for one instance."""
    return Func(list(_chosen(owner, name, part.kinds, given)), _dimensions(owner, name, part.wanted_dims, given), name)


def _chosen(owner: str, name: str, kinds: tuple[Type, ...], given: Mapping[str, Any]) -> tuple[Type, ...]:
    """Return the types of an input or output: declared ones, or those of the parameter `name.type`."""
    found = kinds or _parsed(given.get(f"{name}.type", []))
    if not found:
        raise InputError(f"Generator `{owner}` leaves the type of `{name}` open: declare it, or give "
                         f"call(..., generator_params={{'{name}.type': UInt(8)}})", here())
    return found


def _dimensions(owner: str, name: str, dimensions: int | None, given: Mapping[str, Any]) -> int:
    found = given.get(f"{name}.dim") if dimensions is None else dimensions
    if found is None:
        raise InputError(f"Generator `{owner}` leaves the number of dimensions of `{name}` open: declare it, or give "
                         f"call(..., generator_params={{'{name}.dim': 2}})", here())
    return int(found)


def _types(given: Any) -> tuple[Type, ...]:
    """Return the declared types: none for None."""
    plain: Mapping[object, Type] = {bool: BOOL, int: INT32, float: FLOAT32}
    kinds = given if isinstance(given, list | tuple) else [] if given is None else [given]
    found = tuple(plain.get(kind, kind) for kind in kinds)
    if bad := next((kind for kind in found if not isinstance(kind, Type)), None):
        raise InputError(f"{bad!r} is not a type of numbers; use UInt(8), Float(32), ...", here())
    return found


def _parsed(given: Any) -> tuple[Type, ...]:
    """Return types that may be text: "uint8", "float32,int16"."""
    if not isinstance(given, str):
        return _types(given)
    known = {str(kind): kind for make, sizes in ((Int, (8, 16, 32, 64)), (UInt, (8, 16, 32, 64)),
                                                 (Float, (16, 32, 64))) for kind in map(make, sizes)} | {"bool": BOOL}
    if bad := next((word for word in given.split(",") if word not in known), None):
        raise InputError(f"`{bad}` is not a type of numbers; use {', '.join(known)}", here())
    return tuple(known[word] for word in given.split(","))
