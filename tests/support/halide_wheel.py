"""One definition in two languages: antune's, and Halide's own Python package (extra `peers`), with the same inputs.

A case is a function of the module `hl` that returns its outputs, each with its extents. The results are compared:
integers must be equal, real numbers nearly.
"""

from __future__ import annotations

import inspect
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import antune
from antune import halide as ours
from tests.support.reading import problem_of

Wanted: TypeAlias = Sequence[tuple[Any, Sequence[int]]]
Case: TypeAlias = Callable[[Any], Wanted]


def wheel() -> Any:
    """Return Halide's Python module; skip the test without it."""
    return pytest.importorskip("halide", reason="Halide's Python package is not installed (extra `peers`)")


def values(hl: Any, case: Case) -> list[NDArray[Any]]:
    """Return all values of all outputs, as `realize` computes them in the language `hl`."""
    found: list[NDArray[Any]] = []
    for output, sizes in case(hl):
        result = output.realize(list(sizes))
        found += [np.asarray(part) for part in (result if isinstance(result, list | tuple) else [result])]
    return found


def agree(one: Sequence[NDArray[Any]], other: Sequence[NDArray[Any]], rtol: float = 1e-5) -> None:
    """Check that there are equally many arrays, with the same types and shapes, and equal values."""
    assert [(a.dtype.kind, a.itemsize, a.shape) for a in one] == [(a.dtype.kind, a.itemsize, a.shape) for a in other]
    for a, b in zip(one, other, strict=True):
        if a.dtype.kind == "f":
            assert np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)
        else:
            assert np.array_equal(a, b)


def as_in_halide(case: Case, rtol: float = 1e-5) -> list[NDArray[Any]]:
    """Return the values of `case` in antune's language, after comparing them with Halide's."""
    found = values(ours, case)
    agree(found, values(wheel(), case), rtol)
    return found


@dataclass
class Recording:
    """The part of Halide's module that a file needs; it keeps the images, Funcs and tables that the file makes."""

    module: Any
    tables: list[Any] = field(default_factory=list)
    images: dict[str, Any] = field(default_factory=dict)
    funcs: list[Any] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def ImageParam(self, kind: Any, dimensions: int, name: str) -> Any:  # Halide's name
        """Return an image, and keep it by its name."""
        self.images[name] = self.module.ImageParam(kind, dimensions, name)
        return self.images[name]

    def Buffer(self, values: Any, name: str = "") -> Any:  # Halide's name
        """Return a table, and keep its values, which Halide does not."""
        self.tables.append(values)
        return self.module.Buffer(values, name)

    def random_float(self, seed: int) -> Any:
        """Return antune's random numbers by their formula (docs/pipelines.md), for a definition over `x`, `y` and `z`.
        """
        hl = self.module
        state = hl.cast(hl.UInt(64), 0x9E3779B9)
        for word in (seed, *map(hl.Var, "xyz"), 0x9E3779B9, 0x3C6EF372, 0xDAA66D2B):
            mixed = state ^ hl.cast(hl.UInt(64), hl.cast(hl.UInt(32), word))
            state = (mixed * hl.cast(hl.UInt(64), 0x5851F42D4C957F2D) + 0x2545F491) >> hl.cast(hl.UInt(64), 32)
        return hl.cast(hl.Float(32), state >> hl.cast(hl.UInt(64), 8)) * 2.0**-24

    def Func(self, *arguments: Any) -> Any:  # Halide's name
        """Return a Func, and keep it to store it: without a schedule all is inlined, which takes too long to compile.
        """
        self.funcs.append(self.module.Func(*arguments))
        return self.funcs[-1]


def file_in_halide(file: Path, arguments: Mapping[str, int], sizes: Sequence[int],
                   inputs: Mapping[str, NDArray[Any]], monkeypatch: pytest.MonkeyPatch) -> list[NDArray[Any]]:
    """Return the results of a file's pipeline in Halide's package: `build` with those of `arguments` that it has."""
    recording = Recording(wheel())
    _forget_helpers(file)
    with monkeypatch.context() as patch:
        patch.setattr(antune, "halide", recording)
        patch.syspath_prepend(str(file.parent))
        try:
            build = runpy.run_path(str(file))["build"]
            wanted = inspect.signature(build).parameters
            output = build(**{name: value for name, value in arguments.items() if name in wanted})
        finally:
            _forget_helpers(file)
    for func in recording.funcs:
        if func.defined():
            func.compute_root()
    for name, image in recording.images.items():
        image.set(recording.module.Buffer(inputs[name]))
    return values(recording, lambda _: [(output, sizes)])


def _forget_helpers(file: Path) -> None:
    """Import the modules beside `file` again: they are bound to one language."""
    for helper in {path.stem for path in file.parent.glob("*.py")} & set(sys.modules):
        del sys.modules[helper]


def as_in_c(case: Case) -> list[NDArray[Any]]:
    """Return the values of `case` in antune's language, after comparing sequential C with the interpreter."""
    for output, sizes in case(ours):
        outputs = output.outputs() if isinstance(output, ours.Pipeline) else [output]
        reference = problem_of(outputs, sizes, "case").reference
        assert not [w for w in reference.warnings if "sequential C" in w]
    return values(ours, case)
