"""A Python module with one function on numpy arrays (through pyopencl), and the data of its self-check."""

from __future__ import annotations

import builtins
import inspect
import io
import keyword
import sys
import textwrap
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.exports.chosen import Chosen
from experiments.exports.host_program import python_lines
from experiments.exports.interface import wrapped
from experiments.exports.judged import Judged
from experiments.exports.memory import copied_in, placement
from experiments.exports.opencl import CHOICE, channel, how_timed, usual_devices
from experiments.exports.own_data import own_data
from experiments.exports.signature import Parameter, Signature
from experiments.exports.templates import fill
from experiments.exports.versions import Exported, Version, exported
from generator.expr import Expr
from generator.problem import as_declared
from generator.program import NUMPY_TYPES, Array, Program
from generator.rounding import PEERS
from generator.variant import Launch, Texture, Variant
from runners.data import initial_values
from runners.opencl.cpu_name import ERROR, find_pointer, known_cpu, lasting_string, repair_cpu_name
from runners.opencl.platforms import driver_name, registrations

INTEL = driver_name("Intel OpenCL")
CPU_NAME = (repair_cpu_name, find_pointer, lasting_string, known_cpu)
"""The functions that make PoCL work on CPUs unknown to its compiler; the module contains copies of them."""
_TAKEN = frozenset(("name", "given", "arrays", "result", "inplace", "np", "cl", "RESULTS", "OWN", "tuple", "len",
                    "version", "context", "_chosen", "_arranged", "_start"))
"""Names that the function uses itself."""
_IMPORTED = frozenset(("Any", "BinaryIO", "Path", "cl", "ctypes", "np", "os", "platform", "selfcheck", "struct", "sys",
                       "time", "RESULTS", "OUTPUTS", "OWN", "base64", "USUAL_DEVICES", "SOURCES", "VERSIONS",
                       *dir(builtins),
                       *(function.__name__ for function in CPU_NAME)))
"""Names that the module uses itself. So are those with an underscore before them."""


def python_files(chosen: Sequence[Chosen]) -> dict[str, str | bytes]:
    """Return the module and its data, by file name."""
    code = exported(chosen, "opencl")
    name = _module_name(code.chosen)
    drivers = registrations() if driver_name(code.chosen.info.device.platform) == INTEL else {}
    data: dict[str, str | bytes] = {_data_name(code, v): _data(v.chosen) for v in code.versions}
    return {f"{name}.py": _module(code), **data,
            **{f"{name}_vendors/{file}": text for file, text in drivers.items() if "intel.icd" in drivers}}


def _data_name(code: Exported, version: Version) -> str:
    number = code.versions.index(version) + 1
    return f"{_module_name(code.chosen)}_data{f'_{number}' if number > 1 else ''}.npz"


def _function_name(chosen: Chosen) -> str:
    name = chosen.name
    taken = keyword.iskeyword(name) or name in _IMPORTED or (name.startswith("_") and not name[1:2].isdigit())
    return f"{name}_" if taken else name


def _module_name(chosen: Chosen) -> str:
    """Return the module's name. It avoids the names of standard modules, which a file such as `copy.py` would hide."""
    name = _function_name(chosen)
    return f"{name}_tuned" if name in sys.stdlib_module_names or name in ("numpy", "pyopencl", "pytools") else name


