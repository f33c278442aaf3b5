"""Image pipelines as a suite: their sizes, and how one is searched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from experiments.studies.side_by_side.names import chosen
from experiments.suites.image_pipelines import PIPELINES, SIZES, SizeName, pipeline
from experiments.values.options import USUAL_MODELS, Budget, RunOptions, Timing
from generator.errors import InputError
from generator.frontend_c.source import Compilation

INLINED = "inlined"
"""The plan that inlines as many stages as possible, in kernels with the default plan's tiles."""


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Settings of the pipelines; see `experiments.studies.side_by_side.wanted.Setting`.

    `size` is a name of SIZES. The default plan computes every stage in its own kernel (all root); the rival inlines as
    many stages as possible.
    """

    size: SizeName = "medium"

    suite: ClassVar[str] = "pipelines"
    default_words: ClassVar[str] = "all-root plan"
    rival: ClassVar[str] = INLINED
    rival_words: ClassVar[str] = "all inlined"
    rival_is_searched: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise InputError for an unknown size."""
        if self.size not in SIZES:
            raise InputError(f"there is no size {self.size!r}; use one of {', '.join(SIZES)}")

    @property
    def title(self) -> str:
        """The setting in words: `pipelines of medium size`."""
        return f"pipelines of {self.size} size"

    def file(self, program: str) -> Path:
        """See `Setting`."""
        return pipeline(program).file

    def entry_name(self, program: str) -> str:
        """Return the name of a program's entry, such as `blur-small`."""
        return f"{program}-{self.size}"

    def explorer_of(self, way: str) -> str:
        """See `Setting`."""
        return way

    def level_of(self, way: str) -> str:
        """See `Setting`: the space of stages has none."""
        del way
        return ""

    def run_options(self, program: str, way: str, budget: Budget, seed: int, device: str | None) -> RunOptions:
        """See `Setting`."""
        return RunOptions(
            str(self.file(program)),
            Compilation(),
            budget,
            parameters=pipeline(program).parameters_at(self.size),
            explorer=way,
            seed=seed,
            device=device,
            space="pipeline",
            models=(USUAL_MODELS,),
            timing=Timing(finalists=0),
        )


def names() -> tuple[str, ...]:
    """Return the names of the programs, in the suite's order."""
    return tuple(program.name for program in PIPELINES)


def parse_pipelines(text: str, option: str = "--programs") -> tuple[str, ...]:
    """Return the programs that `option` names, or all for `all`. Raises InputError for any other word."""
    return chosen(text, names(), {"all": names()}, option)
