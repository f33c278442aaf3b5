"""A template and one of its configurations in words, for `antune explain`."""

from __future__ import annotations

from collections.abc import Iterator

from generator.plan import Plan
from generator.target import Target
from generator.templates.template import Template
from generator.templates.variants import AXES, VariantMaker, language_of


def explain_template(template: Template, plan: Plan, target: Target) -> Iterator[str]:
    """Yield arguments, parameters, restrictions, launch, and the text that is compiled for `plan`, line by line.

    Raises:
        IllegalPlan: `plan` is not a plan of this template.
    """
    variant = VariantMaker(template, language_of(template, target))(plan)
    yield f"kernel {template.kernel} of {template.file or 'a text'} ({template.dialect})"
    for array in template.arrays:
        where = (" (constant memory)" if array.name in template.constants else
                 " (texture)" if array.name in template.textures else "")
        extents = "".join(f"[{extent}]" for extent in array.extents)
        yield f"    {array.type} {array.name}{extents}: {'value' if array.by_value else array.role}{where}"
    yield "parameters:"
    for parameter in template.parameters:
        yield f"    {parameter.name}: {', '.join(map(str, parameter.values))}"
    yield "restrictions:" if template.restrictions else "restrictions: none"
    for text in template.restrictions:
        yield f"    {text}"
    yield "launch:"
    for words, sizes in (("blocks", template.grid), ("threads per block", template.block)):
        yield f"    {words}: {', '.join(f'{axis} = {size}' for axis, size in zip(AXES, sizes, strict=False))}"
    values = ", ".join(f"{name} = {value}" for name, value in plan.parameters)
    yield ""
    yield f"== Code for {values or 'the only configuration'}"
    yield variant.source
