"""Text and launch of one configuration, by Kernel Tuner's rules.

`block_size_x`, `block_size_y` and `block_size_z` (or block_size_names) are the extents of blocks; the grid is the
problem's size over the divisors, rounded up. Macros before the text: grid_size_x, y, z, the extents of the block, all
parameters, and kernel_tuner; with `defines` only those given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from antune.kernel_tuner.call import Call, Configuration, asked
from generator.errors import IllegalPlan, InputError
from generator.plan import Plan, Value
from generator.target import LANGUAGES, Dialect
from generator.templates.expressions import parse_restriction
from generator.templates.variants import AXES, Shape, VariantMaker
from generator.variant import Variant

UNROLL = "loop_unroll_factor"


class CallMaker:
    """Makes the variants of a call; the user's functions are called in this process."""

    def __init__(self, call: Call, dialect: Dialect) -> None:
        """Raises InputError if the device does not support the text's language."""
        self._call, self._maker = call, VariantMaker(call.template, dialect)
        self._names = tuple(parameter.name for parameter in call.template.parameters)
        self._cplusplus = LANGUAGES[dialect].cplusplus

    def __call__(self, plan: Plan) -> Variant:
        """Return the variant of `plan`. Raises IllegalPlan if its launch makes no sense."""
        call, values = self._call, dict(plan.parameters)
        configuration = {name: values[name] for name in self._names}
        try:
            shape = shape_of(call, configuration)
            macros = self._macros(configuration, shape)
            text = self._maker.text
            if call.make_text is not None:
                text = self._maker.exported(str(asked("kernel_source", call.make_text, configuration)))
        except (InputError, ZeroDivisionError) as error:
            raise IllegalPlan(str(error)) from None
        if self._cplusplus:
            text, macros = _unrolled(text, macros)
        return self._maker.made(plan, text, shape, macros)

    def _macros(self, configuration: Configuration, shape: Shape) -> Configuration:
        call = self._call
        if call.defines is not None:
            return {name: _word(value, configuration) for name, value in call.defines.items()}
        grid = {f"grid_size_{axis}": extent for axis, extent in zip(AXES, shape.grid, strict=True)}
        return {**grid, **dict(zip(call.block_names, shape.block, strict=False)), **configuration, "kernel_tuner": 1}


def shape_of(call: Call, configuration: Configuration) -> Shape:
    """Return the launch of a configuration. Raises InputError if an expression makes no sense."""
    block = tuple(_whole(configuration.get(name, 1), f"{name}") for name in call.block_names)
    sizes = _problem_size(call.problem_size, configuration)
    grid = []
    for size, divisor, name in zip(sizes, call.grid_div, call.block_names, strict=True):
        by = configuration.get(name, 1) if divisor is None else _divisor(divisor, configuration)
        if isinstance(by, str) or by <= 0:
            raise InputError(f"the grid is divided by {by!r}; divisors have to be above 0")
        grid.append(math.ceil(size / by))
    if min(grid) < 1:
        raise InputError(f"the grid is {' x '.join(map(str, grid))}; it has to have a block")
    shared = (call.shared or {}).get("size", 0)
    return Shape(tuple(grid), block, int(_number(shared, configuration, "size of the shared memory")))


def _problem_size(given: Any, configuration: Configuration) -> list[float]:
    found = asked("problem_size", given, configuration) if callable(given) else given
    listed = list(found) if isinstance(found, list | tuple | np.ndarray) else [found]
    if not 1 <= len(listed) <= len(AXES):
        raise InputError(f"problem_size has {len(listed)} sizes; give one to three")
    sizes = [_number(size, configuration, "problem size") for size in listed]
    return [*(int(size) for size in sizes), *[1] * (len(AXES) - len(sizes))]


def _divisor(given: Any, configuration: Configuration) -> float:
    if callable(given):
        return _number(asked("the grid divisor", given, configuration), configuration, "grid divisor")
    if isinstance(given, list | tuple):
        return math.prod(_divisor(one, configuration) for one in given)
    return int(_number(given, configuration, "grid divisor"))


def _number(given: Any, configuration: Configuration, kind: str) -> float:
    if callable(given):
        given = asked(f"the {kind}", given, configuration)
    if isinstance(given, str):
        return parse_restriction(given, kind).number(configuration)
    if isinstance(given, int | float | np.number):
        return float(given) if isinstance(given, float | np.floating) else int(given)
    raise InputError(f"the {kind} is {given!r}; use a number, an expression as text, or a function")


def _whole(value: Value, name: str) -> int:
    if isinstance(value, str) or value != int(value) or value < 1:
        raise InputError(f"`{name}` is {value!r}; threads are counted in whole numbers above 0")
    return int(value)


def _word(value: Any, configuration: Configuration) -> Value:
    """Return a macro's value: the result of a function, or a text with the values of parameters in place of their
    names.
    """
    if callable(value):
        return str(asked("a function of defines", value, configuration))
    if isinstance(value, str):
        return "".join(str(configuration.get(part, part)) for part in re.split(r"(\w+)", value))
    return str(value)


def _unrolled(text: str, macros: Configuration) -> tuple[str, Configuration]:
    """Replace macros in `#pragma unroll`, which CUDA and HIP do not accept, by constants; for 0 remove the pragma."""
    kept, constants = dict(macros), []
    for name in [name for name in macros if UNROLL in name]:
        value = kept.pop(name)
        if str(value) == "0":
            text = re.sub(rf"[ \t]*#pragma[ \t]+unroll[ \t]+{name}\b", "", text)
        else:
            constants.append(f"constexpr int {name} = {value};")
    return (" ".join(constants) + "\n#line 1\n" + text if constants else text), kept


def within(call: Call, most_threads: int) -> Sequence[Any]:
    """Return the restriction of the threads per block to `most_threads`, if parameters determine their number."""
    from graph.template import restriction

    known = {parameter.name for parameter in call.template.parameters}
    names = [name for name in call.block_names if name in known]
    if not names:
        return ()
    made = restriction(names, lambda *sizes: math.prod(sizes) <= most_threads)
    return (replace(made, text=f"{' * '.join(names)} <= {most_threads} (the device's most threads per block)"),)