def _module(code: Exported) -> str:
    signature, chosen, program = code.signature, code.chosen, code.chosen.program
    names = _names(signature)
    sizes, scalars = code.versions[0].sizes, signature.of_role("scalar")
    own = _own(code)
    given = [(p.name, names[p.name]) for p in signature.of_role("array")]
    lines = [*chosen.origin(), "", *wrapped((*signature.notes, CHOICE, *how_timed(chosen, "opencl")))]
    docstring = "\n".join(lines).replace("\\", "\\\\").replace('"', "'")
    results = [n for n, _ in given if program.array(n) in program.outputs]
    outputs = [n for n in results if all(_is_output(version, n) for version in code.versions)]
    return fill("python_module.py.in", {
        "F": _function_name(chosen), "MODULE": _module_name(chosen),
        "DOCSTRING": f'"""{docstring}\n"""', "RESULTS": repr(results), "OUTPUTS": repr(outputs),
        "OWN": "{" + "".join(f"\n    {name!r}: {text}," for name, text in own.items()) + "}",
        "USUAL": repr(usual_devices(chosen)),
        "SOURCES": "".join(f"{_literal(text)}, " for text in code.parts).rstrip(" "),
        "CPU_NAME": "\n\n".join(inspect.getsource(function) for function in CPU_NAME), "CPU_ERROR": repr(ERROR),
        "PARAMETERS": _parameters(code, names, outputs, own), "BRIEF": _brief(results, outputs, names, own),
        "GIVEN_SIZES": "{" + ", ".join(f"{names[p.name]!r}: {names[p.name]}" for p in sizes) + "}",
        "GIVEN_ARRAYS": _pairs([(n, f"OWN[{n!r}] if {c} is None else {c}" if n in own else c) for n, c in given]),
        "GIVEN_SCALARS": "{" + ", ".join(
            f"{p.name!r}: np.{NUMPY_TYPES[program.array(p.name).type]}({names[p.name]})" for p in scalars) + "}",
        "RUNS": "\n\n".join(_run(number, version) for number, version in enumerate(code.versions)),
        "VERSIONS": "".join(_version(code, number, names) for number in range(len(code.versions))),
        "PEERS": repr(PEERS),
        "CHECK_ARGUMENTS": "".join(f"{names[p.name]}={_check_argument(p)}, "
                                   for p in signature.of_role("scalar", "array")
                                   if p.name not in {size.name for size in sizes}),
        "CHECK_SCALARS": "{" + ", ".join(f"{p.name!r}: {_check_argument(p)}" for p in scalars) + "}",
    })


def _literal(text: str) -> str:
    """Return `text` as a Python literal, readable if possible; a template's text may contain anything."""
    return repr(f"\n{text}") if "'''" in text or text.endswith(("\\", "'")) else f"r'''\n{text}'''"


def _used(version: Version) -> set[str]:
    return {name for kernel in version.variant.kernels for name in kernel.arrays}


def _is_output(version: Version, name: str) -> bool:
    """Return whether the function can allocate this result for its caller."""
    program = version.chosen.program
    return name in _used(version) and _made(program, program.array(name))


def _run(number: int, version: Version) -> str:
    """The function that launches the kernels of a version."""
    lines = "\n".join(python_lines(version.variant.host, _launcher(version.variant), 1)) or "    pass"
    return f'def _run_{number}(context):\n    """The launches, in order."""\n{lines}\n'


def _version(code: Exported, number: int, names: Mapping[str, str]) -> str:
    """Return an entry of the table of versions."""
    version = code.versions[number]
    program, variant = version.chosen.program, version.variant
    given, used = [p.name for p in code.signature.of_role("array")], _used(version)
    temporaries = [array for array in (*program.arrays, *variant.scratch) if array.role == "temp"]
    arrays = {array.name: (array.numpy_type, array.own_extents, array.bytes)
              for array in (*map(program.array, given), *temporaries)}
    kernels = "".join(f"        {_kernel(variant, k)!r},\n" for k in range(len(variant.kernels)))
    copied = [n for n in given if n in used and copied_in(program, program.array(n))]
    sizes = {names[p.name]: p.value for p in version.sizes}
    table = "".join(f"        {name!r}: {entry!r},\n" for name, entry in arrays.items())
    return (f"    _Version({sizes!r}, {{\n{table}    }}, {copied!r}, {_images(variant)!r}, [\n{kernels}    ], "
            f"{version.part}, _run_{number},\n        {_data_name(code, version)!r}, {version.chosen.tuned!r}),\n")


def _names(signature: Signature) -> dict[str, str]:
    """Return the Python names of the parameters, by their names in C."""
    names: dict[str, str] = {}
    for parameter in signature.parameters:
        name = parameter.name
        while keyword.iskeyword(name) or name in _TAKEN or name in names.values():
            name += "_"
        names[parameter.name] = name
    return names


def _pairs(pairs: list[tuple[str, str]]) -> str:
    return "(" + "".join(f"({name!r}, {called}), " for name, called in pairs).rstrip(" ") + ")"


def _images(variant: Variant) -> dict[str, tuple[int, str, tuple[int, ...], bool]]:
    textures = [p for kernel in variant.kernels for p in kernel.placements if isinstance(p, Texture)]
    return {texture.array: (texture.words, channel(texture), texture.shape, texture.in_place) for texture in textures}


