"""A recording as explorers meet it: a space, and a runner that knows the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from generator.errors import InputError
from generator.templates.t1_space import Description
from graph.recorded import RecordedSpace
from graph.space import Space
from graph.template import TemplateSpace
from metrics.outcome import cost_ms
from runners.replay.reading import read_recording
from runners.replay.recording import Recording
from runners.replay.runner import ReplayRunner
from runners.replay.t1 import read_t1


@dataclass(frozen=True, slots=True)
class Source:
    """Where an arena comes from: a recorded file, the name it goes by, and the T1 file of its restrictions if given."""

    file: Path
    name: str
    t1: Path | None = None


@dataclass(frozen=True, slots=True)
class Arena:
    """A recording, the space of its walks and the runner that serves them. `description`: of the T1 file if given."""

    name: str
    recording: Recording
    space: Space
    runner: ReplayRunner
    description: Description | None

    @property
    def valid_ms(self) -> list[float]:
        """The times of all valid configurations."""
        return [ms for row in self.recording.rows if (ms := cost_ms(row.outcome)) is not None]


@lru_cache(maxsize=2)
def open_arena(source: Source) -> Arena:
    """The arena of a source; a worker that gets several jobs on one reads it once.

    Its space is the T1 file's where one is given, else the trie of the recorded configurations.

    Raises:
        InputError: a file is bad, or the T1 file describes other parameters.
    """
    recording = read_recording(source.file)
    runner = ReplayRunner(recording)
    if source.t1 is None:
        walks = ((row.choices, plan) for row, plan in zip(recording.rows, recording.plans, strict=True))
        space: Space = RecordedSpace(walks, sample=not recording.fixed)
        return Arena(source.name, recording, space, runner, None)
    description = read_t1(source.t1)
    return Arena(source.name, recording, TemplateSpace(description.parameters, description.restrictions), runner,
                 description)


def find_sources(files: Sequence[Path], t1s: Sequence[Path]) -> tuple[list[Source], list[str]]:
    """A source per file with its T1 file, the one with the same parameters; notes about the files.

    Raises:
        InputError: a file is bad, or a T1 file describes the parameters of none.
    """
    described = [(path, frozenset(parameter.name for parameter in read_t1(path).parameters)) for path in t1s]
    sources: list[Source] = []
    notes: list[str] = []
    used: set[Path | None] = set()
    for file, name in zip(files, _names(files), strict=True):
        recording = read_recording(file)
        notes += recording.notes
        parameters = frozenset(name for name, _, _ in recording.rows[0].choices) if recording.fixed else frozenset()
        t1 = next((path for path, names in described if names == parameters), None)
        used.add(t1)
        sources.append(Source(file, name, t1))
    if idle := [path for path in t1s if path not in used]:
        raise InputError(
            f"--t1 {idle[0]} has other parameters than each of the recorded files; give one that describes "
            "a file's parameters"
        )
    return sources, notes


def _names(files: Sequence[Path]) -> list[str]:
    """The files' names without their endings; with their directory where that is not enough, as in the public hub."""
    short = [file.name.removesuffix(".gz").removesuffix(".json") for file in files]
    longer = [f"{file.absolute().parent.name}/{name}" if short.count(name) > 1 else name
              for file, name in zip(files, short, strict=True)]
    return [f"{name} ({longer[:number].count(name) + 1})" if longer.count(name) > 1 else name
            for number, name in enumerate(longer)]
