"""Analyses of a SCoP before its sizes, or those of its arrays, are known."""

from __future__ import annotations

from collections.abc import Mapping

from generator.errors import InputError
from generator.frontend_c.extract import NeverRuns, build_model
from generator.frontend_c.source import ScopSource
from generator.polyhedral.dependences.original import accessed
from generator.program import Statement

_ANY_SIZE = 64


def needed_extents(
    source: ScopSource, parameters: Mapping[str, int], rooms: Mapping[str, int]
) -> dict[str, tuple[int, ...]]:
    """Return, for arrays behind a pointer of unknown size, the smallest extents that contain every access.

    Data-dependent accesses are unknown; then all elements behind the pointer count: `rooms`, 0 if unknown.

    Raises:
        InputError: as `extract`.
    """
    # Declared sizes have no effect here, so any number will do.
    shapes = {
        v.name: tuple((rooms.get(v.name) or None) if text is None else 1 for text in v.extents)
        for v in source.variables
    }
    statements = build_model(source, parameters, shapes).statements
    unknown = [v.name for v in source.variables if None in v.extents]
    ranges = accessed(statements) if unknown else {}
    return {name: tuple(index + 1 for index in ranges[name][1]) for name in unknown if name in ranges}


def static_control(source: ScopSource) -> tuple[Statement, ...]:
    """Return the statements of a SCoP for arbitrary sizes, without a capture, to check that it is static control.

    The sizes differ, so that loops between two of them run in one of the two orders.

    Raises:
        InputError: as `extract`.
    """
    shapes = {v.name: (1,) * len(v.extents) for v in source.variables}
    ascending, descending, _ = _any_sizes(source)
    try:
        return tuple(build_model(source, ascending, shapes).statements)
    except NeverRuns:
        return tuple(build_model(source, descending, shapes).statements)


def check_static(source: ScopSource) -> None:
    """Refuse SCoPs that are unsupported for any sizes, before anything is run.

    Raises:
        InputError: the first construct that is not static control, whatever the sizes are.
    """
    shapes = {v.name: (1,) * len(v.extents) for v in source.variables}
    messages = []
    for sizes in _any_sizes(source):
        try:
            build_model(source, sizes, shapes)
            return
        except InputError as error:
            messages.append(error)
    if len({str(error) for error in messages}) == 1 and not isinstance(messages[0], NeverRuns):
        raise messages[0]


def _any_sizes(source: ScopSource) -> tuple[Mapping[str, int], ...]:
    """Return distinct sizes, ascending and descending by name, and others of the same kind."""
    names = sorted(source.parameters)
    return (
        {name: _ANY_SIZE + k for k, name in enumerate(names)},
        {name: _ANY_SIZE - k for k, name in enumerate(names)},
        {name: 2 * _ANY_SIZE + 7 * k for k, name in enumerate(names)},
    )
