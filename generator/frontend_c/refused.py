"""Error messages for files that the C front end cannot read; the C compiler's messages are preferred to the parser's.

In this order: the file is C++; the compiler refuses it, too (its first error is the message); our parser does not
support it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from generator.errors import InputError, Location
from generator.frontend_c.source import Compilation

DIAGNOSTIC = re.compile(r"^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
_AT_COLUMN = re.compile(r"^(.*?):(\d+):(\d+): (?:fatal )?error: ", re.MULTILINE)
_IN_MACRO = re.compile(r"^(.*?):(\d+):(\d+): note: in expansion of macro ", re.MULTILINE)
_LIMIT_S = 120.0
_SUFFIXES = frozenset((".cc", ".cpp", ".cxx", ".c++", ".C", ".hh", ".hpp", ".hxx", ".h++", ".H"))
_HEADERS = (
    "algorithm|array|chrono|cmath|complex|cstddef|cstdint|cstdio|cstdlib|cstring|functional|iomanip|iostream|limits|map|"
    "memory|numeric|random|set|span|string|utility|vector"
)
_CONSTRUCT = re.compile(
    rf"#\s*include\s*<(?:{_HEADERS})>|\bstd::|\btemplate\s*<|\busing\s+namespace\b|\bnamespace\s+\w+\s*\{{|"
    r"\bclass\s+\w+\s*[:{;]|^\s*(?:public|private)\s*:|\bextern\s+\"C\"|\b(?:constexpr|nullptr)\b|"
    r"\b(?:static|const|reinterpret)_cast\s*<|\w\s*=\s*new\s+\w|\w\s*&\s*\w+\s*\)\s*\{",
    re.MULTILINE,
)
_NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?!C\")(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_REMEDY = (
    'move the loops into a C file (a function that the C++ code declares `extern "C"`), tune that file, and link or '
    'call '
    "the rest with it"
)


def refuse_cplusplus(file: Path) -> None:
    """Raise InputError for a file whose name has a C++ suffix."""
    if file.suffix in _SUFFIXES:
        raise InputError(f"{file} is C++, which antune does not read; {_REMEDY}")


def refuse_constructs(file: Path, place: Location | None) -> None:
    """Raise InputError if an unreadable file, or the one of `place`, contains C++ constructs."""
    for suspect in dict.fromkeys((Path(place.file) if place else file, file)):
        for word, location in _constructs(suspect):
            raise InputError(f"`{word}` is C++, which antune does not read; {_REMEDY}", location)


def unreadable(file: Path, compilation: Compilation, compiler: str, what: str, place: Location | None) -> InputError:
    """Return the error for a `file` that our parser cannot read, with its complaint `what` at `place`.

    Raises:
        InputError: the file is C++.
    """
    refuse_constructs(file, place)
    said = _first_error(file, compilation, compiler)
    if said is not None:
        message, location = said
        return InputError(f"syntax error, the C compiler says: {message}", location)
    if name := _foreign_name(place):
        return InputError(f"the name `{name}` has letters that are not ASCII, which antune does not read; rename it",
                          place)
    return InputError(
        f"cannot parse this as C: {what}. The C compiler takes it, but antune's parser does not know it (an extension "
        "of the compiler?); write it in standard C, or move it to another file (--source)",
        place,
    )


def _constructs(file: Path) -> Iterator[tuple[str, Location]]:
    """Yield C++ constructs in a file, with their locations; comments and strings are ignored."""
    if file.suffix in _SUFFIXES:
        yield file.name, Location(str(file), 1)
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # a generated file: nothing to check
        return
    code = _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    guarded = re.sub(r"^[ \t]*#[ \t]*ifdef[ \t]+__cplusplus\b.*?^[ \t]*#[ \t]*(?:endif|else)\b",
                     lambda found: re.sub(r"[^\n]", " ", found[0]), code, flags=re.MULTILINE | re.DOTALL)
    for found in _CONSTRUCT.finditer(guarded):
        begin = found.start() + len(found[0]) - len(found[0].lstrip())
        yield " ".join(found[0].split()), Location(str(file), guarded.count("\n", 0, begin) + 1)


def _foreign_name(place: Location | None) -> str | None:
    """Return a name with letters outside ASCII in the line of `place`, if there is one."""
    if place is None:
        return None
    code = _NOT_CODE.sub(" ", _line(place))
    return next((name for name in re.findall(r"[^\W\d]\w*", code) if not name.isascii()), None)


def _line(place: Location) -> str:
    """Return the line of `place`; empty if it is not in a file."""
    try:
        lines = Path(place.file).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    return lines[place.line - 1] if place.line <= len(lines) else ""


def _first_error(file: Path, compilation: Compilation, compiler: str) -> tuple[str, Location] | None:
    """Return the compiler's first error about `file`, and its location; None if it accepts the file."""
    done = _run(compiler, "-fsyntax-only", "-w", "-fno-diagnostics-show-option", *compilation.flags, "-x", "c",
                str(file))
    found = DIAGNOSTIC.search(done.stderr) if done and done.returncode else None
    if done is None or found is None:
        return None
    following = DIAGNOSTIC.search(done.stderr, found.end())
    inside = _IN_MACRO.search(done.stderr, found.end(), following.start() if following else len(done.stderr))
    column = inside or _AT_COLUMN.match(done.stderr, found.start())
    place = Location(inside[1], int(inside[2])) if inside else Location(found[1], int(found[2]))
    return found[3] + (_macro_at(place, int(column[3]), file, compilation, compiler) if column else ""), place


def _macro_at(place: Location, column: int, file: Path, compilation: Compilation, compiler: str) -> str:
    """Return what to say if a macro stands at this column (from 1), else "". GCC expands tabs in columns, clang does
    not.
    """
    line = _line(place)
    words = {found[0] for text in (line.expandtabs(), line) if (found := re.match(r"[A-Za-z_]\w*", text[column - 1:]))}
    macros = _macros(compiler, *compilation.flags, "-x", "c", str(file))
    word = min(words & macros.keys(), default=None)
    if word is None:
        return ""
    own = word in _macros(compiler, *compilation.flags, "-x", "c", os.devnull)
    more = f", or undefine it with --cflags -U{word}" if own and not word.startswith("_") else ""
    return (f"; `{word}` is a macro{' of the compiler' if own else ''}, `{macros[word]}`: "
            f"a variable needs another name{more}")


def _macros(compiler: str, *arguments: str) -> dict[str, str]:
    """Return the macros without parameters at the end of a file, with their texts."""
    done = _run(compiler, "-E", "-dM", *arguments)
    return dict(re.findall(r"^#define (\w+) (.*)$", done.stdout, re.MULTILINE)) if done else {}


def _run(*command: str) -> subprocess.CompletedProcess[str] | None:
    """Return what the compiler says, in English; None if it takes too long."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=_LIMIT_S,
                              stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        return None
