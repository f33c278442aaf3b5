"""The options of a suite, checked before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, TypeAlias

from experiments.studies.side_by_side.everyday import Everyday
from experiments.studies.side_by_side.halide_peer import check_peers
from experiments.studies.side_by_side.names import words_of
from experiments.studies.side_by_side.pipelines import Pipelines
from experiments.studies.side_by_side.polybench import PolyBench
from experiments.values.options import Budget, RunOptions
from generator.errors import InputError

Setting: TypeAlias = PolyBench | Pipelines | Everyday
"""A set of programs with its fixed options. All settings have the following attributes.

`suite` is the name, `title` describes the setting; `file` and `entry_name` belong to a program. `default_words` is the
label of the default plan. `rival` is what searches have to beat besides it, with the label `rival_words`: the best plan
of its own search if `rival_is_searched`, else one plan (`Parts.inlined_plan`). `explorer_of` and `level_of` return the
explorer and the level of a way. `run_options` returns the options of one search, without a final, because the suite has
one for all searches.
"""

BEST = "best"
"""The way that is the best of all explorers."""
GPU_DEFAULT = "gpu-default"
"""The way that is the default plan of GPUs, on devices with another default plan."""
_SETTINGS: Mapping[str, type[Setting]] = MappingProxyType(
    {"polybench": PolyBench, "pipelines": Pipelines, "everyday": Everyday}
)


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The searches of a suite.

    Each of `explorers` (ways to search: names of explorers, for PolyBench optionally with a level, `colony@o1`) makes
    `evaluations` evaluations, or runs for `minutes` if that is less, with each of the seeds 0..seeds-1. `device` is as
    for a run. `peers` are other systems to compare the best plan with (`halide_peer.py`).
    """

    programs: tuple[str, ...]
    setting: Setting
    explorers: tuple[str, ...] = ("random", "colony")
    evaluations: int = 20
    minutes: float | None = None
    seeds: int = 1
    device: str | None = None
    peers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise InputError for invalid options."""
        if not self.programs or not self.explorers:
            raise InputError(f"the suite has nothing to do: name some {'explorers' if self.programs else 'programs'}")
        if self.setting.rival in self.explorers:
            raise InputError(f"{self.setting.rival_words} is always measured; leave `{self.setting.rival}` away")
        if self.seeds < 1:
            raise InputError(f"--seeds is {self.seeds}; use 1 or more")
        check_peers(self.peers)
        for name in self.programs:
            self.setting.file(name)
        for way in self.explorers:
            self.setting.level_of(way)

    @property
    def budget(self) -> Budget:
        """The budget of each search. Raises InputError for an invalid number."""
        return Budget(self.evaluations, minutes=self.minutes)

    def run_options(self, program: str, way: str, seed: int) -> RunOptions:
        """Return the options of one search."""
        return self.setting.run_options(program, way, self.budget, seed, self.device)


def guest_words(setting: Setting, way: str) -> str:
    """Return the label of a guest, a plan that no search has to find."""
    return setting.rival_words if way == setting.rival else way


def parse_explorers(text: str) -> tuple[str, ...]:
    """Return the explorers that an option lists, each once."""
    return words_of(text)


def setting_data(setting: Setting) -> dict[str, Any]:
    """Return a setting for a JSON file: its fields and the name of its suite."""
    return {"suite": setting.suite} | {field.name: getattr(setting, field.name) for field in fields(setting)}


def take_setting(data: dict[str, Any]) -> Setting:
    """Remove the fields of a setting from `data` and return the setting; without a suite name it is PolyBench's.

    Raises KeyError, TypeError, InputError.
    """
    kind = _SETTINGS[data.pop("suite", "polybench")]
    found: dict[str, Any] = {field.name: data.pop(field.name) for field in fields(kind)}
    found = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    return kind(**found)
