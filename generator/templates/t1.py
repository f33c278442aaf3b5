"""Read a T1 file, the auto-tuning community's common format for a kernel to tune, as a template with data.

It reads the configuration space and the KernelSpecification: language, kernel, file, GlobalSize and LocalSize (or
ProblemSize with GridDivX, GridDivY and GridDivZ), arguments with their sizes and fills. Expressions are parsed, never
executed: `ProblemSize[0]` is the number given there; `max(name)` and `min(name)` are over the values of a parameter.

T1 files have no answer: all configurations must reproduce the results of the default configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from generator.contract import NUMPY_TYPES, Array, ElementType, Role
from generator.errors import InputError
from generator.json_fields import RecordingEntry
from generator.json_text import parse_json
from generator.problem import Problem
from generator.target import LANGUAGES, Dialect
from generator.templates.building import C_TYPES, Tunable
from generator.templates.checking import check_template
from generator.templates.expressions import parse_restriction
from generator.templates.t1_space import Description, description_of
from generator.templates.template import Parameter, Template

DIALECTS: Mapping[str, Dialect] = {language.title: dialect for dialect, language in LANGUAGES.items()}
AXES = ("X", "Y", "Z")
IN_THREADS = "opencl"
"""The GlobalSizeType that counts threads, not blocks."""
MOST_ELEMENTS = 2**31 - 1
Fill: TypeAlias = Literal["Constant", "Random", "Generator", "BinaryRaw"]
ROLES: Mapping[str, Role] = {"ReadOnly": "in", "WriteOnly": "out", "ReadWrite": "inout"}
"""Roles by the AccessType of an argument; the first one is the default."""
MEMORIES = ("Vector", "Scalar", "Constant", "Symbol")
_REMEDY = "correct the file"
_HARMLESS = re.compile(r"-std=\S+")


def read_t1_problem(path: Path, seed: int) -> Problem:
    """Return the template that a T1 file describes, with data generated from `seed`.

    Raises:
        InputError: the file or its kernel cannot be read, or contains something unknown.
    """
    place = RecordingEntry(path)
    try:
        data = parse_json(path.read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; give a T1 file") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); give a T1 file") from None
    if not isinstance(data, dict) or "ConfigurationSpace" not in data:
        raise InputError(f"{path} is not a T1 file: it has no ConfigurationSpace; give one that has")
    if "KernelSpecification" not in data:
        place.fault("it has no KernelSpecification: it describes a space, not a kernel", "add the kernel")
    return _Reading(place, description_of(data, place),
                    place.table(data["KernelSpecification"], "KernelSpecification"), data, seed).tunable().problem


@dataclass(frozen=True, slots=True)
class _Reading:
    """A T1 file that is being read."""

    place: RecordingEntry
    space: Description
    kernel: Mapping[str, Any]
    data: Mapping[str, Any]
    seed: int

    def tunable(self) -> Tunable:
        """Return the template with its data. Raises InputError."""
        kernel, place = self.kernel, self.place
        language = kernel.get("Language")
        if not isinstance(language, str) or language not in DIALECTS:
            place.fault(f"`Language` is {language!r}", f"antune takes {', '.join(DIALECTS)}")
        self._check_options()
        file = self._kernel_file(place.text(kernel.get("KernelFile"), "KernelFile"))
        arguments = [place.table(entry, "Arguments") for entry in place.items(kernel.get("Arguments", []), "Arguments")]
        random = np.random.default_rng(self.seed)
        try:
            filled = [self._filled(entry, random) for entry in arguments]
        except MemoryError:
            place.fault("its arguments do not fit into this machine's memory", "use smaller sizes")
        grid, block = self._launch()
        template = Template(
            self.space.name, str(file), DIALECTS[language], place.text(kernel.get("KernelName"), "KernelName"),
            _text(file), self.space.parameters, self.space.restrictions, tuple(array for array, _ in filled), grid,
            block, tuple(array.name for (array, _), entry in zip(filled, arguments, strict=True)
                         if "Constant" in (entry.get("MemType"), entry.get("MemoryType"))
                         or entry.get("MemoryType") == "Symbol"),
            self._expression(kernel.get("SharedMemory") or 0, "SharedMemory"), self._defines(), first=self._first())
        check_template(template)
        return Tunable(template, {array.name: values for array, values in filled if array.role != "out"}, {})

    def _check_options(self) -> None:
        options = self.place.items(self.kernel.get("CompilerOptions") or [], "CompilerOptions")
        for option in options:
            text = self.place.text(option, "CompilerOptions")
            if not _HARMLESS.fullmatch(text) and not re.fullmatch(r"-D\s*\w+(=.*)?", text):
                self.place.fault(f"the compiler option `{text}` is not supported",
                                 "leave it out; -D NAME=VALUE is, and -std is not needed")

    def _defines(self) -> tuple[tuple[str, str], ...]:
        pairs = []
        for option in self.kernel.get("CompilerOptions") or []:
            if found := re.fullmatch(r"-D\s*(\w+)(?:=(.*))?", option):
                pairs.append((found[1], found[2] if found[2] is not None else "1"))
        return tuple(pairs)

    def _kernel_file(self, name: str) -> Path:
        folders = (self.place.path.parent, self.place.path.parent.parent)
        found = next((folder / name for folder in folders if (folder / name).is_file()), None)
        return found.absolute() if found is not None else self.place.fault(
            f"the KernelFile `{name}` is not there", f"put it into {folders[0]}")

    def _launch(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return blocks and threads along x, y, z, as expressions."""
        kernel, place = self.kernel, self.place
        local = place.table(kernel.get("LocalSize"), "LocalSize")
        block = tuple(self._expression(local[axis], "LocalSize") for axis in AXES if axis in local)
        sizes = [self._expression(size, "ProblemSize") for size in self._problem_size()]
        if any(f"GridDiv{axis}" in kernel for axis in AXES) and sizes:
            return self._divided(sizes), block
        given = place.table(kernel.get("GlobalSize"), "GlobalSize")
        grid = tuple(self._bound(self._expression(given[axis], "GlobalSize")) for axis in AXES if axis in given)
        if str(kernel.get("GlobalSizeType", kernel.get("Language"))).lower() == IN_THREADS:
            grid = tuple(f"ceil(({items}) / ({threads}))"
                         for items, threads in zip(grid, (*block, "1", "1"), strict=False))
        return grid, block

    def _expression(self, value: object, name: str) -> str:
        """Return a number or an expression over parameters, as text."""
        return value if isinstance(value, str) else f"{self.place.number(value, name):.17g}"

    def _divided(self, sizes: Sequence[str]) -> tuple[str, ...]:
        grid = []
        for axis, size in zip(AXES, sizes, strict=False):
            divisors = [self._expression(one, f"GridDiv{axis}") for one in
                        self.place.items(self.kernel.get(f"GridDiv{axis}") or [], f"GridDiv{axis}")]
            product = " * ".join(f"({divisor})" for divisor in divisors) or "1"
            grid.append(f"ceil(({size}) / ({product}))")
        return tuple(grid)

    def _problem_size(self) -> list[Any]:
        given = self.kernel.get("ProblemSize", [])
        return given if isinstance(given, list) else [given]

    def _bound(self, text: str) -> str:
        """Return an expression with the constants of the file as numbers."""
        sizes = self._problem_size()

        def size(found: re.Match[str]) -> str:
            number = int(found[1])
            return f"({sizes[number]})" if number < len(sizes) else self.place.fault(
                f"`{text}` uses ProblemSize[{number}], and ProblemSize has {len(sizes)} numbers", _REMEDY)

        def extreme(found: re.Match[str]) -> str:
            parameter = next((one for one in self.space.parameters if one.name == found[2]), None)
            numbers = [v for v in parameter.values if isinstance(v, int | float)] if parameter else []
            return str((max if found[1] == "max" else min)(numbers)) if numbers else found[0]

        return re.sub(r"\b(max|min)\(\s*(\w+)\s*\)", extreme, re.sub(r"\bProblemSize\[(\d+)\]", size, text))

    def _filled(self, entry: Mapping[str, Any], random: np.random.Generator) -> tuple[Array, NDArray[Any]]:
        place, name = self.place, self.place.text(entry.get("Name"), "Name")
        kind = _element_type(str(entry.get("Type")))
        if kind is None:
            place.fault(f"the argument `{name}` has the type {entry.get('Type')!r}", f"use one of {', '.join(C_TYPES)}")
        self._word(name, entry, "MemoryType", MEMORIES)
        role = ROLES[self._word(name, entry, "AccessType", tuple(ROLES))]
        if entry.get("MemoryType") == "Scalar":
            number = self._number(name, entry.get("FillValue"), kind)
            return Array(name, kind, (), "in"), np.array(number, NUMPY_TYPES[kind])
        count = self._size(name, entry.get("Size"))
        return Array(name, kind, (count,), role), self._data(name, entry, kind, count, random)

    def _word(self, name: str, entry: Mapping[str, Any], key: str, known: Sequence[str]) -> str:
        """Return the value of `key`; the first of `known` if it is missing."""
        found: str = entry.get(key) or known[0]
        return found if found in known else self.place.fault(f"the argument `{name}` has the {key} {found!r}",
                                                             f"use one of {', '.join(known)}")

    def _number(self, name: str, value: object, kind: ElementType) -> float:
        """Return a number that an argument of this type can hold."""
        number = self.place.number(int(value) if isinstance(value, bool) else value, f"FillValue of {name}")
        dtype = np.dtype(NUMPY_TYPES[kind])
        if dtype.kind == "f":
            return number
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        exact = value if isinstance(value, int) else int(number)
        if exact != number or not least <= exact <= most:
            self.place.fault(f"`FillValue of {name}` is {value!r}, which the type {kind} cannot hold", _REMEDY)
        return exact

    def _size(self, name: str, given: object) -> int:
        expression = parse_restriction(self._bound(str(given)), f"size of `{name}`")
        single = {one.name: one.values[0] for one in self.space.parameters if len(one.values) == 1}
        if unknown := [one for one in expression.names if one not in single]:
            self.place.fault(f"the size of `{name}` depends on `{unknown[0]}`, which has no single value",
                             f"write max({unknown[0]})")
        count = expression.number(single)
        if not 1 <= count <= MOST_ELEMENTS:
            self.place.fault(f"the size of `{name}` is {count:g}", f"use 1 to {MOST_ELEMENTS} elements")
        return int(count)

    def _data(self, name: str, entry: Mapping[str, Any], kind: ElementType, count: int,
              random: np.random.Generator) -> NDArray[Any]:
        fill, value = entry.get("FillType", "Constant"), entry.get("FillValue", 0)
        if fill not in get_args(Fill) or fill == "Generator":
            self.place.fault(f"the argument `{name}` has the FillType {fill!r}", "use Constant, Random or BinaryRaw")
        if fill == "Constant":
            return np.full(count, self._number(name, value, kind), NUMPY_TYPES[kind])
        if fill == "Random":  # from 0 up to FillValue
            number, dtype = self._number(name, value, kind), np.dtype(NUMPY_TYPES[kind])
            if dtype.kind in "iu":
                return random.integers(0, max(int(number), 1), count, dtype, endpoint=True)
            return (random.random(count) * (number or 1)).astype(dtype)
        file = self.place.path.parent / self.place.text(entry.get("DataSource"), f"DataSource of {name}")
        try:
            return np.fromfile(file, NUMPY_TYPES[kind], count).reshape(count)
        except (OSError, ValueError):
            return self.place.fault(f"`{name}` cannot be read from {file}: it is not a file of {count} elements",
                                    _REMEDY)

    def _first(self) -> tuple[tuple[str, Any], ...]:
        """Return the defaults if every parameter has one among its values; else none."""
        space = self.place.table(self.data["ConfigurationSpace"], "ConfigurationSpace")
        given = {entry.get("Name"): entry.get("Default") for entry in space.get("TuningParameters", [])
                 if isinstance(entry, dict)}
        known: Sequence[Parameter] = self.space.parameters
        if not all(parameter.name in given and given[parameter.name] in parameter.values for parameter in known):
            return ()
        return tuple((parameter.name, given[parameter.name]) for parameter in known)


def _element_type(name: str) -> ElementType | None:
    """Return the C type for a name of T1 (`float`, `int32`) or of C."""
    if name in NUMPY_TYPES:
        return name  # type: ignore[return-value]  # a key of the table
    return C_TYPES.get({"bool": "uint8", "half": "float16"}.get(name, name))


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"{file} cannot be read: {words}; give a file with a kernel") from None
