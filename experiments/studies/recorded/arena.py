"""A recording as a space and a runner that replays its outcomes."""

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
    """The files of an arena: the recording with its name, and the T1 file of its restrictions, if given."""

    file: Path
    name: str
    t1: Path | None = None


@dataclass(frozen=True, slots=True)
class Arena:
    """A recording with the space of its walks and the runner that replays it. `description`: the T1 file, if given."""

    name: str
    recording: Recording
    space: Space
    runner: ReplayRunner
    description: Description | None

    @property
    def valid_ms(self) -> list[float]:
        """Return the times of all valid configurations in milliseconds."""
        return [ms for row in self.recording.rows if (ms := cost_ms(row.outcome)) is not None]


@lru_cache(maxsize=2)
def open_arena(source: Source) -> Arena:
    """Return the arena of a source; it is cached, so that a worker with several jobs reads it once.

    The space is that of the T1 file if given, else the trie of the recorded configurations.

    Raises:
        InputError: a file is invalid, or the T1 file describes other parameters.
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
    """Return a source per file with the T1 file of the same parameters, and notes on the files.

    Raises:
        InputError: a file is invalid, or no file has the parameters of a T1 file.
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
    """Return the files' names without suffixes, with their directory if names are equal, as in the public hub."""
    short = [file.name.removesuffix(".gz").removesuffix(".json") for file in files]
    longer = [f"{file.absolute().parent.name}/{name}" if short.count(name) > 1 else name
              for file, name in zip(files, short, strict=True)]
    return [f"{name} ({longer[:number].count(name) + 1})" if longer.count(name) > 1 else name
            for number, name in enumerate(longer)]
