"""A user's pipeline file: run it, call the function that builds the pipeline, check the result.

    def build(width, height): ...; return output        `antune tune pipeline.py:build --size 2048x2048`
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeGuard

from generator.errors import AntuneError, InputError, Location
from generator.frontend_py.func import Func
from generator.frontend_py.generator_decorators import by_name
from generator.frontend_py.generators import Generator
from generator.frontend_py.named_sizes import SIZES, check_names
from generator.frontend_py.pipeline import Pipeline

BUILD = "build"


def load_pipeline(file: Path, parameters: Mapping[str, float]) -> list[Func]:
    """Return the output Funcs of the pipeline that the function `build` in `file` builds.

    The function gets those of `parameters` that are its arguments; the others must be sizes.

    Raises:
        InputError: the file cannot be run, the function is missing, it fails, or returns something else.
    """
    return outputs_of(built(file, None, parameters))


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a user's function, of any type; the function's name and location.

    `parameters`: the numbers that were given for the function and as sizes; `arguments`: those that the function got.
    """

    result: Any
    name: str
    place: Location
    parameters: Mapping[str, float] = field(default_factory=dict)
    arguments: Mapping[str, float] = field(default_factory=dict)


def built(file: Path, function: str | None, parameters: Mapping[str, float]) -> Built:
    """Return the result of `function` in `file`. Raises InputError as `load_pipeline`."""
    return built_by(_function(file, function or BUILD), file, parameters)


def built_by(build: Callable[..., Any], file: Path, parameters: Mapping[str, float]) -> Built:
    """Return the result of `build`, a function in `file`. Raises InputError as `load_pipeline`."""
    place = Location(str(file), build.__code__.co_firstlineno) if hasattr(build, "__code__") else Location(str(file), 1)
    if _is_generator(build):
        known = {name: value for name, value in parameters.items() if name in build.numbers() or name not in SIZES}
        return Built(guarded(file, lambda: build(**known).outputs()), build.__name__, place, parameters, known)
    arguments = _arguments(build, parameters, place)
    return Built(guarded(file, lambda: build(**arguments)), build.__name__, place, parameters, arguments)


def outputs_of(made: Built) -> list[Func]:
    """Return the output Funcs that were built. Raises InputError if the result is something else, or as `check_names`.
    """
    outputs = _outputs(made.result)
    if not outputs or not all(isinstance(o, Func) for o in outputs):
        raise InputError(
            f"`{made.name}` returns {type(made.result).__name__}; return the output Func, a list of them, a Pipeline, "
            "or a kernel template",
            made.place,
        )
    if len({id(o) for o in outputs}) < len(outputs):
        raise InputError(f"`{made.name}` returns one Func twice", made.place)
    check_names(outputs, made.parameters, made.arguments, made.name, made.place)
    return outputs


def _outputs(result: Any) -> list[Any]:
    """Return the result of `build` as a list: of one Func, several, or those of a Pipeline."""
    if isinstance(result, Pipeline):
        return list(result.outputs())
    return list(result) if isinstance(result, list | tuple) else [result]


def _is_generator(found: Any) -> TypeGuard[type[Generator]]:
    return isinstance(found, type) and issubclass(found, Generator)


def _function(file: Path, name: str) -> Any:
    module = guarded(file, lambda: _module(file))
    found = getattr(module, name, None) or by_name(vars(module), name)
    if not callable(found):
        there = sorted(n for n, v in vars(module).items() if (inspect.isfunction(v) or _is_generator(v))
                       and v.__module__ == module.__name__)
        raise InputError(
            f"{file} has no function `{name}`; name the one that returns the output Func: {file.name}:FUNCTION"
            + (f" (there are: {', '.join(there)})" if there else "")
        )
    return found


def _module(file: Path) -> Any:
    name = "antune_pipeline_" + "".join(c if c.isalnum() else "_" for c in file.stem)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up types there
    sys.path.insert(0, str(file.parent))  # as for `python file.py`: its helper modules are found
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def _arguments(build: Callable[..., Any], parameters: Mapping[str, float], place: Location) -> dict[str, float]:
    wanted = inspect.signature(build).parameters
    if bad := next((name for name in parameters if name not in wanted and name not in SIZES), None):
        raise InputError(f"--param {bad}: `{build.__name__}` has no argument of that name"
                         f"{_nearest(bad, [*wanted, *SIZES])}; it has {', '.join(wanted) or 'none'}, and sizes are "
                         f"{', '.join(SIZES)}", place)
    for name, parameter in wanted.items():
        plain = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if parameter.default is parameter.empty and plain and name not in parameters:
            how = "--size WIDTHxHEIGHT" if name in SIZES else f"--param {name}=VALUE"
            raise InputError(f"`{build.__name__}` needs a value for `{name}`: give {how} (in Python: parameters={{"
                             f"'{name}': VALUE}}), or a default", place)
    return {name: _fitting(parameter, parameters[name], f"`{build.__name__}`", place)
            for name, parameter in wanted.items() if name in parameters}


def _fitting(parameter: inspect.Parameter, value: float, title: str, place: Location) -> float:
    """Return the value of an argument in the type of its annotation or default. Raises InputError if it has another."""
    def said(kind: type) -> bool:
        return parameter.annotation in (kind, kind.__name__) or type(parameter.default) is kind

    if said(float):
        return float(value)
    if isinstance(value, float) and said(int):
        raise InputError(f"{parameter.name} = {value}: this argument of {title} is a whole number by its annotation or "
                         "default", place)
    return value


def _nearest(name: str, known: Sequence[str]) -> str:
    """Return a question for the name that was meant, if one is similar."""
    found = get_close_matches(name, known, 1)
    return f" (`{found[0]}`?)" if found else ""


def guarded(file: Path, action: Callable[[], Any], what: str = "the pipeline") -> Any:
    """Return the result of `action`, which runs the user's code, that of `what`.

    Raises InputError, with the location, for any exception.
    """
    try:
        return action()
    except AntuneError:
        raise
    except SyntaxError as error:
        raise InputError(
            f"this is not Python: {error.msg}", Location(error.filename or str(file), error.lineno or 1)
        ) from None
    except (Exception, SystemExit) as error:
        own = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == file]
        where = Location(str(file), own[-1].lineno or 1) if own else Location(str(file), 1)
        raise InputError(f"{what}'s own code fails: {type(error).__name__}: {error}{_hint(error)}", where) from error


def _hint(error: BaseException) -> str:
    """Return what helps against an error that numpy raises, and not an expression."""
    indexed = isinstance(error, IndexError) and "integers, slices" in str(error)
    return "; an array of numpy that Vars index has to be a Buffer: hl.Buffer(array)[x, y]" if indexed else ""
