"""Generators: a pipeline as a class, with its inputs, outputs and parameters as attributes.

    @generator()
    class Blur:
        size = GeneratorParam(3)
        image = InputBuffer(UInt(8), 2)
        blurred = OutputBuffer(UInt(8), 2)

        def generate(self): ...          `antune tune file.py:Blur --size 512x512 --param size=5`

`class Blur(Generator)` without the decorator is the same. `generator_decorators.py` has the decorators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.generator_parts import (
    InputBuffer,
    InputScalar,
    OutputBuffer,
    Parameter,
    made_input,
    made_output,
    made_parameter,
)
from generator.frontend_py.ignored import Target, get_host_target
from generator.frontend_py.pipeline import Pipeline
from generator.frontend_py.types import Type
from generator.frontend_py.where import here

_IGNORED = "autoscheduler"


class Generator:
    """The base class; a subclass has the attributes above and defines `generate`."""

    generator_name: ClassVar[str] = ""
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Names for this class with other parameters."""

    def __init__(self, **values: Any) -> None:
        self._given = {name: value for name, value in values.items() if name.partition(".")[0] != _IGNORED}
        self._parts, self._configuring = _declared(type(self)), False
        self._requirements: list[tuple[Any, tuple[Any, ...]]] = []
        for name, part in self._parts.items():
            if isinstance(part, Parameter):
                setattr(self, name, made_parameter(name, part, self._given.get(name)))

    def configure(self) -> None:
        """Called before `generate`; a subclass may override it, and add inputs and outputs there."""

    def generate(self) -> None:
        """Define the outputs; every subclass overrides it."""
        raise InputError(f"Generator `{type(self).__name__}` does not define generate(self)", here())

    def add_input(self, name: str, part: InputBuffer | InputScalar) -> None:
        """Add an input, within `configure`."""
        self._add(name, part)

    def add_output(self, name: str, part: OutputBuffer) -> None:
        """Add an output, within `configure`."""
        self._add(name, part)

    def _add(self, name: str, part: Any) -> None:
        if not self._configuring or hasattr(self, name):
            raise InputError(f"Generator `{type(self).__name__}`: inputs and outputs are added in configure(self), "
                             f"under new names; `{name}` is not", here())
        self._parts[name] = part

    def add_requirement(self, condition: Any, *message: Any) -> None:
        """Require `condition`, which depends on scalars and sizes: the interpreter checks it."""
        self._requirements.append((condition, message))

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
        self._configured()
        self._check_names()
        for name, part in self._parts.items():
            if isinstance(part, InputBuffer | InputScalar):
                setattr(self, name, made_input(type(self).__name__, name, part, self._given))
            elif isinstance(part, OutputBuffer):
                setattr(self, name, made_output(type(self).__name__, name, part, self._given))
        self.generate()
        made = [getattr(self, name) for name, part in self._parts.items() if isinstance(part, OutputBuffer)]
        bad = next((f for f in made if not f.defined()), None)
        if bad is not None or not made:
            raise InputError(f"Generator `{type(self).__name__}` "
                             + (f"does not define its output `{bad.title}`" if bad is not None else "has no output"),
                             here())
        for condition, message in self._requirements:
            Pipeline(made).add_requirement(condition, *message)
        return made

    def _configured(self) -> Self:
        self._configuring = True
        self.configure()
        self._configuring = False
        return self

    def _check_names(self) -> None:
        """Raise InputError if a value is given for something that the class does not have."""
        taken = [name for name, part in self._parts.items() if not isinstance(part, OutputBuffer)]
        known = {*taken, *(f"{name}.{what}" for name in self._parts for what in ("type", "dim"))}
        if unknown := next((name for name in self._given if name not in known), None):
            raise InputError(f"Generator `{type(self).__name__}` has no parameter or input `{unknown}`; it has "
                             f"{', '.join(taken)}", here())

    @classmethod
    def call(cls, *inputs: Any, generator_params: Mapping[str, Any] | None = None, **named: Any) -> Any:
        """Build the pipeline with these inputs (in order, or by name). Return its output Func, or a tuple of several.
        """
        names = cls(**(generator_params or {}))._configured()._inputs()
        if len(inputs) > len(names):
            raise InputError(f"Generator `{cls.__name__}` has {len(names)} input(s), {len(inputs)} are given", here())
        made = cls(**dict(zip(names, inputs, strict=False)), **named, **(generator_params or {})).outputs()
        return made[0] if len(made) == 1 else tuple(made)

    def _inputs(self) -> list[str]:
        """Return the names of the inputs."""
        return [name for name, part in self._parts.items() if isinstance(part, InputBuffer | InputScalar)]

    @classmethod
    def numbers(cls) -> Sequence[str]:
        """Return the names that take a number: parameters and scalars."""
        return [name for name, part in _declared(cls).items() if isinstance(part, Parameter | InputScalar)]


def _declared(cls: type[Generator]) -> dict[str, Any]:
    """Return the parts of a Generator by name, those of its base classes first."""
    return {name: part for base in reversed(cls.__mro__) for name, part in vars(base).items()
            if isinstance(part, Parameter | InputBuffer | InputScalar | OutputBuffer)}
