"""The statements of a SCoP that its results need.

    double zr = 0, zi = 0; int k = 0;
    while (k < most && zr * zr + zi * zi < 4) { ... }      computes k, zr and zi: three statements
    image[y][x] = k;                                       zr and zi are not read: two of them are left out
"""

from __future__ import annotations

from collections.abc import Mapping

from generator.errors import Location
from generator.frontend_c.extract import NeverRuns, extract
from generator.frontend_c.source import ScopSource
from generator.polyhedral.dependences.original import original_flow
from generator.program import Program


def extract_needed(source: ScopSource, parameters: Mapping[str, int],
                   extents: Mapping[str, tuple[int, ...]]) -> Program:
    """Return the Program of a SCoP as `extract`, without statements whose values reach no result. Raises InputError."""
    try:
        program = extract(source, parameters, extents)
    except NeverRuns:
        if not parameters:
            raise
        sizes = ", ".join(f"{name} = {value}" for name, value in sorted(parameters.items()))
        raise NeverRuns(f"no statement of the SCoP is executed with {sizes}, the values with which the program reaches "
                        "it first; put the loops around it into the SCoP, too", Location(source.file, source.first_line)
                        ) from None
    unused = unused_statements(program)
    return extract(source, parameters, extents, unused) if unused else program


def unused_statements(program: Program) -> frozenset[int]:
    """Return the places of statements that only compute values of temporary arrays that no result depends on."""
    dependences = original_flow(program.statements, program.schedule).flow.dependences.get_map_list()
    maps = [dependences.get_at(k) for k in range(dependences.n_map())]
    feeds = [(str(one.domain().get_tuple_name()), str(one.range().get_tuple_name())) for one in maps]
    temporary = {array.name for array in program.arrays if array.role == "temp"}
    used = {s.name for s in program.statements if s.body.target.array not in temporary}
    while more := {source for source, sink in feeds if sink in used} - used:
        used |= more
    return frozenset(k for k, statement in enumerate(program.statements) if statement.name not in used)
