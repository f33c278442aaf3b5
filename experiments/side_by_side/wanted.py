"""What a suite shall do, checked before anything begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from experiments.options import Budget, LevelName, RunOptions, Timing
from experiments.suites.polybench import program_file, programs
from generator.errors import InputError
from generator.frontend_c.source import Compilation

FloatType: TypeAlias = Literal["float", "double"]
DEFAULT_SIZE = "MEDIUM"
SIZES = ("MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE")
_SUFFIX = "_DATASET"
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "blas": ("gemm", "gemver", "gesummv", "symm", "syr2k", "syrk", "trmm"),
    "kernels": ("2mm", "3mm", "atax", "bicg", "doitgen", "mvt"),
    "solvers": ("cholesky", "durbin", "gramschmidt", "lu", "ludcmp", "trisolv"),
    "datamining": ("correlation", "covariance"),
    "stencils": ("adi", "fdtd-2d", "heat-3d", "jacobi-1d", "jacobi-2d", "seidel-2d"),
    "medley": ("deriche", "floyd-warshall", "nussinov"),
    "core": ("gemm", "2mm", "3mm", "atax", "bicg", "mvt", "gesummv", "gemver", "syrk", "syr2k", "doitgen", "covariance",
             "correlation", "jacobi-2d", "fdtd-2d", "heat-3d")})
"""PolyBench's own groups, and those sixteen whose outer loops are parallel."""
TILES = "tiles"
"""The way that tries tile sizes of the default plan only."""


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """Which programs are searched how.

    `size` is a name of SIZES, `type` that of the floating-point numbers, `defines` are further macros. Each of `explorers`
    makes `evaluations` evaluations (or works `minutes`, if that is less) with each of the seeds 0..seeds-1. `device` as for
    a run, `level` says which schedules are searched.
    """

    programs: tuple[str, ...]
    size: str = DEFAULT_SIZE
    type: FloatType = "float"
    defines: tuple[str, ...] = ()
    explorers: tuple[str, ...] = ("random", "colony")
    evaluations: int = 20
    minutes: float | None = None
    seeds: int = 1
    device: str | None = None
    level: LevelName = "o2"

    def __post_init__(self) -> None:
        """Raise InputError for what makes no sense."""
        if self.size not in SIZES:
            raise InputError(f"there is no size {self.size!r}; use one of {', '.join(SIZES).lower()}")
        if not self.programs or not self.explorers:
            raise InputError(f"the suite has nothing to do: name some {'explorers' if self.programs else 'programs'}")
        if TILES in self.explorers:
            raise InputError("the best tile size of the default plan is always measured; leave `tiles` away")
        if self.seeds < 1:
            raise InputError(f"--seeds is {self.seeds}; use 1 or more")
        for name in self.programs:
            program_file(name)

    @property
    def budget(self) -> Budget:
        """That of each search. Raises InputError for a number that makes no sense."""
        return Budget(self.evaluations, minutes=self.minutes)

    @property
    def all_defines(self) -> tuple[str, ...]:
        """The macros that choose the size and the type, and the others."""
        return (self.size + _SUFFIX, *(("DATA_TYPE_IS_FLOAT",) if self.type == "float" else ()), *self.defines)

    def run_options(self, program: str, explorer: str, seed: int) -> RunOptions:
        """Those of one search. Its own final is left out: the suite holds one for all."""
        tiles = explorer == TILES
        return RunOptions(str(program_file(program)), Compilation(defines=self.all_defines),
                          Budget(iterations=1_000) if tiles else self.budget, explorer="exhaustive" if tiles else explorer,
                          seed=seed, device=self.device, space="tiles" if tiles else "wide",
                          level="o1" if tiles else self.level, timing=Timing(finalists=0))

    def entry_name(self, program: str) -> str:
        """The folder of a program: `gemm-small-float-o2`, with further macros behind."""
        words = (program, self.size.lower(), self.type, self.level, *self.defines)
        return "-".join(re.sub(r"[^\w.]+", "-", word) for word in words)


def parse_programs(text: str) -> tuple[str, ...]:
    """The programs that the option --programs names: names, groups, `all`. Raises InputError for any other word."""
    known = {**GROUPS, "all": programs()}
    found: dict[str, None] = {}
    for word in (word.strip() for word in text.split(",")):
        if word not in known and word not in programs():
            raise InputError(f"--programs: {word!r} is no program and no group; there are the groups {', '.join(known)} and the "
                             f"programs {', '.join(programs())}")
        found |= dict.fromkeys(known.get(word, (word,)))
    return tuple(found)


def split_size(defines: tuple[str, ...], size: str | None) -> tuple[str, tuple[str, ...]]:
    """The size (that of `-D SMALL_DATASET`, too) and the other macros. Raises InputError when two sizes are given."""
    named = [define.removesuffix(_SUFFIX) for define in defines if define.endswith(_SUFFIX)]
    sizes = dict.fromkeys([*named, *([size.upper()] if size else [])])
    if len(sizes) > 1:
        raise InputError(f"there are two sizes: {' and '.join(sizes)}; give one")
    return next(iter(sizes), DEFAULT_SIZE), tuple(d for d in defines if not d.endswith(_SUFFIX))
