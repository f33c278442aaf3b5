"""Preprocess with the system's C compiler, so that macros and includes have their usual meaning.

Text of system headers is dropped (it has many extensions that a plain C parser cannot read); the typedef names that the
user's text mentions are replaced by simple typedefs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from generator.errors import InputError, Location
from generator.frontend_c.expansion import MARKER, expand, kept_expansion
from generator.frontend_c.marks import Marks
from generator.frontend_c.places import c_string, from_c
from generator.frontend_c.refused import DIAGNOSTIC, refuse_constructs, refuse_cplusplus
from generator.frontend_c.source import Compilation
from generator.scratch import scratch_folder

# Extensions of compilers without meaning for the model.
_EXTENSIONS = ("-D__attribute__(x)=", "-D__extension__=", "-D__restrict=", "-D__restrict__=", "-Drestrict=",
               "-D__inline=inline", "-D__inline__=inline", "-D__const=const", "-D__volatile__=volatile",
               "-D_Noreturn=", "-D__signed__=signed")
_STANDARD_TYPEDEFS = {"size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long", "int8_t": "signed char",
                      "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
                      "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
                      "bool": "_Bool"}
_TYPEDEF = re.compile(
    r"\btypedef\b[^;{]*?\b(\w+)\s*(?:\[[^\]]*\])*;|\btypedef\b[^;{]*?\(\s*\*\s*(\w+)\s*\)\s*\(|\}\s*(\w+)\s*;",
    re.DOTALL,
)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|^#[^\n]*|[{}]|[^\s{}"\']', re.MULTILINE)
_REDEFINED = re.compile(
    r"^(.+?):(\d+):(?:\d+:)? warning: [\"'](\w+)(?:\([^)]*\))?[\"'] (?:macro )?redefined", re.MULTILINE
)
_SCOP = re.compile(r"#\s*pragma\s+scop\b")
_SCOP_END = re.compile(r"#\s*pragma\s+endscop\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """`text` has line markers of the user's files; `includes` are those files except the main one (absolute).

    `overridden`: warnings about the user's definitions that the file overrides. `hidden`: the words of the function
    bodies that `text` leaves out, and "asm" if there is assembly anywhere.
    """

    text: str
    includes: tuple[str, ...]
    overridden: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()


def find_compiler() -> str:
    """Return the system's C compiler: `$CC`, else cc, gcc or clang. Raises InputError if there is none."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and (path := shutil.which(name)):
            return path
    raise InputError("no C compiler found (tried $CC, cc, gcc, clang); install gcc or set CC")


def preprocess(file: Path, compilation: Compilation, marks: Marks | None = None, whole: bool = False) -> Preprocessed:
    """Expand macros and includes of `file`, with pragmas at `marks`; `whole` also keeps functions without a SCoP.

    Raises:
        InputError: the file cannot be read or the preprocessor fails (a missing include: file:line).
    """
    if not file.is_file():
        raise InputError(f"no such file: {file}")
    refuse_cplusplus(file)
    if marks is None:
        result = kept_expansion(_expanding(compilation), file, compilation)
    else:
        with scratch_folder("antune-marked-") as folder:
            result = expand(_expanding(compilation, "-iquote", str(file.resolve().parent)),
                            _marked_copy(file, marks, folder))
    if result.status:
        raise _failure(result.said, file, compilation)
    return replace(_user_text(result.text, file, whole), overridden=tuple(_overridden(result.said, compilation)))


def macro_value(file: Path, compilation: Compilation, name: str) -> int | None:
    """Return the numeric value of the macro `name` at the end of `file`; None if it is not a number."""
    command = [find_compiler(), "-E", "-P", *compilation.flags, "-include", str(file.resolve()), "-x", "c", "-"]
    done = subprocess.run(command, input=f"{name}\n", capture_output=True, text=True, errors="replace", check=False)
    last = done.stdout.strip().rpartition("\n")[2]
    number = re.fullmatch(r"[\s(]*(\d+)[uUlL\s)]*", last)
    return int(number[1]) if number and not done.returncode else None


def _expanding(compilation: Compilation, *flags: str) -> tuple[str, ...]:
    return (find_compiler(), "-E", *flags, *compilation.flags, *_EXTENSIONS)


def _marked_copy(file: Path, marks: Marks, folder: Path) -> Path:
    """Return a copy with the pragmas, which identifies itself as `file`."""
    copy = folder / file.name
    text = marks.put(file.read_text(encoding="utf-8", errors="surrogateescape"))
    copy.write_text(f"#line 1 {c_string(str(file))}\n{text}", encoding="utf-8", errors="surrogateescape")
    return copy


def _failure(stderr: str, file: Path, compilation: Compilation) -> InputError:
    found = DIAGNOSTIC.search(stderr)
    if not found:
        return InputError(f"the preprocessor failed: {stderr.strip()[:500]}")
    place, message = Location(found[1], int(found[2])), found[3]
    missing = re.match(r"(.*?): No such file|'(.*?)' file not found", message)
    if not missing:
        return InputError(f"the preprocessor says: {message}", place)
    if (missing[1] or missing[2]) == "omp.h":
        return InputError(
            f"the preprocessor says: {message}; add --cflags -fopenmp (clang needs its OpenMP headers, too)", place
        )
    refuse_constructs(file, place)
    return InputError(f"the preprocessor says: {message}; add its directory with -I", place)


