"""A generated `main` that calls the function with the SCoP: parameters, seeded arrays, seeded scalars.

    static void kernel(int n, double alpha, double A[n][n])      ->      int main(void) {
                                                                            int n = 256; double alpha = ...;
                                                                            void *antune_arg_A = ...(n * n values);
                                                                            kernel(n, alpha, antune_arg_A); }

It is appended to the instrumented copy, so that static functions and variables of the file are visible.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

from generator.capture.build import Compiler, Unit, diagnostics
from generator.capture.instrument import write_text
from generator.capture.lvalues import extent_list, is_real
from generator.errors import InputError, Location
from generator.frontend_c.places import c_string
from generator.frontend_c.source import ScopSource, Variable

DEFAULT_SIZE = 256
_SMALLEST_HINT = 8  # a smaller constant extent is a number of planes or fields, not a problem size
_INTEGER_DECL = re.compile(r"^(?:(?:const|volatile|register|signed|unsigned|char|short|int|long)\s+)+\w+$")
_FLOATING_DECL = re.compile(r"^(?:(?:const|volatile|register)\s+)*(?:float|double)\s+\w+$")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv}


@dataclass(frozen=True, slots=True)
class Harness:
    """The call of the function. `globals_`: the file's variables that may be set before the call."""

    source: ScopSource
    overrides: Mapping[str, int]
    globals_: frozenset[str]
    size: int


def plan_harness(source: ScopSource, overrides: Mapping[str, int], text: str, compiler: Compiler, unit: Unit,
                 flags: tuple[str, ...], limit_s: float) -> Harness:
    """Find out what can be set. `unit.file` is overwritten by a trial compilation of `text`.

    Raises:
        InputError: an override names nothing that can be set.
    """
    outside = [v.name for v in source.variables if not v.is_argument]
    names = [*outside, *(n for n in overrides if n not in outside and n not in source.argument_names)]
    globals_ = _settable(source, names, text, compiler, unit, flags, limit_s)
    for name in overrides:
        if name not in source.argument_names and name not in globals_:
            known = sorted({*source.argument_names, *globals_})
            raise InputError(f"--param {name}: `{source.function}` has no argument and the file no variable of that "
                             f"name that could be set; there are: {', '.join(known) or 'none'}",
                             Location(source.file, source.first_line))
    return Harness(source, overrides, globals_, default_size(source))


def default_size(source: ScopSource) -> int:
    """Return the default value of a size: 256, or less if an array of constant extent is smaller."""
    texts = [text for v in source.variables for text in v.extents if text is not None]
    known = [value for text in texts if (value := _constant(text)) is not None and value >= _SMALLEST_HINT]
    return min([DEFAULT_SIZE, *known])


def harness_main(harness: Harness, firsts: Mapping[str, int] | None) -> str:
    """Return the text of `main`. `firsts`: as for `instrumented` (None: a probe)."""
    source = harness.source
    lines = [_set_global(harness, v, firsts) for v in _outside(harness) if not v.extents and not v.indirect]
    lines += [f"{n} = {value};" for n, value in harness.overrides.items() if not _is_known(source, n)]
    pairs = list(zip(source.argument_names, source.argument_decls, strict=True))
    lines += [_scalar_argument(harness, n, d) for n, d in pairs if not _is_pointer(source, n, d)]
    lines += [_set_global(harness, v, firsts) for v in _outside(harness) if v.extents or v.indirect]
    lines += [_array_argument(source, n, firsts) for n, d in pairs if _is_pointer(source, n, d)]
    passed = [f"antune_arg_{n}" if _is_pointer(source, n, d) else n for n, d in pairs]
    body = "\n  ".join([*lines, f"{source.function}({', '.join(passed)});", "return 0;"])
    return f'\n#undef main\n#line 1 "generated main"\nint main(void) {{\n  {body}\n}}\n'


