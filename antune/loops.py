"""Loops without `#pragma scop`: the choice of those to tune, and the list of all that can be tuned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from antune.parsing import Scoped

if TYPE_CHECKING:
    from generator.finding import Choice
    from generator.frontend_c.detect import Nest


def settle(scoped: Scoped) -> Scoped:
    """Return the same file with the number of the chosen loop nest, and print it; with pragmas it needs no number.

    Raises:
        InputError: no loops can be tuned.
    """
    from generator.finding import choose_nest, describe_choice

    if scoped.file.suffix in (".py", ".json"):
        return scoped
    choice = choose_nest(scoped.file, scoped.compilation, scoped.function, scoped.scop)
    if choice is None:
        return scoped
    print(describe_choice(scoped.file, choice))
    return replace(scoped, scop=choice.nest.number)


def found_lines(scoped: Scoped) -> Iterator[str]:
    """Yield the lines of `antune explain FILE --find`. Raises InputError if nothing can be tuned."""
    from generator.finding import doubt, most_time
    from generator.frontend_c.detect import find_nests, has_own_pragma, refuse_empty

    found = find_nests(scoped.file, scoped.compilation, scoped.function)
    refuse_empty(scoped.file, found, scoped.function)
    choice = most_time(found)
    for nest in found.nests:
        yield from _nest_lines(nest, choice)
    if found.left_out:
        yield ""
        yield "Left out:"
        yield from (f"  {left.reason}" for left in found.left_out)
    yield ""
    if has_own_pragma(scoped.file, scoped.compilation):
        yield "`#pragma scop` says which loops are tuned"
    else:
        yield f"`antune tune` takes {choice.nest.number} ({choice.why}); --scop N takes another"
        if warning := doubt(scoped.file, choice):
            yield f"{warning}."


def _nest_lines(nest: Nest, choice: Choice) -> Iterator[str]:
    from generator.finding import share

    source = nest.source
    time = f", {share(choice.watched, nest.number - 1)} of the program's time" if choice.watched else ""
    count = len(nest.statements)
    yield (
        f"{nest.number}: {source.function}, lines {source.first_line} to {source.last_line}: {_loops(nest.depth)}, "
        f"{count} "
        f"statement{'s' * (count > 1)}{time}"
    )
    for statement in nest.statements:
        yield (
            f"     line {statement.line}, in loops over {', '.join(statement.iterators) or '(none)'}: {statement.text}"
        )


def _loops(depth: int) -> str:
    return "one loop" if depth == 1 else f"{depth} loops in each other"
