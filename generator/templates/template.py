"""The Template: a kernel's text with named parameters, its arguments, and expressions for its launch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from generator.contract import Array, Contract, Tolerance
from generator.plan import Plan, Value
from generator.target import Dialect


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named parameter and its values, in their order."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A kernel to tune, without its data.

    `kernel` is its name in `text`, which comes from `file` (empty: from no file). `arrays` are its arguments in their
    order, scalars among them. `grid` (blocks) and `block` (threads), x first, and `shared_bytes` (of dynamic shared
    memory) are expressions over the parameters; `restrictions`, too. `constants` names the arrays in constant memory:
    arguments in OpenCL, in CUDA and HIP symbols of these names. `defines` are further macros. `tolerance`: see
    Contract. `first`: the values to begin with (empty: the first ones that are legal). `textures` names the arrays that
    are read through a texture: images in OpenCL, texture objects in CUDA and HIP, of one or two dimensions (the last
    one is the width).
    """

    name: str
    file: str
    dialect: Dialect
    kernel: str
    text: str
    parameters: tuple[Parameter, ...]
    restrictions: tuple[str, ...]
    arrays: tuple[Array, ...]
    grid: tuple[str, ...]
    block: tuple[str, ...]
    constants: tuple[str, ...] = ()
    shared_bytes: str = "0"
    defines: tuple[tuple[str, str], ...] = ()
    tolerance: Tolerance | None = None
    first: tuple[tuple[str, Value], ...] = ()
    textures: tuple[str, ...] = field(default=(), repr=False)  # digests are older; the text and the arrays say as much

    @property
    def contract(self) -> Contract:
        """What the kernel is given and has to compute."""
        return Contract(self.arrays, tolerance=self.tolerance)

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays whose values afterwards are compared with the answer."""
        return self.contract.outputs

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Sizes by name: a template has none, they are part of its expressions."""
        return ()

    @property
    def digest(self) -> str:
        """A hash of the whole content (hex): the template's identity in a store."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def template_plan(values: Iterable[tuple[str, Value]]) -> Plan:
    """The Plan of a template with these values of its parameters, in any order."""
    return Plan(None, (), parameters=tuple(sorted(values, key=lambda pair: pair[0])))
