"""The SCoP as a separate C function, with which an export compares itself when the tuned file may be gone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_generator

from generator.errors import InputError
from generator.frontend_c.detect import read_loops
from generator.frontend_c.source import Compilation, ScopSource, Variable
from generator.scratch import scratch_folder


def read_stored(text: str, file: Path, compilation: Compilation, function: str | None, scop: int | None) -> ScopSource:
    """Return the SCoP of a file from its stored `text`. `file`: locates its included files.

    Raises:
        InputError: included files are missing, or as `read_loops`.
    """
    with scratch_folder("antune-source-") as folder:
        copy = folder / file.name
        copy.write_text(text, encoding="utf-8", errors="surrogateescape")
        beside = replace(compilation, cflags=(*compilation.cflags, "-iquote", str(file.parent)))
        return replace(read_loops(copy, beside, function, scop), file=str(file))


def scop_lines(source: ScopSource, outside: Mapping[str, str]) -> list[str]:
    """Return the statements of the SCoP as lines of C, after declarations of their variables that `outside` does not
    declare.

    `outside` maps names of variables to their declarations; a name with an empty text is declared elsewhere.

    Raises:
        InputError: a variable's declaration is not known.
    """
    declared = {node.name: node for item in source.items for node in _declarations(item)}
    for variable in (*source.locals, *source.iterators):
        if variable.name in declared:
            _plain_type(declared[variable.name].type, variable)
    lines = [f"{text};" for text in outside.values() if text]
    lines += [f"{v.type} {v.name};" for v in source.iterators if v.name not in declared and v.name not in outside]
    known = {*outside, *declared, *(v.name for v in source.iterators)}
    unknown = sorted(v.name for v in source.variables if v.name not in known)
    if unknown:
        raise InputError(f"the declaration of `{unknown[0]}` is not known")
    writer = c_generator.CGenerator()
    for item in source.items:
        lines += str(writer._generate_stmt(item)).splitlines()
    return lines


def constant_extents(variable: Variable, values: Mapping[str, int]) -> tuple[str, ...] | None:
    """Return the extents of `variable` as constant expressions of C; None if one depends on more than `values`."""
    texts = [None if text is None else re.sub(r"[A-Za-z_]\w*", lambda m: str(values.get(m[0], m[0])), text)
             for text in variable.extents]
    known = tuple(text for text in texts if text is not None and not re.search(r"[A-Za-z_]", text))
    return known if len(known) == len(texts) else None


def _declarations(node: Any) -> Iterator[Any]:
    if isinstance(node, c_ast.Decl):
        yield node
    for _, child in node.children():
        yield from _declarations(child)


def _plain_type(node: Any, variable: Variable) -> None:
    """Replace the name of a typedef in a declaration (in place)."""
    while not isinstance(node, c_ast.TypeDecl):
        node = node.type
    if isinstance(node.type, c_ast.IdentifierType):
        node.type.names = variable.type.split()
