"""Pipelines of several outputs: `Pipeline([f, g])`, which a file's function may return as well as a list of Funcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.ignored import Scheduled
from generator.frontend_py.nodes import Call, Pixel, RVar, Var, as_expr, parts
from generator.frontend_py.prepared import Note
from generator.frontend_py.where import here


class Pipeline(Scheduled):
    """Funcs that are wanted together; they may have different sizes and types."""

    def __init__(self, outputs: Func | Sequence[Func]) -> None:
        found = [outputs] if isinstance(outputs, Func) else list(outputs)
        if not found or not all(isinstance(f, Func) for f in found):
            raise InputError("Pipeline needs an output Func, or a list of them", here())
        if len({id(f) for f in found}) < len(found):
            raise InputError(f"Pipeline has the output `{found[0].title}` twice", here())
        self._outputs = tuple(found)

    def outputs(self) -> list[Func]:
        """Return the outputs in the given order."""
        return list(self._outputs)

    def defined(self) -> bool:
        """Return whether all outputs have definitions."""
        return all(output.defined() for output in self._outputs)

    def add_requirement(self, condition: Any, *message: Any) -> None:
        """Require `condition`, which depends on Params and sizes of inputs; if it does not hold, the interpreter stops
        with the message.
        """
        test = as_expr(condition)
        if not test.type.is_bool() or any(isinstance(node, Var | RVar | Call | Pixel) for node in parts(test)):
            raise InputError("a requirement is a condition on Params and the sizes of inputs", here())
        words = tuple((word or " ") if isinstance(word, str) else as_expr(word) for word in message)
        self._outputs[0].require(Note(True, test, words, here()))

    def realize(self, sizes: Any = (), target: object = None) -> Any:
        """Compute all outputs with the interpreter, as in `Func.realize`. Return a list of Buffers, a Buffer for one
        value.

        Sizes are those of every output; Buffers are filled, in the order of outputs and their values.
        """
        from generator.frontend_py.realize import realize

        return realize(self._outputs, sizes)
