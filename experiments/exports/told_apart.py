"""The parameters that determine the size: those of the original function, else variables or macros made parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.exports.chosen import Chosen
from experiments.exports.signature import Parameter, Signature
from experiments.exports.sizes import parse_size
from generator.errors import InputError
from generator.frontend_c.preprocess import macro_value
from generator.templates.template import Template

Sizes = tuple[Parameter, ...]


def size_parameters(chosen: Sequence[Chosen], signatures: Sequence[Signature]) -> list[Sizes]:
    """Return, for each size, the parameters that determine it; they have the same names for all sizes.

    Raises:
        InputError: two sizes cannot be distinguished by arguments.
    """
    _check_same(signatures)
    sizes = [_of_kernel(one) or signature.of_role("size")
             for one, signature in zip(chosen, signatures, strict=True)]
    if len(chosen) == 1 or _differ(sizes):
        return sizes
    taken = {parameter.name for signature in signatures for parameter in signature.parameters}
    sizes = [(*own, *_variables(one, chosen, taken)) for own, one in zip(sizes, chosen, strict=True)]
    if _differ(sizes):
        return sizes
    names = dict.fromkeys(name for one in chosen if one.size is not None for name in parse_size(one.size).names)
    wanted = [name for name in names if name not in {*taken, *(size.name for size in sizes[0])}]
    sizes = [(*own, *(_macro(one, name) for name in wanted)) for own, one in zip(sizes, chosen, strict=True)]
    if not _differ(sizes):
        raise InputError("no argument tells these sizes apart: the program has them as macros; give these with "
                         "numbers, as in --size \"N=512\"")
    return sizes


def _of_kernel(one: Chosen) -> Sizes:
    """Return the integer arguments of a kernel template, for which its launch may be made."""
    if not isinstance(one.info.subject, Template) or one.problem is None:
        return ()
    inputs = one.problem.reference.inputs
    return tuple(_added(array.name, int(inputs[array.name])) for array in one.info.subject.arrays
                 if array.by_value and array.type not in ("float", "double", "half"))


def _check_same(signatures: Sequence[Signature]) -> None:
    roles = {tuple((p.name, p.role, p.by_address) for p in signature.parameters) for signature in signatures}
    if len(roles) > 1:
        raise InputError("the loops use other parameters at other sizes, so that no one function can stand for all of "
                         "them; export each from a run of its own")


def _differ(sizes: Sequence[Sizes]) -> bool:
    return len({tuple(parameter.value for parameter in one) for one in sizes}) == len(sizes)


def _variables(one: Chosen, chosen: Sequence[Chosen], taken: set[str]) -> Sizes:
    """Return integers of the program that are not parameters and whose values differ between sizes."""
    values = [dict(other.program.parameters) for other in chosen]
    return tuple(_added(name, value) for name, value in one.program.parameters
                 if name not in taken and len({known.get(name) for known in values}) > 1
                 and all(name in known for known in values))


def _macro(one: Chosen, name: str) -> Parameter:
    options = one.info.options
    value = macro_value(Path(options.file), options.compilation, name)
    if value is None:
        size = "the tuned size" if one.size is None else f"--size {one.size!r}"
        raise InputError(f"what {name} is at {size} is not known: it is not a macro with a number there; "
                         f"give -D {name}=NUMBER when you tune")
    return _added(name, value)


def _added(name: str, value: int) -> Parameter:
    return Parameter(name, f"int {name}", "size", name, value)
