"""Pipelines of several outputs: `Pipeline([f, g])`, which a file's function may return as well as a list of Funcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.ignored import Scheduled
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

    def realize(self, sizes: Any = (), target: object = None) -> Any:
        """Compute all outputs with the interpreter, as in `Func.realize`. Return a list of Buffers, a Buffer for one
        value.

        Sizes are those of every output; Buffers are filled, in the order of outputs and their values.
        """
        from generator.frontend_py.realize import realize

        return realize(self._outputs, sizes)
