"""Make a Variant from a template and the values of its parameters: text, macros and launch.

The text does not change, and compilers' messages refer to its own lines:

    #define block_size_x 64
    #define vector_add vector_add  (a runner renames kernels: the macro renames the text)
    #line 1 "vector_add.cl"
    __kernel void vector_add(...

OpenCL, CUDA and HIP define the grid differently; here it is always in blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from generator.errors import IllegalPlan, InputError
from generator.expr import Int
from generator.plan import Plan, Value
from generator.target import LANGUAGES, Dialect, Target
from generator.templates.expressions import Restriction, parse_restriction
from generator.templates.signature import without_comments
from generator.templates.template import Template
from generator.variant import Constant, Kernel, KernelText, Launch, Placed, Texture, Variant

AXES = "xyz"
_SHOWN = 200
"""The maximum number of characters of a list in a message."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The launch of a configuration: blocks, threads per block (x first), bytes of dynamic shared memory."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int = 0


class VariantMaker:
    """Makes the variants of a template in `dialect`; CUDA and HIP take each other's texts."""

    def __init__(self, template: Template, dialect: Dialect) -> None:
        """Raises InputError if the text is in another language, or an expression is invalid."""
        if not alike(template.dialect, dialect):
            own, other = LANGUAGES[template.dialect].title, LANGUAGES[dialect].title
            raise InputError(f"{template.file or template.kernel} is {own} text, which the device does not take: it "
                             f"takes {other}; choose another with --device, see `antune devices`")
        self._template, self._dialect = template, dialect
        self.text = self.exported(template.text)

    def exported(self, text: str) -> str:
        """Return `text` with a kernel that drivers find by its name."""
        return _exported(text, self._template.kernel) if LANGUAGES[self._dialect].cplusplus else text

    def __call__(self, plan: Plan) -> Variant:
        """Return the variant of `plan`. Raises IllegalPlan if it is no plan of this template, or its launch is invalid.
        """
        values = self._values(plan)
        return self.made(plan, self.text, self._shape(values), {**dict(self._template.defines), **values})

    def _values(self, plan: Plan) -> dict[str, Value]:
        """Return the values of `plan` with the template's types: a plan may have 1.0 for 1, but macros depend on the
        type.

        Raises IllegalPlan if `plan` is not a plan of this template.
        """
        values, parameters = dict(plan.parameters), self._template.parameters
        if plan.schedule is not None:
            raise IllegalPlan(f"it is the plan of a program, which has a schedule; {self._template.name} is a kernel "
                              "template, whose plans have parameters alone")
        if values.keys() != {parameter.name for parameter in parameters}:
            raise IllegalPlan(f"the plan has other parameters than the template: {_listed(values)}; it has to have "
                              f"{_listed([parameter.name for parameter in parameters])}")
        for parameter in parameters:
            if values[parameter.name] not in parameter.values:
                raise IllegalPlan(f"the plan has {parameter.name} = {values[parameter.name]!r:.60}, which is none of "
                                  f"its values: {_listed(map(str, parameter.values))}")
            values[parameter.name] = parameter.values[parameter.values.index(values[parameter.name])]
        for one in self._restrictions:
            try:
                allowed = one.allows(tuple(values[name] for name in one.names))
            except InputError as error:
                raise IllegalPlan(str(error)) from None
            if not allowed:
                raise IllegalPlan(f"the plan does not fulfil `{one.text}`")
        return values

    def made(self, plan: Plan, text: str, shape: Shape, macros: Mapping[str, Value]) -> Variant:
        """Return the variant with this text, these macros and this launch."""
        template = self._template
        kernel = Kernel(
            template.kernel, (template.kernel,), self._arrays, self._scalars, (), shape.block, 0,
            kernel_text(template, text, macros), self._placements, launch_bytes=shape.shared_bytes,
            order=tuple(name for name in self._order if name in self._arrays or name in self._scalars))
        grid = tuple(Int(extent) for extent in shape.grid)
        return Variant(plan, self._dialect, "", (kernel,), (Launch(kernel.name, grid, ()),))

    @cached_property
    def _order(self) -> tuple[str, ...]:
        return tuple(array.name for array in self._template.arrays)

    @cached_property
    def _symbols(self) -> frozenset[str]:
        """The arrays that are not arguments."""
        return frozenset(() if LANGUAGES[self._dialect].constant_arguments else self._template.constants)

    @cached_property
    def _arrays(self) -> tuple[str, ...]:
        return tuple(a.name for a in self._template.arrays if not a.by_value and a.name not in self._symbols)

    @cached_property
    def _scalars(self) -> tuple[str, ...]:
        return tuple(array.name for array in self._template.arrays if array.by_value)

    @cached_property
    def _placements(self) -> tuple[Placed, ...]:
        images = (array for array in self._template.arrays if array.name in self._template.textures)
        return (*(Constant(name, name) for name in self._template.constants),
                *(Texture(array.name, array.type, array.extents[::-1], 1, typed=True) for array in images))

    @cached_property
    def _expressions(self) -> tuple[tuple[str, Restriction], ...]:
        """The expressions of the launch, with their names."""
        template = self._template
        return (*((f"number of blocks along {axis}", parse_restriction(text, "size of the grid"))
                  for axis, text in zip(AXES, template.grid, strict=False)),
                *((f"number of threads along {axis}", parse_restriction(text, "size of the block"))
                  for axis, text in zip(AXES, template.block, strict=False)))

    @cached_property
    def _restrictions(self) -> tuple[Restriction, ...]:
        return tuple(parse_restriction(text) for text in self._template.restrictions)

    @cached_property
    def _shared(self) -> Restriction:
        return parse_restriction(self._template.shared_bytes, "size of the shared memory")

    def _shape(self, values: Mapping[str, Value]) -> Shape:
        numbers = [_whole(words, expression, values) for words, expression in self._expressions]
        count = len(self._template.grid)
        axes = max(count, len(numbers) - count)
        grid = (*numbers[:count], *[1] * (axes - count))
        block = (*numbers[count:], *[1] * (axes - len(numbers) + count))
        try:
            return Shape(grid, block, int(self._shared.number(values)))
        except InputError as error:
            raise IllegalPlan(str(error)) from None


