"""PolyBench programs as a suite: which there are, and how one is compiled and searched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias

from experiments.studies.side_by_side.names import AT, chosen, words_of
from experiments.suites.polybench import program_file, programs
from experiments.values.options import Budget, LevelName, RunOptions, Timing
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
"""PolyBench's own groups, and the sixteen programs whose outer loops are parallel."""
LEVELS: tuple[LevelName, ...] = ("o1", "o2", "o3")
TILES = "tiles"
"""The way that searches only tile sizes of the default plan."""


@dataclass(frozen=True, slots=True)
class PolyBench:
    """Settings of the C programs; see `experiments.studies.side_by_side.wanted.Setting`.

    `size` is a name of SIZES, `type` the floating-point type, `defines` are further macros, `level` is the level of
    ways that do not name one, unlike `colony@o3`. The rival is the best tile size of the default plan, found by a
    search of its own.
    """

    size: str = DEFAULT_SIZE
    type: FloatType = "float"
    defines: tuple[str, ...] = ()
    level: LevelName = "o2"

    suite: ClassVar[str] = "polybench"
    default_words: ClassVar[str] = "default plan"
    rival: ClassVar[str] = TILES
    rival_words: ClassVar[str] = "best tile size"
    rival_is_searched: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise InputError for an unknown size."""
        if self.size not in SIZES:
            raise InputError(f"there is no size {self.size!r}; use one of {', '.join(SIZES).lower()}")

    @property
    def title(self) -> str:
        """The setting in words: `SMALL_DATASET, float, level o2`."""
        sizes = " ".join([self.size + _SUFFIX, *(f"-D {define}" for define in self.defines)])
        return f"{sizes}, {self.type}, level {self.level}"

    @property
    def all_defines(self) -> tuple[str, ...]:
        """All macros: those of the size and the type, and the others."""
        return (self.size + _SUFFIX, *(("DATA_TYPE_IS_FLOAT",) if self.type == "float" else ()), *self.defines)

    def file(self, program: str) -> Path:
        """See `Setting`."""
        return program_file(program)

    def entry_name(self, program: str) -> str:
        """Return the name of a program's entry: `gemm-small-float-o2`, followed by further macros."""
        words = (program, self.size.lower(), self.type, self.level, *self.defines)
        return "-".join(re.sub(r"[^\w.]+", "-", word) for word in words)

    def explorer_of(self, way: str) -> str:
        """See `Setting`."""
        return way.partition(AT)[0]

    def level_of(self, way: str) -> LevelName:
        """See `Setting`. Raises InputError for an unknown level."""
        named = way.partition(AT)[2] if AT in way else self.level
        for level in LEVELS:
            if level == named:
                return level
        raise InputError(f"{way}: there is no level {named!r}; use one of {', '.join(LEVELS)}")

    def run_options(self, program: str, way: str, budget: Budget, seed: int, device: str | None) -> RunOptions:
        """See `Setting`."""
        tiles = way == TILES
        return RunOptions(
            str(self.file(program)),
            Compilation(defines=self.all_defines),
            Budget(iterations=1_000) if tiles else budget,
            explorer="exhaustive" if tiles else self.explorer_of(way),
            seed=seed,
            device=device,
            space="tiles" if tiles else "wide",
            level="o1" if tiles else self.level_of(way),
            timing=Timing(finalists=0),
        )


def parse_programs(text: str) -> tuple[str, ...]:
    """Return the programs that --programs names: names, groups, `all`. Raises InputError for any other word."""
    return chosen(text, programs(), {**GROUPS, "all": programs()})


def split_levels(level: LevelName | None, levels: str | None) -> tuple[LevelName, tuple[LevelName, ...]]:
    """Return the level of a suite, and all levels at which it searches.

    `level` alone is both; of `levels`, o2 (else the last) is the suite's.

    Raises:
        InputError: both are given, or a word is not a level.
    """
    if levels is None:
        return level or "o2", (level or "o2",)
    if level is not None:
        raise InputError("--level and --levels are both given; name all levels in --levels")
    if unknown := [word for word in words_of(levels) if word not in LEVELS]:
        raise InputError(f"--levels: there is no level {unknown[0]!r}; use some of {', '.join(LEVELS)}")
    named = tuple(known for known in LEVELS if known in words_of(levels))
    if not named:
        raise InputError(f"--levels names none; use some of {', '.join(LEVELS)}")
    return "o2" if "o2" in named else named[-1], named


def at_levels(explorers: Sequence[str], level: LevelName, levels: Sequence[LevelName]) -> tuple[str, ...]:
    """Return each explorer at each of the levels. At the suite's `level` it keeps its plain name, as in other suites.

    An explorer that names its level, such as `colony@o1`, is searched at that level only.
    """
    return tuple(dict.fromkeys(plain for explorer in explorers
                               for way in ([explorer] if AT in explorer else [f"{explorer}{AT}{one}" for one in levels])
                               for plain in (way.removesuffix(f"{AT}{level}"),)))


def split_size(defines: tuple[str, ...], size: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the size (also from `-D SMALL_DATASET`) and the other macros. Raises InputError if two sizes are given."""
    named = [define.removesuffix(_SUFFIX) for define in defines if define.endswith(_SUFFIX)]
    sizes = dict.fromkeys([*named, *([size.upper()] if size else [])])
    if len(sizes) > 1:
        raise InputError(f"there are two sizes: {' and '.join(sizes)}; give one")
    return next(iter(sizes), DEFAULT_SIZE), tuple(d for d in defines if not d.endswith(_SUFFIX))