def _settable(source: ScopSource, names: list[str], text: str, compiler: Compiler, unit: Unit,
              flags: tuple[str, ...], limit_s: float) -> frozenset[str]:
    """Return those of `names` that are non-const variables at file level: each is assigned on its own line."""
    if not names:
        return frozenset()
    trials = []
    for k, name in enumerate(names):
        variable = _find(source, name)
        target = name + "[0]" * len(variable.extents) if variable and not _may_be_pointer(variable) else name
        trials.append(f"static void antune_trial_{k}(void) {{ {target} = {target}; }}")
    write_text(unit.file, f"#line 1 {c_string(source.file)}\n{text}\n#line 1 \"antune-trial\"\n" + "\n".join(trials))
    said = diagnostics(compiler, unit, flags, limit_s)
    refused = {int(line) for line in re.findall(r"^antune-trial:(\d+):(?:\d+:)? (?:fatal )?error", said, re.MULTILINE)}
    return frozenset(name for k, name in enumerate(names) if k + 1 not in refused)


def _find(source: ScopSource, name: str) -> Variable | None:
    return next((v for v in source.variables if v.name == name), None)


def _is_known(source: ScopSource, name: str) -> bool:
    return name in source.argument_names or _find(source, name) is not None


def _outside(harness: Harness) -> list[Variable]:
    return [v for v in harness.source.variables if not v.is_argument and v.name in harness.globals_]


def _may_be_pointer(variable: Variable) -> bool:
    return variable.indirect or (bool(variable.extents) and variable.extents[0] is None)


def _is_pointer(source: ScopSource, name: str, declaration: str) -> bool:
    variable = _find(source, name)
    return bool(variable.extents) or variable.indirect if variable else "*" in declaration or "[" in declaration


def _real(variable: Variable) -> int:
    return int(is_real(variable))


def _set_global(harness: Harness, variable: Variable, firsts: Mapping[str, int] | None) -> str:
    name = variable.name
    if name in harness.overrides:
        return f"{name} = {harness.overrides[name]};"
    if _may_be_pointer(variable):
        return f"if (!{name}) {name} = {_memory(variable, firsts)};"
    if variable.extents:
        return (f'antune_harness_fill("{name}", (void *){name}, sizeof({variable.type}), {_real(variable)}, '
                f"{len(variable.extents)}, {extent_list(variable, None)});")
    if name in harness.source.parameters:
        return f'if ({name} == 0) {name} = antune_harness_parameter("{name}", {harness.size}, 1);'
    kind = "real" if _real(variable) else "integer"
    return f'if ({name} == 0) {name} = antune_harness_{kind}("{name}");'


def _memory(variable: Variable, firsts: Mapping[str, int] | None) -> str:
    if firsts is None and None in variable.extents:
        return "antune_harness_space()"
    first = (firsts or {}).get(variable.name)
    return (f'antune_harness_array("{variable.name}", sizeof({variable.type}), {_real(variable)}, '
            f"{len(variable.extents)}, {extent_list(variable, first)})")


def _array_argument(source: ScopSource, name: str, firsts: Mapping[str, int] | None) -> str:
    variable = _find(source, name)
    memory = _memory(variable, firsts) if variable else "antune_harness_space()"
    return f"void *antune_arg_{name} = {memory};"


def _scalar_argument(harness: Harness, name: str, declaration: str) -> str:
    variable = _find(harness.source, name)
    if name in harness.overrides:
        return f'{declaration} = antune_harness_parameter("{name}", {harness.overrides[name]}, 0);'
    if (variable and _real(variable)) or _FLOATING_DECL.match(declaration):
        return f'{declaration} = antune_harness_real("{name}");'
    if variable and name not in harness.source.parameters:
        return f'{declaration} = antune_harness_integer("{name}");'
    if variable or _INTEGER_DECL.match(declaration):
        told = variable is not None or any(re.search(rf"\b{name}\b", text or "")
                                           for v in harness.source.variables for text in v.extents)
        return f'{declaration} = antune_harness_parameter("{name}", {harness.size}, {int(told)});'
    return f"{declaration} = {{0}};"  # a structure or another type that the SCoP does not use


def _constant(text: str) -> int | None:
    """Return the value of a C expression of integer literals (`1000 + 0`); None for anything else."""
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError):
        return None


def _value(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and (apply := _OPERATORS.get(type(node.op))):
        left, right = _value(node.left), _value(node.right)
        return None if left is None or right is None else int(apply(left, right))
    return None
