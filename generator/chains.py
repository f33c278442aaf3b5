"""How long the chains of updates of a program are: the errors of sums grow with them."""

from __future__ import annotations

from generator.problem import Subject
from generator.templates.template import Template


def longest_chain(subject: Subject) -> int:
    """Estimate the longest chain of updates of one element, from sizes alone.

    A reduction usually runs along a dimension of an array or a parameter (time steps), or reduces a large array to a
    smaller one; the result is the largest of these. A template's kernel may reduce its largest array to one element.
    The tolerance grows with the square root, so an estimate within a factor of ten is good enough.
    """
    if isinstance(subject, Template):
        return max((array.elements for array in subject.arrays), default=1)
    program = subject
    lengths = [1, *(value for _, value in program.parameters)]
    for array in program.arrays:
        lengths.extend(array.extents)
    for statement in program.statements:
        written = program.array(statement.body.target.array).elements
        lengths.extend(program.array(access.array).elements // max(written, 1) for access in statement.accesses)
    return max(lengths)