def _overridden(stderr: str, compilation: Compilation) -> Iterator[str]:
    """Yield warnings about `#define`s of the file that override a value of -D; a mere name stays defined."""
    given = dict(define.partition("=")[::2] for define in compilation.defines)
    told = set()
    for file, line, name in _REDEFINED.findall(stderr):
        if given.get(name) and name not in told:
            told.add(name)
            yield (f"{file}:{line}: `#define {name}` overrides -D {name}={given[name]}, which has no "
                   f"effect; put `#ifndef {name}` before it and `#endif` behind it")


def _user_text(expanded: str, file: Path, whole: bool) -> Preprocessed:
    kept: list[str] = []
    dropped: list[str] = []
    includes: dict[str, None] = {}
    system = False
    system_files: set[str] = set()
    for line in expanded.splitlines():
        marker = MARKER.match(line)
        if not marker:
            (dropped if system else kept).append(line)
            continue
        name, flags = from_c(marker.group(2)), marker.group(3).split()
        if "3" in flags and "1" in flags:  # entered; elsewhere 3 can mean "expanded from a system macro"
            system_files.add(name)
        system = name in system_files or name.startswith("<")
        if not system:
            kept.append(f'# {marker.group(1)} "{marker.group(2)}"')
            if Path(name).is_file() and Path(name).resolve() != file.resolve():
                includes[str(Path(name).resolve())] = None
    joined = "\n".join(kept) + "\n"
    joined = joined.replace("1.0iF", "_Complex_I")  # GCC's expansion of `I` of complex.h
    shown = joined if whole else blank_other_bodies(joined)
    text = without_assembly(shown)
    assembly = {"asm"} if without_assembly(joined) != joined else set()
    left_out = Counter(_WORD.findall(joined)) - Counter(_WORD.findall(shown))
    return Preprocessed(_stand_ins("\n".join(dropped), text) + text, tuple(includes),
                        hidden=frozenset(left_out) | assembly)


def _stand_ins(system: str, text: str) -> str:
    """Return typedefs for the system's type names that `text` uses (the exact type matters only for integers)."""
    used = set(re.findall(r"\b[A-Za-z_]\w*\b", text))
    names = {name for found in _TYPEDEF.findall(system) for name in found} & used
    return "".join(f"typedef {_STANDARD_TYPEDEFS.get(name, 'int')} {name};\n" for name in sorted(names))


def has_pragma(text: str) -> bool:
    """Return whether preprocessed text marks the beginning or end of a SCoP."""
    return bool(_SCOP.search(text) or _SCOP_END.search(text))


def blank_other_bodies(text: str) -> str:
    """Return the text with empty bodies of functions without a SCoP that no SCoP calls: their C may be unsupported.

    `int main(void) { asm("nop"); }` -> `int main(void) { }`; lines keep their numbers.
    """
    result: list[str] = []
    position = 0
    bodies = _function_bodies(text)
    called = _called_bodies(text, bodies)
    for start, end in bodies:
        body = text[start:end]
        result.append(text[position:start])
        result.append(body if _SCOP.search(body) or (start, end) in called else _blank(body))
        position = end
    result.append(text[position:])
    return "".join(result)


def _called_bodies(text: str, bodies: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the bodies of functions that a SCoP calls, directly or indirectly."""
    found: dict[str, tuple[int, int]] = {}
    position = 0
    for start, end in bodies:
        header = text[position:start].rpartition(";")[2]
        if name := _CALL.search(re.sub(r"^#.*$", "", header, flags=re.MULTILINE)):
            found[name.group(1)] = (start, end)
        position = end
    called: set[tuple[int, int]] = set()
    waiting = [_SCOP_END.split(text[start.end():], maxsplit=1)[0] for start in _SCOP.finditer(text)]
    while waiting:
        for name in set(_CALL.findall(waiting.pop())) & found.keys():
            if found[name] not in called:
                called.add(found[name])
                waiting.append(text[slice(*found[name])])
    return called


def _blank(body: str) -> str:
    lines = body.split("\n")
    return "{" + "\n".join(line if line.startswith("# ") else "" for line in lines) + "}"


def without_assembly(text: str) -> str:
    """Return the text with inline assembly, which is not C, replaced by a call that is refused only in a SCoP.

    `__asm__ volatile ("" : : : "memory");` -> `asm();`; lines keep their numbers.
    """
    result: list[str] = []
    position = 0
    for found in re.finditer(r"\b(?:__asm__|__asm|asm)\b\s*(?:(?:volatile|inline|goto)\b\s*)*\(", text):
        if found.start() < position:
            continue
        end, depth = found.end(), 1
        for token in _TOKEN.finditer(text, found.end()):
            depth += {"(": 1, ")": -1}.get(token.group(), 0)
            if depth == 0:
                end = token.end()
                break
        inside = text[found.start():end]
        result += [text[position:found.start()], "asm(", "\n" * inside.count("\n"), ")"]
        position = end
    return "".join([*result, text[position:]])


def _function_bodies(text: str) -> list[tuple[int, int]]:
    """Return half-open ranges of `{...}` at file level that follow a `)`, without initializers."""
    bodies: list[tuple[int, int]] = []
    depth, start, previous, assigned = 0, -1, "", False
    for found in _TOKEN.finditer(text):
        word = found.group()
        if word == "{":
            if depth == 0 and previous == ")" and not assigned:
                start = found.start()
            depth += 1
        elif word == "}":
            depth -= 1
            if depth == 0 and start >= 0:
                bodies.append((start, found.end()))
                start = -1
        elif depth == 0 and word in "=;":
            assigned = word == "="
        if not word.startswith("#"):
            previous = word
    return bodies
