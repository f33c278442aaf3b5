"""Make the programs of a capture: an instrumented copy of the user's file, the capture's own C code, and a `main` if
there is none.

The builds of one run are compiled in parallel, each in its own folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.capture.build import (
    PLAIN,
    UNTIMED,
    Build,
    Compiler,
    ObjectFile,
    RunFailed,
    Unit,
    compile_at_once,
    link,
    linked_beside,
    user_flags,
)
from generator.capture.harness import Harness, harness_main, plan_harness
from generator.capture.instrument import instrumented, write_text
from generator.capture.lvalues import is_real
from generator.capture.runtime import runtime_object, settings
from generator.frontend_c.source import ScopSource

_RUNTIME = Path(__file__).with_name("runtime.c")
_BLOCKS = Path(__file__).with_name("blocks.c")
# Only Linux linkers can replace malloc.
_RECORDED = tuple(f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign")
                  if sys.platform == "linux")
_TIMING_BUDGET_S = 60.0
_ROUNDED_PAIRS = 2
_ROUNDED_BUDGET_S = 40.0
# The linker drops functions that only an unused `main` needs, and their callees.
_DROP_UNUSED = ("-ffunction-sections", "-fdata-sections")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a run is made: with the program's own `main` (`harness` None) or a generated one, and in which build.

    `firsts`: the extents that are not declared; None makes a probing run. `dominant`: see the harness.
    """

    harness: Harness | None
    firsts: Mapping[str, int] | None
    dominant: bool
    build: Build


@dataclass(frozen=True, slots=True)
class Made:
    """A program, and the folder in which it runs and writes its files."""

    directory: Path
    program: Path


@dataclass(frozen=True, slots=True)
class _Begun:
    """The object file of a recipe's copy of the user's file, or the error."""

    recipe: Recipe
    own: ObjectFile
    failure: RunFailed | None


@dataclass
class Programs:
    """The programs of one capture, by recipe. All files go to `directory`, which is temporary. `text`: that of the
    file.
    """

    source: ScopSource
    compiler: Compiler
    directory: Path
    text: str
    seed: int
    limit_s: float
    _runs: int = 0
    _begun: list[_Begun] = field(default_factory=list)
    _beside: dict[tuple[Build, bool], list[Path]] = field(default_factory=dict)

    def harness(self, overrides: Mapping[str, int]) -> Harness:
        """Return the `main` that calls the function alone. Raises InputError if an override names nothing that can be
        set.
        """
        unit = Unit(self.directory / "trial.c", _quoted_includes(self.source))
        flags = (*user_flags(self.source.compilation), "-Dmain=antune_other_main")
        return plan_harness(self.source, overrides, self.text, self.compiler, unit, flags, self.limit_s)

    def begin(self, recipes: Iterable[Recipe]) -> None:
        """Compile the user's file for all `recipes` in parallel; then `made` gives the program of each of them once.

        Returns when all are compiled, so that nothing compiles during a measurement.
        """
        wanted = [(recipe, self._written(recipe)) for recipe in recipes]
        failures = compile_at_once(self.compiler, [own for _, own in wanted], self.limit_s)
        self._begun = [_Begun(recipe, own, failure) for (recipe, own), failure in zip(wanted, failures, strict=True)]

    def made(self, recipe: Recipe) -> Made:
        """Return the program of `recipe`, compiling the user's file if `begin` did not. Raises RunFailed."""
        if all(begun.recipe != recipe for begun in self._begun):
            self.begin([recipe])
        begun = next(begun for begun in self._begun if begun.recipe == recipe)
        self._begun.remove(begun)
        if begun.failure is not None:
            raise begun.failure
        return self._linked(recipe, begun.own)

    def _written(self, recipe: Recipe) -> ObjectFile:
        """Write the copy of the user's file to its own folder."""
        self._runs += 1
        directory = self.directory / f"run{self._runs}"
        directory.mkdir()
        text = (self._settings(directory, recipe) + instrumented(self.source, self.text, recipe.firsts)
                + (harness_main(recipe.harness, recipe.firsts) if recipe.harness else ""))
        file = directory / "scop.c"
        write_text(file, text)
        return ObjectFile(Unit(file, _quoted_includes(self.source)), self._flags(recipe), directory / "scop.o")

    def _flags(self, recipe: Recipe) -> tuple[str, ...]:
        flags = user_flags(self.source.compilation, recipe.build)
        return (*flags, *_DROP_UNUSED, "-Dmain=antune_other_main") if recipe.harness else flags

    def _linked(self, recipe: Recipe, own: ObjectFile) -> Made:
        directory = own.target.parent
        objects = [own.target, self._c_half(_RUNTIME, recipe.build, directory)]
        made = Made(directory, directory / "program")
        if recipe.harness:
            self._link_alone(objects, recipe, made)
        else:
            self._link(objects, recipe, made)
        return made

    def _link(self, objects: list[Path], recipe: Recipe, made: Made) -> None:
        probing = [self._c_half(_BLOCKS, PLAIN, made.directory)] if recipe.firsts is None and _RECORDED else []
        flags = (*self._flags(recipe), *(_RECORDED if probing else ()))
        objects = [*objects, *probing, *self._others(recipe, made.directory)]
        link(self.compiler, objects, flags, made.program, self.limit_s)

    def _link_alone(self, objects: list[Path], recipe: Recipe, made: Made) -> None:
        """Link with a generated `main`; the function alone may not need the other files."""
        flags = (*self._flags(recipe), "-Wl,--gc-sections")
        try:
            link(self.compiler, [*objects, *self._others(recipe, made.directory)], flags, made.program, self.limit_s)
        except RunFailed:
            link(self.compiler, objects, flags, made.program, self.limit_s)

    def _others(self, recipe: Recipe, directory: Path) -> list[Path]:
        """Return the files to link with the tuned one, made once per build; with a generated `main`, theirs is renamed.
        """
        key = (recipe.build, recipe.harness is not None)
        if key not in self._beside:
            flags = (*user_flags(self.source.compilation, recipe.build), *(_DROP_UNUSED if recipe.harness else ()))
            self._beside[key] = linked_beside(self.compiler, self.source, flags, directory / "other", self.limit_s,
                                              recipe.harness is not None)
        return self._beside[key]

    def _settings(self, directory: Path, recipe: Recipe) -> str:
        limits_ms = (min(_TIMING_BUDGET_S, self.limit_s / 4) * 1e3, self.limit_s * 900,
                     min(_ROUNDED_BUDGET_S, self.limit_s / 10) * 1e3)
        pairs = _ROUNDED_PAIRS if rounds(self.source) and recipe.build in (PLAIN, UNTIMED) else 0
        return settings(directory, limits_ms, self.seed, pairs, recipe.dominant)

    def _c_half(self, file: Path, build: Build, directory: Path) -> Path:
        """Return the object file of the capture's own C file, which runs on any machine of this compiler's target."""
        openmp = [flag for flag in (*build.flags, *self.source.compilation.cflags) if "openmp" in flag]
        return runtime_object(self.compiler, file, openmp, directory, self.limit_s)


def _quoted_includes(source: ScopSource) -> tuple[str, ...]:
    """Search for `#include "x.h"` beside the original file, because the copy is in another folder."""
    return ("-iquote", str(Path(source.file).resolve().parent))


def rounds(source: ScopSource) -> bool:
    """Return whether the SCoP has floating-point numbers to round."""
    return any(is_real(v) for v in (*source.variables, *source.locals))
