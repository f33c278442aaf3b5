"""Whether a Template that was read from a store has the types that it should have: the store may be somebody else's.

Its text is code all the same, and needs the user's trust (docs/security.md).
"""

from __future__ import annotations

import math
import re
from typing import get_args

from generator.contract import NUMPY_TYPES, Array, Role, Tolerance
from generator.target import Dialect
from generator.templates.template import Parameter, Template

_NAME = re.compile(r"[A-Za-z_]\w{0,255}", re.ASCII)


def check_stored(template: Template) -> None:
    """Raise ValueError for a field that no template has."""
    texts = (template.name, template.file, template.text, template.shared_bytes, *template.restrictions, *template.grid,
             *template.block, *(text for pair in template.defines for text in pair))
    names = (template.kernel, *template.constants, *(one.name for one in template.parameters),
             *(name for name, _ in template.first), *(array.name for array in template.arrays))
    values = (*(value for one in template.parameters for value in one.values), *(value for _, value in template.first))
    sound = (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)
        and all(isinstance(one, Parameter) for one in template.parameters)
        and all(isinstance(array, Array) and _is_sound(array) for array in template.arrays)
        and all(isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)) for value in values)
        and (template.tolerance is None or isinstance(template.tolerance, Tolerance))
        and template.dialect in get_args(Dialect))
    if not sound:
        raise ValueError("it is no template")


def _is_sound(array: Array) -> bool:
    return (array.type in NUMPY_TYPES and array.role in get_args(Role) and not array.expanded and not array.declared
            and all(isinstance(extent, int) and 0 < extent < 2**40 for extent in array.extents))
