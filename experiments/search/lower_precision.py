"""Products in a lower precision, which a run allows by --precision-of-products: where they make sense, and what they
mean for results, in words. isl is loaded where a program is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.values.options import RunOptions
from generator.errors import IllegalPlan, InputError
from generator.plan import Plan
from generator.precision import LEAST_CAPABILITY, product_tolerance
from generator.problem import Subject
from generator.program import Program
from generator.target import Target

FLAG = "--precision-of-products"
_SPACES = ("wide", "paper", "pipeline")
_MOST = 3
"""Reasons that are told."""


def searched(target: Target, options: RunOptions) -> Target:
    """The device as the search of a run sees it."""
    return replace(target, products=options.products) if options.products != "full" else target


def check_products(subject: Subject, target: Target, options: RunOptions) -> None:
    """Raise InputError where a run wants products that its device, its space or another option rules out."""
    if options.products == "full":
        return
    asked = f"{FLAG} {options.products}"
    if not isinstance(subject, Program) or options.space not in _SPACES:
        raise InputError(f"{asked}: in the space `{options.space}` nothing decides how products are computed; use "
                         f"--space {' or '.join(_SPACES)}, or leave the option out")
    if options.strict_float:
        raise InputError(f"{asked}: tensor cores add up in an order of their own, which --strict-float forbids; leave "
                         "one of them out")
    if not target.multiplies(options.products):
        least = ".".join(map(str, LEAST_CAPABILITY[options.products]))
        raise InputError(f"{asked}: {target.name} cannot do that; it takes the tensor cores of an NVIDIA GPU of "
                         f"compute capability {least} or more, by CUDA (--device cuda; OpenCL and HIP have no way to "
                         "them); leave the option out")


def _check_compiler(target: Target, options: RunOptions) -> None:
    """Raise InputError where this machine cannot compile for tensor cores. On a cluster others compile."""
    if options.cluster is None:
        from runners.backends import check_tensor_cores

        try:
            check_tensor_cores(target.dialect)
        except InputError as missing:
            raise InputError(f"{FLAG} {options.products}: {missing}") from None


def product_notes(program: Program, plan: Plan, target: Target, options: RunOptions) -> Iterator[str]:
    """What the option means for the kernels of `plan`, the default one. Raises InputError where it means something that
    this machine cannot compile.
    """
    if options.products == "full":
        return
    from generator.polyhedral.memory.contractions import NO_SUM, contraction_of
    from generator.polyhedral.pipelines.sections import kernels_of

    found, reasons = list[str](), list[str]()
    for kernel in kernels_of(program, plan.scheduled):
        try:
            found.append(contraction_of(kernel.section.program, kernel.part, plan.scheduled.reductions).statement)
        except IllegalPlan as reason:
            reasons.append(f"{', '.join(kernel.statements)}: {str(reason).removeprefix(NO_SUM)}")
    if found:
        _check_compiler(target, options)
        yield (f"{FLAG} {options.products}: plans may compute the products of {', '.join(found)} on tensor cores, with "
               f"factors rounded to {options.products} and sums in fp32; results are then checked within "
               f"{100 * product_tolerance(options.products, 1):.2g} % for each such kernel of a plan")
        return
    more = f"; and {len(reasons) - _MOST} kernels more" if len(reasons) > _MOST else ""
    yield (f"warning: {FLAG} {options.products} changes nothing: no kernel of the default schedule has a sum of "
           f"products for tensor cores ({'; '.join(reasons[:_MOST])}{more})")
