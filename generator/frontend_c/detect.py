"""Loops without `#pragma scop`: the largest nests of a file that the front end accepts, as if pragmas stood around
them.

    for (i ...) u[i] = f(i);                 1: both loops of this block
    for (i ...) v[i] = 0;
    while (error > tolerance) {              left out: `while` is not static control
      for (i ...) v[i] = u[i-1] + u[i+1];    2
      error = norm(u, v);
    }

Loops that follow each other are one nest where they are accepted together and arrays keep their rows (`a[i * n + j]` is
no `a[i][j]` beside a loop over all `a[e]`).

A nest is accepted by reading it whole, pragmas put around it, with sizes that stand for any: what is accepted and what
is not cannot differ from what a person who writes the pragmas sees.
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
from generator.frontend_c.places import where
from generator.frontend_c.preprocess import has_pragma, preprocess
from generator.frontend_c.probing import static_control
from generator.frontend_c.source import Compilation, ScopSource
from generator.polyhedral.dependences.delinearize import rowless
from generator.program import Statement

_BETWEEN = (c_ast.Assignment, c_ast.UnaryOp, c_ast.EmptyStatement, c_ast.If, c_ast.Pragma)


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops that can be tuned: `number` counts from 1 in the text; `statements` have domains for sizes that stand
    for any.
    """

    number: int
    source: ScopSource
    statements: tuple[Statement, ...]

    @property
    def depth(self) -> int:
        """How many loops are around the innermost statement."""
        return max(len(statement.iterators) for statement in self.statements)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A loop that cannot be tuned as a whole, and why, with file and line."""

    function: str
    reason: str


@dataclass(frozen=True, slots=True)
class Nests:
    """What a file holds."""

    nests: tuple[Nest, ...]
    left_out: tuple[LeftOut, ...]


def has_own_pragma(file: Path, compilation: Compilation) -> bool:
    """Whether a `#pragma scop` says which loops are meant. Raises InputError."""
    return has_pragma(preprocess(file, compilation, whole=True).text)


def find_nests(file: Path, compilation: Compilation, function: str | None = None) -> Nests:
    """The largest nests of a file without pragmas, those of one function where it is named.

    Raises:
        InputError: the file cannot be read as C.
    """
    search = _Search(file, compilation)
    try:
        tree = parse_text(preprocess(file, compilation, whole=True).text, file, compilation)
        for node in tree.ext:
            own = isinstance(node, c_ast.FuncDef) and Path(node.coord.file) == file
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
    """The SCoP between pragmas; in a file without them the nest number `scop`, or its only one.

    Raises:
        InputError: whatever `read_scop` refuses; no nest, or several and no choice.
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
    """The nest that --scop names. Raises InputError where there is none."""
    if not 1 <= number <= len(found.nests):
        raise InputError(f"{file}: there is no loop nest {number}; `antune explain {file.name} --find` lists the "
                         f"{len(found.nests)} that can be tuned")
    return found.nests[number - 1]


def refuse_empty(file: Path, found: Nests, function: str | None) -> None:
    """Raise InputError where nothing was found; it says what stands in the way."""
    if found.nests:
        return
    place = f" in {function}" if function else ""
    reasons = "".join(f"\n  {left.reason}" for left in found.left_out)
    raise InputError(f"{file}: no SCoP found{place}: there is no `#pragma scop`, and no loop that could be tuned"
                     f"{':' if reasons else ''}{reasons}")


@dataclass
class _Search:
    """Walks the blocks of a function; `found` and `left_out` grow in text order."""

    file: Path
    compilation: Compilation
    function: str = ""
    found: list[tuple[ScopSource, tuple[Statement, ...]]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def block(self, block: Any) -> None:
        """Sequences of siblings that are accepted together; what is refused is searched inside."""
        first: Any = None
        for node in block.block_items or []:
            if isinstance(node, c_ast.For):
                first = self.loop(first, node)
            elif not isinstance(node, _BETWEEN) or _jumps(node):
                first = None
            if not isinstance(node, c_ast.For):
                self.inside(node)

    def loop(self, first: Any, node: Any) -> Any:
        """Take a loop, with those before it from `first` on where they are accepted together; where the
        sequence begins now.
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
        """The blocks in a statement that is not accepted as a whole."""
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
        """Keep why a loop is not taken, once for all loops of a function; reasons that name no line get the loop's."""
        place = where(node)
        named = str(self.file) in reason or place is None
        left = LeftOut(self.function, reason if named else f"{place}: {reason}")
        if left not in self.left_out:
            self.left_out.append(left)

    def attempt(self, first: Any, last: Any) -> tuple[ScopSource, tuple[Statement, ...]] | InputError:
        """What the front end makes of the loops from `first` to `last`, or why it refuses them."""
        text = self.file.read_text(encoding="utf-8", errors="surrogateescape")
        own = Path(first.coord.file) == self.file and Path(last.coord.file) == self.file
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
    """Whether `a[i * n + j]` could be `a[i][j]` in one of two parts, but not in both together, as beside a loop
    over all of `a[e]`.
    """
    return bool(rowless(together[1]) - rowless(before[1]) - rowless(alone[1]))


def _blocks(node: Any) -> Iterator[Any]:
    """The outermost blocks in a statement."""
    if isinstance(node, c_ast.Compound):
        yield node
        return
    for _, child in node.children() if node is not None else ():
        yield from _blocks(child)


def _jumps(node: Any) -> bool:
    """Whether a statement between two loops calls something, jumps or says which loops are meant: sequences end
    there.
    """
    if isinstance(
        node, (c_ast.FuncCall, c_ast.Break, c_ast.Continue, c_ast.Return, c_ast.Goto, c_ast.While, c_ast.DoWhile)
    ):
        return True
    return any(_jumps(child) for _, child in node.children())