def _whole(words: str, expression: Restriction, values: Mapping[str, Value]) -> int:
    try:
        number = expression.number(values)
    except InputError as error:
        raise IllegalPlan(str(error)) from None
    if number != int(number) or number < 1:
        raise IllegalPlan(f"the {words} is {number:g} (`{expression.text}`); it has to be a whole number above 0")
    return int(number)


def alike(one: Dialect, other: Dialect) -> bool:
    """Return whether a kernel in one language can be used in the other: HIP supports most of CUDA."""
    return one == other or (LANGUAGES[one].cplusplus and LANGUAGES[other].cplusplus)


def language_of(template: Template, target: Target) -> Dialect:
    """Return the language of a template's code on `target`: its own if the device does not support it."""
    return target.dialect if alike(template.dialect, target.dialect) else template.dialect


def kernel_text(template: Template, text: str, macros: Mapping[str, Value]) -> KernelText:
    """Return the text with `macros` before it, and the kernel's name as a macro."""
    lines = [f"#define {name} {_word(value)}" for name, value in macros.items()]
    place = f' "{template.file}"' if template.file and not set('"\\\n') & set(template.file) else ""
    before = "\n".join([*lines, f"#define {template.kernel} "])
    return KernelText(before, f"\n#line 1{place}\n{text.rstrip()}\n")


def _word(value: Value) -> str:
    """Return a value as a token of C."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _listed(names: Iterable[str]) -> str:
    words = ", ".join(names) or "none"
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}..."


def _exported(text: str, kernel: str) -> str:
    """Return CUDA or HIP text in which the kernel is `extern "C"`, so that it is found by its name."""
    plain = without_comments(text)
    head = rf"__global__[^;{{}}()]*(?:\([^()]*\)[^;{{}}()]*)?\b{re.escape(kernel)}\s*\("
    made, last = [], 0
    for found in re.finditer(head, plain):
        if not _is_in_c(plain, found.start()):
            made += [text[last:found.start()], 'extern "C" ']
            last = found.start()
    return "".join([*made, text[last:]])


def _is_in_c(text: str, place: int) -> bool:
    """Return whether the declaration at `place` is `extern "C"`, by its own specifier or by a block around it."""
    before = max(text.rfind(sign, 0, place) for sign in ";{}") + 1
    if re.search(r'\bextern\s*"C"', text[before:place]):
        return True
    for block in re.finditer(r'\bextern\s*"C"\s*\{', text[:place]):
        depth = 1
        for sign in text[block.end():place]:
            depth += {"{": 1, "}": -1}.get(sign, 0)
            if not depth:
                break
        if depth:
            return True
    return False
