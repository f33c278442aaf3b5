"""Values that a loop computes, as statements before the one that uses them.

    y[i] = fold(sum from y[i], k from row[i] while k < row[i + 1]: sum + val[k])  ->  double sum = y[i];
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
    """Whether loops have to compute a part of `value`."""
    return any(isinstance(part, Fold) for part in parts(value))


@dataclass(frozen=True, slots=True)
class FoldWriter:
    """Writes folds in one language."""

    printer: Printer
    words: Words

    def lines(self, fold: Fold, depth: int) -> Iterator[str]:
        """The declaration of the total with its first value, and the loop; they want braces of their own."""
        pad, total, text = "  " * depth, fold.total, self.printer.text
        yield from self._declare(total, fold.first, depth)
        name = fold.iterator.name
        step = {1: f"++{name}", -1: f"--{name}"}.get(fold.step, f"{name} += {fold.step}")
        yield f"{pad}for ({self.words.type(fold.iterator.type)} {name} = {text(fold.start)}; {text(fold.condition)}; {step}) {{"
        for variable, value in fold.lets:
            yield from self._declare(variable, value, depth + 1)
        yield from self._store(total, fold.next, depth + 1)
        yield f"{pad}}}"

    def _declare(self, variable: Name, value: Expr, depth: int) -> Iterator[str]:
        pad, declared = "  " * depth, f"{self.words.type(variable.type)} {variable.name}"
        if has_fold(value):
            yield f"{pad}{declared};"
            yield from self._store(variable, value, depth)
        else:
            yield f"{pad}{declared} = {self.printer.text(value)};"

    def _store(self, target: Name, value: Expr, depth: int) -> Iterator[str]:
        """`target = value;`, in as many statements as it takes."""
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
            case _:  # it keeps its value
                return
