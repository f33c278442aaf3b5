"""The arguments of `tune_kernel`, checked once and converted to values."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from antune.kernel_tuner.checking import check_expressions, shown
from generator.contract import Array, Role, Tolerance
from generator.errors import InputError
from generator.plan import Value
from generator.target import Dialect
from generator.templates.building import C_TYPES, array_of, language_of, numbers_of, parameter_of
from generator.templates.expressions import Restriction, parse_restriction
from generator.templates.signature import check_arguments, constant_pointers, declared, unused_parameters
from generator.templates.template import Template
from graph.template import restriction

Configuration: TypeAlias = dict[str, Value]
BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")
RELATIVE = 1e-5
"""The relative tolerance of numpy.allclose, which Kernel Tuner uses."""
_LANGUAGES: Mapping[str, Dialect] = {"opencl": "opencl", "cuda": "cuda", "cupy": "cuda", "nvcuda": "cuda", "hip": "hip"}


@dataclass(frozen=True)
class Call:
    """A call of `tune_kernel`. `make_text`: the function that makes the text, if there is one.

    `answer` and `verify` are as given. Outputs are compared with an answer or with the results of the first
    configuration.
    """

    template: Template
    make_text: Callable[[Configuration], str] | None
    problem_size: Any
    grid_div: tuple[Any, Any, Any]
    block_names: tuple[str, ...]
    restrictions: tuple[Restriction, ...]
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    answer: Sequence[Any] | None
    verify: Callable[..., Any] | None
    atol: float
    shared: Any
    defines: Mapping[str, Any] | None
    observers: tuple[Any, ...] = ()


def make_call(kernel_name: str, source: Any, problem_size: Any, arguments: Sequence[Any],
              tune_params: Mapping[str, Sequence[Value]], *, grid_div: tuple[Any, Any, Any], restrictions: Any,
              answer: Sequence[Any] | None, atol: float, verify: Callable[..., Any] | None, lang: str | None,
              smem_args: Mapping[str, Any] | None, cmem_args: Mapping[str, Any] | None,
              block_size_names: Sequence[str] | None, defines: Mapping[str, Any] | None,
              observers: tuple[Any, ...] = ()) -> Call:
    """Return the call, checked. Raises InputError: something is missing, unknown, or does not fit the kernel."""
    parameters = tuple(parameter_of(name, values) for name, values in tune_params.items())
    sizes = dict(zip(("grid_div_x", "grid_div_y", "grid_div_z"), grid_div, strict=True))
    check_expressions(tuple(tune_params), {"problem_size": problem_size, **sizes,
                                           "smem_args": (smem_args or {}).get("size")})
    file, text, make_text = _source(source, {one.name: one.values[0] for one in parameters if one.values})
    dialect = _language(lang, text, file)
    given = [array_of(f"argument {number}", value) for number, value in enumerate(arguments)]
    if answer is not None and len(answer) != len(given):
        raise InputError(f"answer has {len(answer)} entries, arguments has {len(given)}; give None for each argument "
                         "that is not an output")
    names, roles = _names(text, kernel_name, len(given)), _roles(text, kernel_name, given, answer, verify)
    arrays = [Array(name, C_TYPES[value.dtype.name], value.shape, role)
              for name, value, role in zip(names, given, roles, strict=True)]
    constants = {name: array_of(f"cmem_args: {name}", value) for name, value in (cmem_args or {}).items()}
    arrays += [Array(name, C_TYPES[value.dtype.name], value.shape, "in") for name, value in constants.items()
               if name not in names]
    template = Template(kernel_name, file, dialect, kernel_name, text, parameters, (), tuple(arrays), ("1",), ("1",),
                        tuple(constants), tolerance=Tolerance(RELATIVE, atol))
    check_arguments(template)
    inputs = {**dict(zip(names, given, strict=True)), **constants}
    found = {} if answer is None or verify is not None else _answers(arrays, answer)
    block_names = tuple(block_size_names or ()) + BLOCK_NAMES[len(block_size_names or ()):]
    if block_size_names and (unknown := [name for name in block_size_names if name not in tune_params]):
        raise InputError(f"block_size_names has `{unknown[0]}`, which is not a parameter; there are "
                         f"{', '.join(tune_params)}")
    return Call(template, make_text, problem_size, grid_div, block_names,
                tuple(_restrictions(restrictions, tuple(tune_params))), inputs, found, answer, verify, atol, smem_args,
                defines, observers)


def unused(call: Call) -> Sequence[str]:
    """Return the parameters with several values that neither the kernel nor its launch uses; empty if a function, or a
    file that the text includes, may use any.
    """
    launch = (call.problem_size, call.grid_div, call.shared, tuple((call.defines or {}).values()))
    if call.make_text is not None or '#include "' in call.template.text or any(map(callable, _flat(launch))):
        return ()
    texts = [one for one in _flat(launch) if isinstance(one, str)]
    return unused_parameters(call.template, {*call.block_names, *re.findall(r"\w+", " ".join(texts))})


def _flat(value: Any) -> Iterator[Any]:
    """Yield what lists, tuples and dictionaries in `value` hold."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    if inner is None:
        yield value
    else:
        for one in inner:
            yield from _flat(one)


