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
    """A named parameter and its ordered values."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A kernel to tune, without its data.

    `kernel`: its name in `text`, which comes from `file` (empty: no file). `arrays`: its arguments in order, including
    scalars. `grid` (blocks) and `block` (threads), x first, `shared_bytes` (of dynamic shared memory) and
    `restrictions` are expressions over the parameters. `constants`: the arrays in constant memory: arguments in OpenCL,
    symbols of these names in CUDA and HIP. `defines`: further macros. `tolerance`: see Contract. `first`: the first
    values to try (empty: the first legal ones). `textures`: the arrays that are read through a texture: images in
    OpenCL, texture objects in CUDA and HIP, of one or two dimensions (the last one is the width).
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
    textures: tuple[str, ...] = field(default=(), repr=False)  # digests are older; text and arrays imply it

    @property
    def contract(self) -> Contract:
        """The inputs and expected results of the kernel."""
        return Contract(self.arrays, tolerance=self.tolerance)

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays that are compared with the answer after a run."""
        return self.contract.outputs

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Sizes by name: empty, because sizes are part of a template's expressions."""
        return ()

    @property
    def digest(self) -> str:
        """A hash of the whole content (hex): the template's identity in a store."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def template_plan(values: Iterable[tuple[str, Value]]) -> Plan:
    """Return the Plan of a template with these values of its parameters, in any order."""
    return Plan(None, (), parameters=tuple(sorted(values, key=lambda pair: pair[0])))
