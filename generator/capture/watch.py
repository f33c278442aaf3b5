"""Profile a program: one run of a copy with a timer around every loop nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.capture.build import RunFailed, Unit, compile_unit, link, linked_beside, system_compiler, user_flags
from generator.capture.execute import Tell, execute
from generator.capture.instrument import OPENMP, openmp_above, read_text, write_text
from generator.frontend_c.places import c_string
from generator.frontend_c.source import ScopSource
from generator.scratch import scratch_folder

_RUNTIME = Path(__file__).with_name("watch.c")
_PROTOTYPES = "extern void antune_watch_start(int);\nextern void antune_watch_stop(int);\n"


@dataclass(frozen=True, slots=True)
class Watched:
    """The seconds of the whole program and of each nest, and how often each nest was entered."""

    program_s: float
    nests_s: tuple[float, ...]
    entries: tuple[int, ...]


def watch(sources: Sequence[ScopSource], tell: Tell = lambda _: None) -> Watched:
    """Run the program of these nests once. They are of one file and have marks.

    Raises:
        RunFailed: it cannot be built, fails, or ends without leaving `main`.
    """
    source = sources[0]
    compiler, flags, invocation = system_compiler(), user_flags(source.compilation), source.compilation.invocation
    limit_s = invocation.limit_s
    with scratch_folder("antune-watch-") as directory:
        copy = directory / "watched.c"
        write_text(copy, watched_text(sources, read_text(Path(source.file))))
        defines = (f"-DWATCH_DIRECTORY={c_string(str(directory))}", f"-DWATCH_NESTS={len(sources)}")
        own = Unit(copy, ("-iquote", str(Path(source.file).resolve().parent)))
        objects = [compile_unit(compiler, own, flags, directory / "watched.o", limit_s),
                   compile_unit(compiler, Unit(_RUNTIME, defines), ("-O2",), directory / "watch.o", limit_s)]
        objects += linked_beside(compiler, source, flags, directory / "other", limit_s)
        program = link(compiler, objects, flags, directory / "program", limit_s)
        ended = execute(program, directory, directory, limit_s, invocation=invocation, tell=tell)
        log = directory / "watch.log"
        if not log.is_file():
            raise RunFailed(f"{ended.reason}{f' ({ended.output})' if ended.output else ''}")
        return _read(log.read_text(encoding="utf-8"))


def watched_text(sources: Sequence[ScopSource], text: str) -> str:
    """Return `text` with timers around the nests; all lines keep their numbers."""
    lines = text.split("\n")
    inserted: list[tuple[int, str]] = []
    for number, source in enumerate(sources):
        if source.marks is None:
            continue
        index = openmp_above(lines, source)
        line_start = sum(len(line) + 1 for line in lines[:index])
        directive = OPENMP.match(lines[index]) is not None  # it belongs to the loop: the timer starts before it
        start = f"antune_watch_start({number});"
        inserted.append(
            (line_start, f"{start}\n#line {index + 1}\n") if directive else (source.marks.start, f"{start} ")
        )
        inserted.append((source.marks.end, f" antune_watch_stop({number});"))
    for position, code in sorted(inserted, reverse=True):
        text = text[:position] + code + text[position:]
    return f"{_PROTOTYPES}#line 1 {c_string(sources[0].file)}\n{text}"


def _read(log: str) -> Watched:
    first, *rest = log.splitlines()
    rows = [line.split() for line in rest]
    return Watched(float(first), tuple(float(row[1]) for row in rows), tuple(int(row[2]) for row in rows))
