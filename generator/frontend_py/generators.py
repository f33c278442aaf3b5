"""Generators: a pipeline as a class, with its inputs, outputs and parameters as attributes.

    class Blur(Generator):
        size = GeneratorParam(3)
        image = InputBuffer(UInt(8), 2)
        blurred = OutputBuffer(UInt(8), 2)

        def generate(self): ...          `antune tune file.py:Blur --size 512x512 --param size=5`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.ignored import Target, get_host_target
from generator.frontend_py.images import Image, ImageParam
from generator.frontend_py.param import Param
from generator.frontend_py.types import Type
from generator.frontend_py.where import here

_Class = TypeVar("_Class")


class Parameter:
    """A value that is chosen when the pipeline is built; `value` by default."""

    def __init__(self, value: Any) -> None:
        self.value = value


def GeneratorParam(value: Any) -> Any:
    """Return a parameter of a Generator with this default; in `generate` it is the value itself."""
    return Parameter(value)


class InputBuffer(ImageParam):
    """An input image of a Generator."""


class InputScalar(Param):
    """An input number of a Generator, set by `call` or `--param`."""


class OutputBuffer(Func):
    """An output of a Generator: `generate` defines it with this type (a list of types: a tuple) and dimensions."""

    def __init__(self, types: Any, dimensions: int) -> None:
        super().__init__(types, dimensions)


class OutputScalar(OutputBuffer):
    """An output without coordinates."""

    def __init__(self, types: Any) -> None:
        super().__init__(types, 0)


class Generator:
    """The base class; a subclass has the attributes above and defines `generate`."""

    generator_name: ClassVar[str] = ""

    def __init__(self, **values: Any) -> None:
        found = _declared(type(self))
        for name, part in found.items():
            setattr(self, name, _made(name, part, values.get(name)))
        unknown = next((n for n in values if not isinstance(found.get(n), Parameter | InputScalar | InputBuffer)), None)
        if unknown is not None:
            raise InputError(f"Generator `{type(self).__name__}` has no parameter or input `{unknown}`; it has "
                             f"{', '.join(n for n, p in found.items() if not isinstance(p, OutputBuffer))}", here())

    def configure(self) -> None:
        """Called before `generate`; a subclass may override it."""

    def generate(self) -> None:
        """Define the outputs; every subclass overrides it."""
        raise InputError(f"Generator `{type(self).__name__}` does not define generate(self)", here())

    def target(self) -> Target:
        """Return a target without known properties."""
        return get_host_target()

    def using_autoscheduler(self) -> bool:
        """Return True: schedules are searched."""
        return True

    def natural_vector_size(self, kind: Type) -> int:
        """Return a number for `vectorize`, which has no effect."""
        return self.target().natural_vector_size(kind)

    def outputs(self) -> list[Func]:
        """Build the pipeline. Return its outputs, in the order of the class. Raises InputError for one without
        definition.
        """
        self.configure()
        self.generate()
        made = [getattr(self, name) for name, part in _declared(type(self)).items() if isinstance(part, OutputBuffer)]
        bad = next((f for f in made if not f.defined()), None)
        if bad is not None or not made:
            raise InputError(f"Generator `{type(self).__name__}` "
                             + (f"does not define its output `{bad.title}`" if bad is not None else "has no output"),
                             here())
        return made

    @classmethod
    def call(cls, *inputs: Any, generator_params: Mapping[str, Any] | None = None, **named: Any) -> Any:
        """Build the pipeline with these inputs (in order, or by name). Return its output Func, or a tuple of several.
        """
        names = cls.inputs()
        if len(inputs) > len(names):
            raise InputError(f"Generator `{cls.__name__}` has {len(names)} input(s), {len(inputs)} are given", here())
        made = cls(**dict(zip(names, inputs, strict=False)), **named, **(generator_params or {})).outputs()
        return made[0] if len(made) == 1 else tuple(made)

    @classmethod
    def inputs(cls) -> list[str]:
        """Return the names of the inputs."""
        return [name for name, part in _declared(cls).items() if isinstance(part, InputBuffer | InputScalar)]

    @classmethod
    def numbers(cls) -> Sequence[str]:
        """Return the names that take a number: parameters and scalars."""
        return [name for name, part in _declared(cls).items() if isinstance(part, Parameter | InputScalar)]


class GeneratorContext:
    """The context that `call` needs in Halide; without effect here."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def generator(name: str) -> Callable[[_Class], _Class]:
    """Return a decorator that names a Generator; here the class is also found by its own name."""
    def named(cls: _Class) -> _Class:
        setattr(cls, "generator_name", name)  # noqa: B010  # any class may be given
        return cls
    return named


def _declared(cls: type[Generator]) -> dict[str, Any]:
    """Return the parts of a Generator by name, those of its base classes first."""
    return {name: part for base in reversed(cls.__mro__) for name, part in vars(base).items()
            if isinstance(part, Parameter | InputBuffer | InputScalar | OutputBuffer)}


def _made(name: str, part: Any, given: Any) -> Any:
    """Return the part for one instance."""
    match part:
        case Parameter():
            return part.value if given is None else type(part.value)(given)
        case InputBuffer():
            image = ImageParam(part.type, part.dims, name)
            if given is not None:
                if isinstance(given, Image) and given.data is None:
                    return given
                image.set(given)
            return image
        case InputScalar():
            return given if isinstance(given, Param) else Param(part.type, name, given)
        case _:
            return Func(part.declared.types, part.declared.dimensions, name)
