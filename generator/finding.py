"""Choose the loops to tune in a C file without `#pragma scop`: those in which the program spends its time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from generator.capture.build import RunFailed
from generator.capture.execute import Tell
from generator.capture.watch import Watched, watch
from generator.frontend_c.detect import Nest, Nests, find_nests, has_own_pragma, nest_number, refuse_empty
from generator.frontend_c.source import Compilation
from generator.plain_text import shell_word
from generator.polyhedral.kit.parsed import set_of
from generator.polyhedral.kit.points import points

LITTLE = 0.1
"""Warn about a nest that takes a smaller share of the program's time: tuning it cannot speed up the program much."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen nest, the reason in words, and the profile of the program (None: it was not run)."""

    nest: Nest
    why: str
    watched: Watched | None = None


def choose_nest(file: Path, compilation: Compilation, function: str | None, scop: int | None,
                tell: Tell = lambda _: None) -> Choice | None:
    """Return the nest to tune in a file without pragmas; None if the file has pragmas, which mark it.

    Raises:
        InputError: no loops can be tuned, or nest `scop` does not exist.
    """
    if has_own_pragma(file, compilation):
        return None
    found = find_nests(file, compilation, function)
    refuse_empty(file, found, function)
    if scop is not None:
        return Choice(nest_number(file, found, scop), "as --scop says")
    return most_time(found, tell)


def most_time(found: Nests, tell: Tell = lambda _: None) -> Choice:
    """Return the nest in which one run of the program spends most time; the largest nest if the program cannot be run.
    """
    sources = [nest.source for nest in found.nests]
    if not sources[0].has_main and not sources[0].compilation.sources:
        return _largest(found, "the file has no `main` that could be timed")
    try:
        watched = watch(sources, tell)
    except RunFailed as error:
        return _largest(found, f"the program could not be timed: {error}")
    if not any(watched.entries):
        return _largest(found, "the program reaches none of them")
    number = max(range(len(sources)), key=lambda k: (watched.nests_s[k], watched.entries[k] > 0))
    return Choice(found.nests[number], f"{share(watched, number)} of the program's time", watched)


def share(watched: Watched, number: int) -> str:
    """Return the share of the program's time that a nest takes: `93 %`."""
    return f"{100 * watched.nests_s[number] / watched.program_s:.0f} %" if watched.program_s > 0 else "0 %"


def doubt(file: Path, choice: Choice) -> str:
    """Return a warning if the program spends little of its time in the chosen nest; else ""."""
    watched = choice.watched
    if watched is None or (seconds := watched.nests_s[choice.nest.number - 1]) >= LITTLE * watched.program_s:
        return ""
    rest = (watched.program_s - sum(watched.nests_s)) / watched.program_s
    return (
        f"The program's time is elsewhere: of {watched.program_s:.2g} s this nest takes {seconds:.2g} s, and "
        f"{100 * rest:.0f} % are outside of "
        f"all loops that can be tuned. A larger problem (--args, -D) may change that; `antune explain "
        f"{shell_word(file.name)} --find` says what stands in "
        "the way of other loops"
    )


def describe_choice(file: Path, choice: Choice) -> str:
    """Describe the chosen nest in one sentence, with a warning if it matters little."""
    source = choice.nest.source
    warning = doubt(file, choice)
    return (
        f"{file.name} has no #pragma scop: taking loop nest {choice.nest.number}, lines {source.first_line} to "
        f"{source.last_line} in {source.function} ({choice.why}); --scop N takes another, `antune explain "
        f"{shell_word(file.name)} --find` lists them{'. ' if warning else ''}{warning}"
    )


def _largest(found: Nests, why: str) -> Choice:
    """Return the deepest nest; among equals, the one with most iterations."""
    return Choice(max(found.nests, key=lambda nest: (nest.depth, _iterations(nest))), f"the largest; {why}")


def _iterations(nest: Nest) -> float:
    return sum(points(set_of(statement.domain)) for statement in nest.statements)
