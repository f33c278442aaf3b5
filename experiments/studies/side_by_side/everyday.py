"""Everyday C programs as a suite: which programs there are, and how one is searched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from experiments.studies.side_by_side.names import chosen
from experiments.studies.side_by_side.polybench import TILES
from experiments.suites.everyday import program_file, programs
from experiments.values.options import Budget, LevelName, RunOptions, Timing
from generator.frontend_c.source import Compilation


@dataclass(frozen=True, slots=True)
class Everyday:
    """Settings of the programs; see `experiments.studies.side_by_side.wanted.Setting`. `small`: use the tests'
    sizes.
    """

    small: bool = False

    suite: ClassVar[str] = "everyday"
    default_words: ClassVar[str] = "default plan"
    rival: ClassVar[str] = TILES
    rival_words: ClassVar[str] = "best tile size"
    rival_is_searched: ClassVar[bool] = True

    @property
    def title(self) -> str:
        """The setting in words: `everyday programs`."""
        return f"everyday programs{', small' if self.small else ''}"

    def file(self, program: str) -> Path:
        """See `Setting`."""
        return program_file(program)

    def entry_name(self, program: str) -> str:
        """Return the name of a program's entry, such as `matmul_flat-small`."""
        return f"{program}-small" if self.small else program

    def explorer_of(self, way: str) -> str:
        """See `Setting`."""
        return way

    def level_of(self, way: str) -> LevelName:
        """See `Setting`."""
        del way
        return "o2"

    def run_options(self, program: str, way: str, budget: Budget, seed: int, device: str | None) -> RunOptions:
        """See `Setting`."""
        tiles = way == TILES
        return RunOptions(
            str(self.file(program)),
            Compilation(defines=("SMALL",) if self.small else ()),
            Budget(iterations=1_000) if tiles else budget,
            explorer="exhaustive" if tiles else way,
            seed=seed,
            device=device,
            space="tiles" if tiles else "wide",
            level="o1" if tiles else self.level_of(way),
            timing=Timing(finalists=0),
        )


def parse_everyday(text: str) -> tuple[str, ...]:
    """Return the programs that the option --programs names, or all for `all`. Raises InputError for any other word."""
    return chosen(text, programs(), {"all": programs()})