def _kernel(variant: Variant, number: int) -> tuple[str, tuple[tuple[str, bool], ...], tuple[int, ...]]:
    kernel = variant.kernels[number]
    arguments = tuple((name, name in kernel.arrays and isinstance(placement(kernel, name, variant), Texture))
                      for name in kernel.arguments)
    return kernel.name, arguments, kernel.block or (1,)


def _launcher(variant: Variant) -> Callable[[Launch, Callable[[Expr], str]], list[str]]:
    numbers = {kernel.name: number for number, kernel in enumerate(variant.kernels)}

    def lines(launch: Launch, text: Callable[[Expr], str]) -> list[str]:
        grid = "".join(f"{text(extent)}, " for extent in launch.grid) or "1,"
        values = "".join(f"{text(value)}, " for value in launch.iterators)
        return [f"context.launch({numbers[launch.kernel]}, ({grid.strip()}), ({values.strip()}))"]

    return lines


def _check_argument(parameter: Parameter) -> str:
    """Return the value of an array or scalar in the self-check."""
    return f"values[{parameter.name!r}]" if parameter.role == "array" else f"stored[{f'in:{parameter.name}'!r}][()]"


def _made(program: Program, array: Array) -> bool:
    """Return whether the function can allocate this array: every element is overwritten, whatever it contained."""
    return not copied_in(program, array) and array.own_elements == array.elements


def _own(code: Exported) -> dict[str, str]:
    """Return the program's own data as Python expressions, by name."""
    program, found = code.chosen.program, dict[str, str]()
    for name, data in own_data(code).items():
        text, kind = b64encode(data.tobytes()).decode(), program.array(name).numpy_type
        found[name] = f"np.frombuffer(base64.b64decode({text!r}), {kind!r}).reshape({data.shape})"
    return found


def _parameters(code: Exported, names: Mapping[str, str], outputs: list[str], own: Collection[str]) -> str:
    """Return the parameters: first those that are read, in the original order, then the optional ones by name."""
    later = {*outputs, *(size.name for size in code.versions[0].sizes)}
    read = [names[p.name] for p in code.signature.of_role("scalar", "array") if p.name not in {*later, *own}]
    read += [f"{names[name]}=None" for name in own]
    optional = [f"{names[name]}=None" for name in outputs]
    several = len(code.versions) > 1
    optional += [f"{names[p.name]}={None if several else p.value}" for p in code.versions[0].sizes]
    return ", ".join([*read, "*", *optional, "inplace=False"])


def _brief(results: list[str], outputs: list[str], names: dict[str, str], own: Collection[str]) -> str:
    """Return the docstring of the function."""
    changed = [name for name in results if name not in outputs]
    notes = [f"Run on the device and return {', '.join(names[name] for name in results)}."]
    if outputs:
        notes.append(f"{', '.join(names[name] for name in outputs)}: an array for the result; without it a new one is "
                     "made.")
    if own:
        notes.append(f"{', '.join(names[name] for name in own)}: by default the data that the program holds.")
    if changed:
        notes.append(f"{', '.join(names[name] for name in changed)}: read and changed; the argument itself stays "
                     "as it is unless inplace is true.")
    notes.append("The first call opens the device and builds the kernels. Raises ValueError for sizes or arrays that "
                 "the code was not tuned for.")
    return "\n\n    ".join("\n    ".join(textwrap.wrap(note, 105)) for note in notes) + "\n    "


def _data(chosen: Chosen) -> bytes:
    """Return the data of the self-check as .npz: inputs, results, tolerances."""
    assert chosen.problem is not None, "a self-check needs data"
    program, reference = chosen.program, chosen.problem.reference
    judged, values = Judged.of(chosen), initial_values(chosen.problem)
    arrays: dict[str, Any] = {f"in:{a.name}": as_declared(a, values[a.name]) for a in program.arrays
                              if a.role != "temp"}
    for output in program.outputs:
        arrays[f"out:{output.name}"] = as_declared(output, reference.outputs[output.name])
        arrays[f"relative:{output.name}"] = np.array(judged.relative(output))
        if (allowed := judged.allowed(output)) is not None:
            arrays[f"rounding:{output.name}"] = as_declared(output, allowed)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
