"""What stands around a Generator in its file: `@generator()`, `@alias(...)`, `GeneratorContext`, `main()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self, TypeVar

from generator.errors import InputError
from generator.frontend_py.generators import Generator
from generator.frontend_py.where import here

_Class = TypeVar("_Class")


class GeneratorContext:
    """The context that `call` needs in Halide; without effect here."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def generator(name: str = "") -> Callable[[type[_Class]], type[_Class]]:
    """Return a decorator that makes a class a Generator: a command finds it by the class's name, and by `name`."""
    if not isinstance(name, str):
        raise InputError("write @generator(), or @generator(name=...)", here())

    def named(cls: type[_Class]) -> type[_Class]:
        bases = (cls,) if issubclass(cls, Generator) else (cls, Generator)
        about = {key: getattr(cls, key) for key in ("__module__", "__qualname__", "__doc__")}
        return type(cls.__name__, bases, {**about, "generator_name": name})
    return named


def alias(**names: Mapping[str, Any]) -> Callable[[_Class], _Class]:
    """Return a decorator that gives a Generator more names, each with its own parameters: `file.py:NAME`."""
    bad = next((name for name, given in names.items() if not isinstance(given, Mapping)), None)
    if bad is not None:
        raise InputError(f"alias `{bad}` needs a dictionary of parameters", here())

    def renamed(cls: _Class) -> _Class:
        if not (isinstance(cls, type) and issubclass(cls, Generator)):
            raise InputError("@alias(...) stands above @generator()", here())
        cls.aliases = {**cls.aliases, **names}
        return cls
    return renamed


def by_name(classes: Mapping[str, Any], name: str) -> type[Generator] | None:
    """Return the Generator among `classes` that the decorators call `name`; None if there is none."""
    found = [one for one in classes.values() if isinstance(one, type) and issubclass(one, Generator)]
    for one in found:
        if one.generator_name == name:
            return one
        if name in one.aliases:
            return _with_parameters(one, name)
    return None


def _with_parameters(cls: type[Generator], name: str) -> type[Generator]:
    """Return the class with the parameters of an alias; those of a command come on top."""
    preset = cls.aliases[name]

    class Aliased(cls):  # type: ignore[valid-type, misc]  # a base class that is known when it runs
        def __init__(self, **values: Any) -> None:
            super().__init__(**{**preset, **values})

    Aliased.__name__ = name
    return Aliased


def main() -> NoReturn:
    """Halide's compiler of Generators. Raises InputError, which names the commands that take its place."""
    raise InputError("a Generator is compiled by antune's commands: antune tune FILE.py:NAME --size WIDTHxHEIGHT, then "
                     "antune export", here())
