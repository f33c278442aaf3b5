"""The instrumented copy: C text put in the place of `#pragma scop` and `#pragma endscop`.

    #pragma scop                 antune_capture_begin ... (dump the inputs)
    for (i ...) A[i] = ...   ->  again: restore; start clock; for (i ...) A[i] = ...
    #pragma endscop              stop clock; (dump the results); if (more) goto again;

The region is repeated by a backward `goto`, so that what it declares stays in scope. All inserted text stands on the
pragma's own line: every other line keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from generator.capture.lvalues import address_of, element_bytes, element_of, extent_list, is_real, pieces, start_of
from generator.errors import InputError, Location
from generator.frontend_c.places import c_string
from generator.frontend_c.source import ScopSource, Variable
from generator.program import ELEMENT_BYTES

OPENMP = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+omp\b")
# Each on one line, and without headers, because they come before the user's own feature-test macros.
PROTOTYPES = """\
extern int antune_capture_begin(void);
extern void antune_capture_size(int, unsigned long, unsigned long);
extern void antune_capture_parameter(const char *, long long);
extern void antune_capture_room(const char *, const void *, unsigned long);
extern void antune_capture_leave(void);
extern void antune_capture_array(int, const void *, unsigned long, int, const long long *, int, int,
                                 unsigned long, unsigned long);
extern void antune_capture_scalar(int, const void *, unsigned long, unsigned long, int);
extern int antune_capture_repeating(void);
extern void antune_capture_value(int, void *);
extern void antune_capture_start(void);
extern void antune_capture_stop(void);
extern int antune_capture_wanted(void);
extern void antune_capture_result(int, const void *);
extern void antune_capture_results(void);
extern int antune_capture_more(void);
extern double antune_harness_real(const char *);
extern long long antune_harness_integer(const char *);
extern void antune_harness_fill(const char *, void *, unsigned long, int, int, const long long *);
extern void *antune_harness_space(void);
extern void *antune_harness_array(const char *, unsigned long, int, int, const long long *);
extern long long antune_harness_parameter(const char *, long long, int);
"""


def instrumented(source: ScopSource, text: str, firsts: Mapping[str, int] | None) -> str:
    """Return `text` of the file with the SCoP instrumented.

    `firsts`: the first extent of each array of unknown size; None makes a probe, which ends at the SCoP's entry with
    the parameters.

    Raises:
        InputError: the pragmas are not on the lines that the front end saw (a SCoP in a header or macro).
    """
    entry, leave = _probe(source) if firsts is None else (_entry(source, firsts), _exit(source))
    lines = text.split("\n")
    entry += _held_back(lines, source)
    _replace(lines, source, source.first_line, "scop", entry)
    _replace(lines, source, source.last_line, "endscop", leave)
    return PROTOTYPES + f"#line 1 {c_string(source.file)}\n" + "\n".join(lines)


def read_text(file: Path) -> str:
    """Return the file's text. Bytes that are not UTF-8 survive a round trip through `write_text`; a byte order mark
    does not.
    """
    return file.read_text(encoding="utf-8-sig", errors="surrogateescape")


def scop_text(source: ScopSource) -> str:
    """Return the text of the SCoP's file, with pragmas if it has none."""
    text = read_text(Path(source.file))
    return source.marks.put(text) if source.marks else text


def write_text(file: Path, text: str) -> None:
    """The inverse of `read_text`."""
    file.write_text(text, encoding="utf-8", errors="surrogateescape")


def openmp_above(lines: list[str], source: ScopSource) -> int:
    """Return the index of the first OpenMP pragma right above the SCoP; that of `#pragma scop` if there is none."""
    first = found = source.first_line - 1
    while first > 0 and (
        not lines[first - 1].strip() or OPENMP.match(lines[first - 1]) or _continued(lines, first - 1)
    ):
        first -= 1
        found = first if OPENMP.match(lines[first]) else found
    return found


def _held_back(lines: list[str], source: ScopSource) -> str:
    """Remove OpenMP pragmas right above the SCoP from `lines`, and return them.

    They belong to the first loop of the SCoP, so they follow the inserted code.
    """
    last, first = source.first_line - 1, openmp_above(lines, source)
    found = [line for line in lines[first:last] if line.strip()]
    if not found:
        return ""
    lines[first:last] = [""] * (last - first)
    pragmas = "\n".join(found)
    return f"\n{pragmas}\n#line {source.first_line}\n"


