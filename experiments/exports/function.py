"""A plan of a run as a function in this process, with the parameters of the exported Python function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.memory import copied_in
from experiments.exports.signature import signature_of
from experiments.exports.told_apart import size_parameters
from generator.problem import as_declared
from generator.program import NUMPY_TYPES, Program
from generator.variant import Variant
from runners.backends import open_caller
from runners.base import DeviceInfo
from runners.calls import Code, Own, contract_of
from runners.function import TunedFunction
from runners.own_data import OwnData


def function_of(chosen: Chosen) -> TunedFunction:
    """Return the chosen plan as a function for the run's device.

    Raises:
        InputError: the plan has no code.
    """
    info, signature = chosen.info, signature_of(chosen)
    variant = variant_of(chosen, info.device.target.dialect)
    order = [parameter.name for parameter in signature.of_role("scalar", "array")]
    (told,) = size_parameters([chosen], [signature])
    sizes = [(parameter.name, parameter.value) for parameter in told]
    origin = (f"evaluation {chosen.result.evaluation.number} of {chosen.directory}, {chosen.tuned}")
    made = made_function(chosen.program, variant, info.device, chosen.name, order, sizes, origin, _own(chosen))
    return made if signature.in_order else made.by_name(signature.notes[0].partition(":")[0])


def made_function(program: Program, variant: Variant, device: DeviceInfo, name: str, order: Sequence[str],
                  sizes: Sequence[tuple[str, int]], origin: str, own: Mapping[str, Own] | None = None) -> TunedFunction:
    """Return `variant` as a function called `name`, with the program's arrays and scalars in `order`.

    Arrays and scalars that `order` lacks are added at its end. Scalars among the `sizes` have their values fixed. Calls
    may leave out the arrays of which it has its `own` data; they come last.
    """
    numbers = tuple((array.name, np.dtype(NUMPY_TYPES[array.type]).type(dict(sizes)[array.name]))
                    for array in program.arrays if array.by_value and array.name in dict(sizes))
    known = [array.name for array in program.passed if array.name not in dict(numbers)]
    complete = sorted(dict.fromkeys([*(name for name in order if name in known), *known]), key=(own or {}).__contains__)
    made = [array.name for array in program.outputs if not copied_in(program, array)
            and array.own_elements == array.elements and _used(variant, array.name)]
    contract = contract_of(program, name, complete, sizes, made)
    code = Code(program, variant, contract, device, numbers, own or {})
    return TunedFunction(code, partial(open_caller, code, device.target), origin)


def _own(chosen: Chosen) -> dict[str, Own]:
    """Return the constants of the program, which the run stores."""
    program, problem = chosen.program, chosen.problem
    if problem is None:
        return {}
    return {name: OwnData(name, as_declared(program.array(name), problem.reference.inputs[name]), "pass it")
            for name in program.constants if name in problem.reference.inputs}


def _used(variant: Variant, name: str) -> bool:
    return any(name in kernel.arrays for kernel in variant.kernels)
