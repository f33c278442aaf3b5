"""PolyBench programs as a suite: which there are, and how one is compiled and searched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from experiments.options import Budget, LevelName, RunOptions, Timing
from experiments.side_by_side.names import chosen
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
class PolyBench:
    """How the C programs are compiled and searched; see `experiments.side_by_side.wanted.Setting`.

    `size` is a name of SIZES, `type` that of the floating-point numbers, `defines` are further macros, `level` says which
    schedules are searched. The rival is the best tile size of the default plan, which a search of its own finds.
    """

    size: str = DEFAULT_SIZE
    type: FloatType = "float"
    defines: tuple[str, ...] = ()
    level: LevelName = "o2"

    def __post_init__(self) -> None:
        """Raise InputError for a size that there is not."""
        if self.size not in SIZES:
            raise InputError(f"there is no size {self.size!r}; use one of {', '.join(SIZES).lower()}")

    @property
    def suite(self) -> str:
        """See `Setting`."""
        return "polybench"

    @property
    def default_words(self) -> str:
        """See `Setting`."""
        return "default plan"

    @property
    def rival(self) -> str:
        """See `Setting`."""
        return TILES

    @property
    def rival_words(self) -> str:
        """See `Setting`."""
        return "best tile size"

    @property
    def rival_is_searched(self) -> bool:
        """See `Setting`."""
        return True

    @property
    def title(self) -> str:
        """`SMALL_DATASET, float, level o2`."""
        sizes = " ".join([self.size + _SUFFIX, *(f"-D {define}" for define in self.defines)])
        return f"{sizes}, {self.type}, level {self.level}"

    @property
    def all_defines(self) -> tuple[str, ...]:
        """The macros that choose the size and the type, and the others."""
        return (self.size + _SUFFIX, *(("DATA_TYPE_IS_FLOAT",) if self.type == "float" else ()), *self.defines)

    def file(self, program: str) -> Path:
        """See `Setting`."""
        return program_file(program)

    def entry_name(self, program: str) -> str:
        """`gemm-small-float-o2`, with further macros behind."""
        words = (program, self.size.lower(), self.type, self.level, *self.defines)
        return "-".join(re.sub(r"[^\w.]+", "-", word) for word in words)

    def run_options(self, program: str, way: str, budget: Budget, seed: int, device: str | None) -> RunOptions:
        """See `Setting`."""
        tiles = way == TILES
        return RunOptions(str(self.file(program)), Compilation(defines=self.all_defines),
                          Budget(iterations=1_000) if tiles else budget, explorer="exhaustive" if tiles else way,
                          seed=seed, device=device, space="tiles" if tiles else "wide",
                          level="o1" if tiles else self.level, timing=Timing(finalists=0))


def parse_programs(text: str) -> tuple[str, ...]:
    """The programs that the option --programs names: names, groups, `all`. Raises InputError for any other word."""
    return chosen(text, programs(), {**GROUPS, "all": programs()})


def split_size(defines: tuple[str, ...], size: str | None) -> tuple[str, tuple[str, ...]]:
    """The size (that of `-D SMALL_DATASET`, too) and the other macros. Raises InputError when two sizes are given."""
    named = [define.removesuffix(_SUFFIX) for define in defines if define.endswith(_SUFFIX)]
    sizes = dict.fromkeys([*named, *([size.upper()] if size else [])])
    if len(sizes) > 1:
        raise InputError(f"there are two sizes: {' and '.join(sizes)}; give one")
    return next(iter(sizes), DEFAULT_SIZE), tuple(d for d in defines if not d.endswith(_SUFFIX))