def _continued(lines: list[str], number: int) -> bool:
    return number > 0 and lines[number - 1].rstrip().endswith("\\")


def _replace(lines: list[str], source: ScopSource, line: int, word: str, code: str) -> None:
    pattern = re.compile(rf'^[ \t]*#[ \t]*pragma[ \t]+{word}\b[^\r\n]*|_Pragma\s*\(\s*"\s*{word}\s*"\s*\)')
    found = pattern.search(lines[line - 1]) if line <= len(lines) else None
    if not found:
        raise InputError(f"`#pragma {word}` is not written on this line (it comes from a header or a macro), so the "
                         "program cannot be run around it; write the SCoP into the file itself",
                         Location(source.file, line))
    lines[line - 1] = lines[line - 1][:found.start()] + code + lines[line - 1][found.end():]


def _parameters(source: ScopSource) -> str:
    return "".join(f'antune_capture_parameter("{v.name}", (long long)({element_of(v)})); '
                   for v in source.variables if v.name in source.parameters)


def _probe(source: ScopSource) -> tuple[str, str]:
    rooms = "".join(_room(v) for v in source.variables if None in v.extents)
    return f"if (antune_capture_begin()) {{ {_sizes(source)}{_parameters(source)}{rooms}antune_capture_leave(); }}", ";"


def _sizes(source: ScopSource) -> str:
    """Compare the sizes of all elements with those that the front end understood."""
    return "".join(f"antune_capture_size({k}, {element_bytes(v)}, {ELEMENT_BYTES[v.type]}); "
                   for k, v in enumerate(source.variables))


def _room(variable: Variable) -> str:
    """Ask for the number of elements, or rows of known size, behind a pointer."""
    unit = "".join(f" * (unsigned long)({text})" for text in variable.extents[1:])
    within = variable.field is not None and not variable.field.pointer
    first = start_of(variable) if within else element_of(variable)
    size = f"sizeof({first})" + ("" if within else unit)
    return f'antune_capture_room("{variable.name}", (const void *)&{first}, {size}); '


def _entry(source: ScopSource, firsts: Mapping[str, int]) -> str:
    dumps = "".join(_dump(k, v, firsts.get(v.name)) for k, v in enumerate(source.variables))
    values = "".join(
        f"{{ {v.type} antune_copy; antune_capture_value({k}, &antune_copy); {element_of(v)} = antune_copy; }} "
        for k, v in _written_scalars(source))
    kept = "".join(f"__typeof__({name}) antune_entry_{name} = {name}; " for name in source.swapped)
    values += "".join(f"{name} = antune_entry_{name}; " for name in source.swapped)
    return (f"{kept}if (antune_capture_begin()) {{ {_sizes(source)}{_parameters(source)}{dumps}}} "
            f"antune_capture_again: ; "
            f"if (antune_capture_repeating()) {{ {values}}} antune_capture_start();")


def _exit(source: ScopSource) -> str:
    results = "".join(f"{{ {v.type} antune_copy = {element_of(v)}; antune_capture_result({k}, &antune_copy); }} "
                      for k, v in _written_scalars(source))
    return (f"antune_capture_stop(); if (antune_capture_wanted()) {{ {results}antune_capture_results(); }} "
            "if (antune_capture_more()) goto antune_capture_again;")


def _written_scalars(source: ScopSource) -> list[tuple[int, Variable]]:
    return [(k, v) for k, v in enumerate(source.variables) if v.written and not v.extents]


def _dump(k: int, variable: Variable, first: int | None) -> str:
    element, written = element_of(variable), int(variable.written)
    if not variable.extents:
        return (f"{{ {variable.type} antune_copy = {element}; antune_capture_scalar({k}, &antune_copy, "
                f"sizeof antune_copy, sizeof({element}), {written}); }} ")
    stride, piece = pieces(variable)
    return (f"antune_capture_array({k}, {address_of(variable)}, {element_bytes(variable)}, {len(variable.extents)}, "
            f"{extent_list(variable, first)}, {written}, {int(is_real(variable))}, {stride}, {piece}); ")
