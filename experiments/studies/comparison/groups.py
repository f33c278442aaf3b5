"""Sort runs into sections that may be compared, and groups of equal options.

A *section* contains runs of the same program with the same sizes, on the same device model with the same driver, timed
in the same way; also runs of the same device through several platforms, such as CUDA and OpenCL, if each has one
driver. A *group* of a section contains runs that differ only in their seeds and budgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import TypeAlias

from experiments.studies.comparison.trials import Trial
from experiments.values.options import COMPILE_LIMIT_S, RUN_LIMIT_S, Budget, RunOptions, Timing
from generator.frontend_c.source import Compilation
from runners.many import model_key

_Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that differ in their seeds; `label` names the options in which the group differs from others."""

    label: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Runs that may be compared: `program` with its sizes on `device`."""

    program: str
    device: str
    driver: str
    cache: str
    groups: tuple[Group, ...]

    @property
    def title(self) -> str:
        """The section in words: `kernel_gemm (-D SMALL_DATASET) on Device, driver 1.2`."""
        cold = ", cold caches" if self.cache == "cold" else ""
        return f"{self.program} on {self.device}, driver {self.driver}{cold}"


def sections_of(trials: Sequence[Trial]) -> tuple[Section, ...]:
    """Return the sections, by program and device, with their groups by explorer."""
    ordered = sorted(trials, key=lambda trial: (_section_key(trial), trial.info.options.seed, str(trial.directory)))
    found: dict[_Key, list[list[Trial]]] = {}
    for _, members in groupby(ordered, key=_section_key):
        same = list(members)
        found.setdefault(_hardware_key(same[0]), []).append(same)
    return tuple(_section(trials) for several in found.values() for trials in _joined(several))


def _joined(several: list[list[Trial]]) -> list[list[Trial]]:
    """Join runs of a program on the same hardware, grouped by platform and driver, if no platform has two drivers."""
    platforms = {trials[0].info.device.platform for trials in several}
    if len(platforms) < len(several):
        return several
    return [[trial for trials in several for trial in trials]]


def repeated_seeds(group: Group) -> list[int]:
    """Return the seeds that several runs of the group have in common; such runs make the same walks."""
    counts = Counter(trial.info.options.seed for trial in group.trials)
    return sorted(seed for seed, count in counts.items() if count > 1)


def _section_key(trial: Trial) -> _Key:
    info = trial.info
    return (
        info.program.name,
        info.program.digest,
        model_key(info.device.key),
        info.device.driver,
        info.options.timing.cache,
    )


def _hardware_key(trial: Trial) -> _Key:
    """Return a key that is equal for two platforms of one device, because both report the vendor's name for it."""
    info = trial.info
    return info.program.name, info.program.digest, info.device.name.strip().casefold(), info.options.timing.cache


def _section(trials: list[Trial]) -> Section:
    platforms = list(dict.fromkeys(trial.info.device.platform for trial in trials))
    found: dict[tuple[RunOptions, str], list[Trial]] = {}
    for trial in trials:
        found.setdefault((_recipe(trial.info.options), trial.info.device.platform), []).append(trial)
    plain = _labels([recipe for recipe, _ in found])
    labels = [f"{label}, {platform}" if len(platforms) > 1 else label
              for label, (_, platform) in zip(plain, found, strict=True)]
    groups = [Group(label, tuple(members)) for label, members in zip(labels, found.values(), strict=True)]
    first = trials[0]
    return Section(
        _program_words(first),
        first.info.device.name,
        " and ".join(dict.fromkeys(trial.info.device.driver for trial in trials)),
        first.info.options.timing.cache,
        tuple(sorted(groups, key=lambda group: group.label)),
    )


def _program_words(trial: Trial) -> str:
    options = trial.info.options
    sizes = [f"-D {define}" for define in options.compilation.defines] + [f"{n}={v}" for n, v in options.parameters]
    return trial.info.program.name + (f" ({' '.join(sizes)})" if sizes else "")


def _recipe(options: RunOptions) -> RunOptions:
    """Return the options without those that do not define groups: the program, the device, the seed, the budget."""
    return replace(
        options,
        file="",
        compilation=Compilation(),
        budget=Budget(evaluations=1),
        function=None,
        scop=None,
        parameters=(),
        seed=0,
        device=None,
        more_devices=(),
        cluster=None,
        reuse=(),
        compile_limit_s=COMPILE_LIMIT_S,
        run_limit_s=RUN_LIMIT_S,
        memory_limit_gb=None,
        timing=Timing(
            cache=options.timing.cache, precision=options.timing.precision, max_repeats=options.timing.max_repeats
        ),
    )


def _labels(recipes: Sequence[RunOptions]) -> list[str]:
    """Return the explorers' names with the other options in which the recipes differ."""
    differing = [f.name for f in fields(RunOptions) if f.name != "explorer"
                 and len({getattr(recipe, f.name) for recipe in recipes}) > 1]
    return [" ".join([recipe.explorer, *(_option_words(name, getattr(recipe, name)) for name in differing)])
            for recipe in recipes]


def _option_words(name: str, value: object) -> str:
    if isinstance(value, Timing):
        return f"precision={value.precision:g} max-repeats={value.max_repeats}"
    return f"{name.replace('_', '-')}={str(value).lower()}"