def asked(what: str, function: Callable[[Any], Any], configuration: Configuration) -> Any:
    """Call a function of the user with a configuration.

    Raises:
        InputError: it raises an exception other than a division by zero.
    """
    try:
        return function(dict(configuration))
    except ZeroDivisionError:
        raise
    except Exception as error:  # any exception, as this is the user's code
        values = ", ".join(f"{name} = {value}" for name, value in configuration.items())
        raise InputError(f"{what} fails for {values}: {type(error).__name__}: {error}") from error


def _source(source: Any, first: Configuration) -> tuple[str, str, Callable[[Configuration], str] | None]:
    """Return the file, the text (for the `first` configuration if a function makes it), and that function."""
    if isinstance(source, list | tuple):
        if len(source) != 1:
            raise InputError("kernel_source has several files; put the kernel and what it includes into one")
        source = source[0]
    if callable(source):
        return "", str(asked("kernel_source", source, first)), source
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return "", source, None
    path = Path(source)
    try:
        return str(path.absolute()), path.read_text(), None
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"kernel_source {path} cannot be read: {words}") from None


def _language(lang: str | None, text: str, file: str) -> Dialect:
    if lang is None:
        return language_of(text, file)
    dialect = _LANGUAGES.get(lang.lower())
    if dialect is None:
        raise InputError(f"lang is {lang!r}; antune takes {', '.join(_LANGUAGES)}")
    return dialect


def _names(text: str, kernel: str, count: int) -> list[str]:
    """Return the arguments' names in the text if they can be found there."""
    found = declared(text, kernel)
    words = [one.text.split("[")[0].split()[-1].lstrip("*") for one in found[1]] if found else []
    usable = len(words) == count == len(set(words)) and all(word.isidentifier() for word in words)
    return words if usable else [f"argument_{number}" for number in range(count)]


def _roles(text: str, kernel: str, given: Sequence[NDArray[Any]], answer: Sequence[Any] | None,
           verify: Callable[..., Any] | None) -> list[Role]:
    """Return the possible uses of each argument: those with an answer are outputs.

    Without any answer, outputs are all arrays that the kernel does not declare constant. With `verify`, none is
    compared here.
    """
    constant = list(constant_pointers(text, kernel))
    known = constant if len(constant) == len(given) else list(repeat(None, len(given)))
    roles: list[Role] = []
    for number, (value, is_constant) in enumerate(zip(given, known, strict=True)):
        expected = answer is None or answer[number] is not None
        if not value.shape or is_constant:
            roles.append("in")
        else:
            roles.append("inout" if expected and verify is None else "temp")
    return roles


def _answers(arrays: Sequence[Array], answer: Sequence[Any]) -> dict[str, NDArray[Any]]:
    found = {}
    for array, value in zip(arrays, answer, strict=False):
        if value is not None:
            values = numbers_of(f"the answer for `{array.name}`", value)
            if values.size != array.elements:
                raise InputError(f"the answer for `{array.name}` has {values.size} elements, the argument has "
                                 f"{array.elements}")
            if array.role == "in":
                raise InputError(f"the answer has values for `{array.name}`, which the kernel only reads")
            found[array.name] = values.astype(values.dtype).reshape(array.extents)
    return found


def _restrictions(given: Any, names: tuple[str, ...]) -> list[Restriction]:
    """Parse strings, and wrap functions of a configuration. A division by zero counts as fulfilled."""
    if given is None:
        return []
    listed = given if isinstance(given, list | tuple) else [given]
    return [_restriction(one, names) for one in listed]


def _restriction(given: Any, names: tuple[str, ...]) -> Restriction:
    if isinstance(given, str):
        parsed = parse_restriction(given)
        return replace(parsed, holds=_forgiving(parsed.holds))
    if callable(given):
        used = _used(given, names)
        name = getattr(given, "__name__", "a function")
        made = restriction(used, _forgiving(lambda *values: asked(f"the restriction {name}", given,
                                                                  dict(zip(used, values, strict=True)))))
        return replace(made, text=name)
    raise InputError(f"restrictions has {shown(given)}; use expressions as texts, or functions of a configuration")


def _forgiving(holds: Callable[..., object]) -> Callable[..., object]:
    def wrapped(*values: Value) -> object:
        try:
            return holds(*values)
        except ZeroDivisionError:
            return True

    return wrapped


def _used(function: Callable[..., Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parameters that a function reads as `p["name"]`, if its text shows that it does nothing else with `p`.

    With fewer parameters a search prunes earlier; by default all are returned.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)).strip().rstrip(","))
    except (OSError, TypeError, SyntaxError):
        return names
    makers = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda | ast.FunctionDef)]
    if len(makers) != 1 or len(makers[0].args.args) != 1:
        return names
    word = makers[0].args.args[0].arg
    read = [node for node in ast.walk(makers[0]) if isinstance(node, ast.Name) and node.id == word]
    keys = [node.slice.value for node in ast.walk(makers[0]) if isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name) and node.value.id == word and isinstance(node.slice, ast.Constant)]
    clear = len(keys) == len(read) and all(key in names for key in keys)
    return tuple(name for name in names if name in keys) if clear and keys else names
