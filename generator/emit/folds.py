"""Values that a loop computes, as statements before their use.

    y[i] = fold(sum from y[i], k from row[i] while k < row[i + 1]: sum + val[k])

becomes

    double sum = y[i];
    for (int k = row[i]; k < row[i + 1]; ++k)
        sum = sum + val[k];
    y[i] = sum;
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from generator.emit.cstyle import Printer
from generator.emit.words import Words
from generator.expr import Expr, Fold, Name, Select, parts


def has_fold(value: Expr) -> bool:
    """Return whether a part of `value` needs a loop."""
    return any(isinstance(part, Fold) for part in parts(value))


@dataclass(frozen=True, slots=True)
class FoldWriter:
    """Writes folds in one language."""

    printer: Printer
    words: Words

    def lines(self, fold: Fold, depth: int) -> Iterator[str]:
        """Yield the declarations of the changing variables, with initial values, and the loop; put them in braces."""
        pad, text = "  " * depth, self.printer.text
        for variable, first, _ in fold.changes:
            yield from self._declare(variable, first, depth)
        name = fold.iterator.name
        step = {1: f"++{name}", -1: f"--{name}"}.get(fold.step, f"{name} += {fold.step}")
        yield (
            f"{pad}for ({self.words.type(fold.iterator.type)} {name} = {text(fold.start)}; {text(fold.condition)}; "
            f"{step}) {{"
        )
        for variable, value in fold.lets:
            yield from self._declare(variable, value, depth + 1)
        yield from self._change(fold, depth + 1)
        yield f"{pad}}}"

    def _change(self, fold: Fold, depth: int) -> Iterator[str]:
        """Give all variables their next values, computed from the old values of the others."""
        if len(fold.changes) == 1:
            ((total, _, following),) = fold.changes
            yield from self._store(total, following, depth)
            return
        later = [Name(f"{variable.name}_next", variable.type) for variable, _, _ in fold.changes]
        for name, (_, _, following) in zip(later, fold.changes, strict=True):
            yield from self._declare(name, following, depth)
        for name, (variable, _, _) in zip(later, fold.changes, strict=True):
            yield from self._store(variable, name, depth)

    def _declare(self, variable: Name, value: Expr, depth: int) -> Iterator[str]:
        pad, declared = "  " * depth, f"{self.words.type(variable.type)} {variable.name}"
        if has_fold(value):
            yield f"{pad}{declared};"
            yield from self._store(variable, value, depth)
        else:
            yield f"{pad}{declared} = {self.printer.text(value)};"

    def _store(self, target: Name, value: Expr, depth: int) -> Iterator[str]:
        """Yield `target = value;`, in as many statements as needed."""
        pad = "  " * depth
        match value:
            case Fold():
                yield f"{pad}{{"
                yield from self.lines(value, depth + 1)
                yield f"{pad}  {target.name} = {value.total.name};"
                yield f"{pad}}}"
            case Select(condition, then, otherwise) if has_fold(value):
                yield f"{pad}if ({self.printer.text(condition)}) {{"
                yield from self._store(target, then, depth + 1)
                if otherwise != target:
                    yield f"{pad}}} else {{"
                    yield from self._store(target, otherwise, depth + 1)
                yield f"{pad}}}"
            case _ if value != target:
                yield f"{pad}{target.name} = {self.printer.text(value)};"
            case _:  # unchanged
                return
