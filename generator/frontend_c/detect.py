"""Loops without `#pragma scop`: the largest nests of a file that the front end accepts, as if pragmas were around them.

    for (i ...) u[i] = f(i);               1: both loops of this block
    for (i ...) v[i] = 0;
    while (error > tolerance) {            left out: `while` is not static control
        for (i ...) v[i] = u[i-1] + u[i+1];    2
        error = norm(u, v);
    }

Consecutive loops are one nest if they are accepted together and arrays keep their rows (`a[i * n + j]` cannot be
`a[i][j]` beside a loop over all `a[e]`).

A nest is accepted by reading it completely, with pragmas put around it and arbitrary sizes: so the result is the same
as if the user had written the pragmas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.marks import marks_of
from generator.frontend_c.parse import parse_text, read_scop
from generator.frontend_c.places import file_of, where
from generator.frontend_c.preprocess import has_pragma, preprocess
from generator.frontend_c.probing import static_control
from generator.frontend_c.source import Compilation, ScopSource
from generator.plain_text import shell_word
from generator.polyhedral.dependences.delinearize import rowless
from generator.program import Statement

_BETWEEN = (c_ast.Assignment, c_ast.UnaryOp, c_ast.EmptyStatement, c_ast.If, c_ast.Pragma)


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops that can be tuned. `number`: counts from 1 in the text. `statements`: with domains for arbitrary sizes."""

    number: int
    source: ScopSource
    statements: tuple[Statement, ...]

    @property
    def depth(self) -> int:
        """The number of loops around the innermost statement."""
        return max(len(statement.iterators) for statement in self.statements)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A loop that cannot be tuned as a whole, and the reason, with file and line."""

    function: str
    reason: str


@dataclass(frozen=True, slots=True)
class Nests:
    """The nests of a file, and the loops that are left out."""

    nests: tuple[Nest, ...]
    left_out: tuple[LeftOut, ...]


def has_own_pragma(file: Path, compilation: Compilation) -> bool:
    """Return whether a `#pragma scop` marks the loops. Raises InputError."""
    return has_pragma(preprocess(file, compilation, whole=True).text)


def find_nests(file: Path, compilation: Compilation, function: str | None = None) -> Nests:
    """Return the largest nests of a file without pragmas, or those of one function.

    Raises:
        InputError: the file cannot be read as C.
    """
    search = _Search(file, compilation)
    try:
        tree = parse_text(preprocess(file, compilation, whole=True).text, file, compilation)
        for node in tree.ext:
            own = isinstance(node, c_ast.FuncDef) and Path(file_of(node)) == file
            if own and function in (None, node.decl.name):
                search.function = node.decl.name
                search.block(node.body)
    except InputError as error:
        raise InputError(f"{error}; or put `#pragma scop` and `#pragma endscop` around the loops to tune: then the "
                         "rest of the file need not be understood") from None
    except RecursionError:
        raise InputError(f"{file}: an expression is nested too deeply; split it into several statements") from None
    found = tuple(Nest(k, source, statements) for k, (source, statements) in enumerate(search.found, 1))
    return Nests(found, tuple(search.left_out))


def read_loops(file: Path, compilation: Compilation, function: str | None, scop: int | None) -> ScopSource:
    """Return the SCoP between pragmas; in a file without them, nest number `scop`, or the only nest.

    Raises:
        InputError: as `read_scop`; no nest, or several and no choice.
    """
    if has_own_pragma(file, compilation):
        return read_scop(file, compilation, function, scop)
    found = find_nests(file, compilation, function)
    refuse_empty(file, found, function)
    if scop is None and len(found.nests) > 1:
        raise InputError(
            f"{file}: {len(found.nests)} loop nests can be tuned; choose one with --scop N, or put `#pragma scop` "
            "and `#pragma endscop` around it"
        )
    return nest_number(file, found, scop or 1).source


def nest_number(file: Path, found: Nests, number: int) -> Nest:
    """Return the nest of --scop. Raises InputError if there is none."""
    if not 1 <= number <= len(found.nests):
        raise InputError(f"{file}: there is no loop nest {number}; `antune explain {shell_word(file.name)} --find` "
                         f"lists the {len(found.nests)} that can be tuned")
    return found.nests[number - 1]


def refuse_empty(file: Path, found: Nests, function: str | None) -> None:
    """Raise InputError with the reasons if no nest was found."""
    if found.nests:
        return
    place = f" in {function}" if function else ""
    reasons = "".join(f"\n  {left.reason}" for left in found.left_out)
    raise InputError(f"{file}: no SCoP found{place}: there is no `#pragma scop`, and no loop that could be tuned"
                     f"{':' if reasons else ''}{reasons}")


@dataclass
class _Search:
    """Walks the blocks of a function; `found` and `left_out` are in text order."""

    file: Path
    compilation: Compilation
    function: str = ""
    found: list[tuple[ScopSource, tuple[Statement, ...]]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def block(self, block: Any) -> None:
        """Find sequences of siblings that are accepted together, and search inside refused statements."""
        first: Any = None
        for node in block.block_items or []:
            if isinstance(node, c_ast.For):
                first = self.loop(first, node)
            elif not isinstance(node, _BETWEEN) or _jumps(node):
                first = None
            if not isinstance(node, c_ast.For):
                self.inside(node)

    def loop(self, first: Any, node: Any) -> Any:
        """Take a loop, together with the previous ones from `first` on if they are accepted together.

        Return the first loop of the current sequence.
        """
        together = self.attempt(first, node) if first is not None else None
        alone = self.attempt(node, node)
        if isinstance(together, tuple) and (
            isinstance(alone, InputError) or not _loses_rows(self.found[-1], alone, together)
        ):
            self.found[-1] = together
            return first
        if not isinstance(alone, InputError):
            self.found.append(alone)
            return node
        self.leave_out(node, str(alone))
        self.inside(node.stmt)
        return None

    def inside(self, node: Any) -> None:
        """Search the blocks in a statement that is not accepted as a whole."""
        if isinstance(node, (c_ast.While, c_ast.DoWhile)):
            word = "while" if isinstance(node, c_ast.While) else "do"
            self.leave_out(
                node,
                f"`{word}` loop on `{to_c(node.cond)}`: how often it runs is not known before; only loops "
                "in it can be tuned",
            )
        for block in _blocks(node):
            self.block(block)

    def leave_out(self, node: Any, reason: str) -> None:
        """Record why a loop is not taken, once per function; reasons without a line get that of the loop."""
        place = where(node)
        named = str(self.file) in reason or place is None
        left = LeftOut(self.function, reason if named else f"{place}: {reason}")
        if left not in self.left_out:
            self.left_out.append(left)

    def attempt(self, first: Any, last: Any) -> tuple[ScopSource, tuple[Statement, ...]] | InputError:
        """Return the front end's result for the loops from `first` to `last`, or its refusal."""
        text = self.file.read_text(encoding="utf-8", errors="surrogateescape")
        own = all(Path(file_of(node)) == self.file for node in (first, last))
        marks = marks_of(text, first.coord.line, last.coord.line) if own else None
        if marks is None:
            return InputError(
                "this loop does not begin on a line of its own; put `#pragma scop` and `#pragma endscop` around it",
                where(first),
            )
        try:
            source = read_scop(self.file, self.compilation, None, None, marks)
            if source.function != self.function or any(isinstance(item, c_ast.Decl) for item in source.items):
                return InputError(
                    "where this loop ends cannot be seen in the text; put `#pragma scop` and `#pragma endscop` "
                    "around it",
                    where(first),
                )
            return source, static_control(source)
        except InputError as error:
            return error


_Taken: TypeAlias = tuple[ScopSource, tuple[Statement, ...]]


def _loses_rows(before: _Taken, alone: _Taken, together: _Taken) -> bool:
    """Return whether `a[i * n + j]` can be `a[i][j]` in one of two parts but not in both together.

    Example: beside a loop over all `a[e]`.
    """
    return bool(rowless(together[1]) - rowless(before[1]) - rowless(alone[1]))


def _blocks(node: Any) -> Iterator[Any]:
    """Yield the outermost blocks in a statement."""
    if isinstance(node, c_ast.Compound):
        yield node
        return
    for _, child in node.children() if node is not None else ():
        yield from _blocks(child)


def _jumps(node: Any) -> bool:
    """Return whether a statement between two loops has a call, a jump or a pragma for loops, which ends the sequence.
    """
    if isinstance(
        node, (c_ast.FuncCall, c_ast.Break, c_ast.Continue, c_ast.Return, c_ast.Goto, c_ast.While, c_ast.DoWhile)
    ):
        return True
    return any(_jumps(child) for _, child in node.children())
