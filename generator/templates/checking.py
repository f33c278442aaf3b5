"""Check a Template, whether made by a user, described by a T1 file, or read from a store.

Stores may come from outside. The text of a template is code in any case, and needs the user's trust (docs/security.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import get_args

from generator.contract import NUMPY_TYPES, Array, Role, Tolerance
from generator.errors import InputError
from generator.plan import Value
from generator.target import Dialect
from generator.templates.expressions import parse_restriction
from generator.templates.signature import check_arguments, unused_parameters
from generator.templates.template import Parameter, Template

_NAME = re.compile(r"[A-Za-z_]\w{0,255}", re.ASCII)
_MOST_ELEMENTS = 2**40


def check_template(template: Template) -> None:
    """Raise InputError if text, parameters, arguments and expressions are inconsistent."""
    if (words := flaw(template)) is not None:
        raise InputError(words)


def check_stored(template: Template) -> None:
    """Raise ValueError for a template that could not have been made."""
    if (words := flaw(template)) is not None:
        raise ValueError(words)


def flaw(template: Template) -> str | None:
    """Return the first problem of a template, with its location, for fields of any content; None if it is consistent.
    """
    if not _has_types(template):
        return "it is not a template"
    try:
        for check in (_check_names, _check_parameters, _check_restrictions, _check_launch, _check_arrays,
                      check_arguments, _check_rest):
            check(template)
    except InputError as error:
        return str(error)
    return None


def _has_types(template: Template) -> bool:
    texts = (template.name, template.file, template.text, template.kernel, template.shared_bytes, *template.constants,
             *template.textures, *template.restrictions, *template.grid, *template.block,
             *(text for pair in template.defines for text in pair),
             *(name for name, _ in template.first))
    return (all(isinstance(text, str) for text in texts)
            and all(isinstance(one, Parameter) and isinstance(one.name, str) and isinstance(one.values, tuple)
                    for one in template.parameters)
            and all(_is_value(value) for one in template.parameters for value in one.values)
            and all(_is_value(value) for _, value in template.first)
            and all(isinstance(array, Array) and _is_array(array) for array in template.arrays)
            and (template.tolerance is None or isinstance(template.tolerance, Tolerance))
            and template.dialect in get_args(Dialect))


def _is_value(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _is_array(array: Array) -> bool:
    return (isinstance(array.name, str) and array.type in NUMPY_TYPES and array.role in get_args(Role)
            and not array.expanded and not array.declared
            and all(isinstance(extent, int) for extent in array.extents))


def _check_names(template: Template) -> None:
    """Check that all names are C identifiers, each given once."""
    names = {"kernel": [template.kernel], "parameter": [one.name for one in template.parameters],
             "argument": [array.name for array in template.arrays], "macro": [name for name, _ in template.defines]}
    for kind, listed in names.items():
        for number, name in enumerate(listed):
            if not _NAME.fullmatch(name):
                raise InputError(f"the {kind} `{name}` is not a name in C; use letters, digits and _")
            if name in listed[:number]:
                raise InputError(f"the {kind} `{name}` is given twice; keep one of them")


def _check_parameters(template: Template) -> None:
    for one in template.parameters:
        check_values(one.name, one.values)
        if odd := [value for value in one.values if isinstance(value, str) and "\n" in value]:
            raise InputError(f"the parameter `{one.name}` has the value {odd[0]!r:.60}; macros have one line")


def check_values(name: str, values: Sequence[Value]) -> None:
    """Raise InputError if a parameter has no values, repeated ones, or too large ones."""
    if not values:
        raise InputError(f"the parameter `{name}` has no values; give it at least one")
    if len(set(values)) != len(values):
        raise InputError(f"the parameter `{name}` has a value twice: {values}")
    if any(isinstance(value, int) and not -2**63 <= value < 2**64 for value in values):
        raise InputError(f"the parameter `{name}` has a number of more than 64 bits; use smaller ones")


def _check_restrictions(template: Template) -> None:
    known = {one.name for one in template.parameters}
    for text in template.restrictions:
        parsed = parse_restriction(text)
        if unknown := [name for name in parsed.names if name not in known]:
            raise InputError(f"the restriction `{parsed.text}` names `{unknown[0]}`, which is not a parameter; there "
                             f"are {', '.join(sorted(known)) or 'none'}")


def _check_launch(template: Template) -> None:
    """Check that launch expressions use parameters only, and that every parameter with several values is used."""
    for kind, sizes in (("grid", template.grid), ("block", template.block)):
        if not 1 <= len(sizes) <= 3:
            raise InputError(f"`{kind}` has {len(sizes)} sizes; give one to three: along x, y, z")
    texts = (*template.grid, *template.block, template.shared_bytes)
    used = {name for text in texts for name in parse_restriction(text, "size of the launch").names}
    known = {parameter.name for parameter in template.parameters}
    if unknown := sorted(used - known):
        raise InputError(f"the launch of {template.kernel} uses `{unknown[0]}`, which is not a parameter; there are "
                         f"{', '.join(sorted(known)) or 'none'}")
    if unused := unused_parameters(template, used):
        raise InputError(f"{template.file or 'the text of ' + template.kernel} does not use the parameter "
                         f"`{unused[0]}`, and its launch does not either: its values would make no difference; correct "
                         "its name, or leave it out")


def _check_arrays(template: Template) -> None:
    """Check that arrays have elements, and that arrays in constant memory are only read."""
    for array in template.arrays:
        if not all(0 < extent < _MOST_ELEMENTS for extent in array.extents):
            raise InputError(f"the argument `{array.name}` has the shape {array.extents}; a kernel needs elements")
        if not array.extents and array.role != "in":
            raise InputError(f"the argument `{array.name}` is a value, which a kernel cannot write; give an array of "
                             "one element")
    by_name = {array.name: array for array in template.arrays}
    for name in template.constants:
        if name not in by_name or not by_name[name].extents or by_name[name].role != "in":
            raise InputError(f"`{name}` cannot lie in constant memory: that holds arrays which the kernel only reads")
    for name in template.textures:
        if name not in by_name or name in template.constants or not _fits_texture(by_name[name]):
            raise InputError(f"`{name}` cannot be a texture: that is an array of one or two dimensions, of float, int "
                             "or unsigned int, which the kernel only reads")


def _fits_texture(array: Array) -> bool:
    return array.role == "in" and 1 <= len(array.extents) <= 2 and array.type in ("float", "int", "unsigned int")


def _check_rest(template: Template) -> None:
    """Check that there is an output, a valid tolerance, and first values among those of the parameters."""
    if not template.outputs:
        raise InputError(f"`{template.kernel}` has no output, so that nothing can be compared; mark what it writes: "
                         "output(...) or array(..., \"inout\"), in a T1 file WriteOnly or ReadWrite")
    tolerance = template.tolerance
    if tolerance is not None and not all(isinstance(one, int | float) and math.isfinite(one) and one >= 0
                                         for one in (tolerance.relative, tolerance.absolute)):
        raise InputError(f"the tolerance is ({tolerance.relative!r}, {tolerance.absolute!r}); give two numbers from 0: "
                         "relative and absolute")
    values = {one.name: one.values for one in template.parameters}
    if odd := [name for name, value in template.first if value not in values.get(name, ())]:
        raise InputError(f"the value of `{odd[0]}` to begin with is none of its values")
