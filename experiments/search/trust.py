"""Checks before the code of a stored run is executed: the run is the user's own, or its code is provably harmless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.store import Store, is_own
from experiments.values.records import RunInfo
from generator.errors import InputError
from generator.intervals import Interval
from generator.problem import Problem
from generator.program import NUMPY_TYPES, Program
from generator.templates.template import Template
from runners.many import Place

_REMEDY = "begin a run of your own from the source, or give --trust if you know who made this one"


def checked_problem(store: Store, info: RunInfo, trusted: bool) -> Problem:
    """Return the problem of a stored run after checking that its kernels may be executed.

    Every run is checked: subscripts stay inside their arrays, and the data fit the arrays. If a subscript depends on
    data and the data do not prove that it stays inside, the run must be the user's own or `trusted`.

    Raises:
        InputError: the program or the data are unsound, or the run is not trusted.
    """
    problem = Problem(info.subject, store.reference())
    _check_data(store.directory, problem)
    if isinstance(info.subject, Template):
        _check_template(store.directory, trusted)
    questions = open_questions(problem)
    if questions and not trusted and not is_own(store.directory):
        raise InputError(
            f"{store.directory} was not begun by you on this machine, and nothing proves that {questions[0]} stays "
            f"inside its array; what leaves it could run any code; {_REMEDY}"
        )
    return problem


def open_questions(problem: Problem) -> tuple[str, ...]:
    """Return descriptions of the accesses that the data do not prove to stay inside their arrays.

    Raises InputError as `unproven`.
    """
    if isinstance(problem.subject, Template):
        return ()
    from generator.polyhedral.dependences.inside import unproven

    return unproven(problem.program, _ranges(problem.program, problem.reference.inputs))


def _check_template(directory: Path, trusted: bool) -> None:
    """Raise InputError if the kernel text comes from another user and is not trusted."""
    if not trusted and not is_own(directory):
        raise InputError(f"{directory} was not begun by you on this machine, and its kernel is text that could run any "
                         f"code; {_REMEDY}")


def check_cluster(directory: Path, info: RunInfo, elsewhere: Place, trusted: bool) -> None:
    """Raise InputError if another user's run names a cluster: its scheduler could run any code here."""
    address = info.options.cluster
    if address is not None and elsewhere.cluster is None and not trusted and not is_own(directory):
        raise InputError(
            f"{directory} was not begun by you on this machine, and measures on the cluster {address}, which could "
            f"run any "
            "code here; give --cluster none to measure here, --cluster ADDRESS for one of your own, or --trust"
        )


def _check_data(directory: Path, problem: Problem) -> None:
    reference = problem.reference
    known = {array.name: array for array in problem.contract.arrays}
    for name, values in (*reference.inputs.items(), *reference.outputs.items()):
        array = known.get(name)
        if (
            array is None
            or values.dtype != NUMPY_TYPES[array.type]
            or values.size not in (array.elements, array.own_elements)
        ):
            raise InputError(f"the data of {directory} do not fit its program (`{name}`); start a new run")
    if missing := [a.name for a in problem.contract.outputs if a.name not in reference.outputs]:
        raise InputError(f"the data of {directory} lack `{missing[0]}`; start a new run")


def _ranges(program: Program, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, Interval]:
    """Return the least and greatest value of each input that is only read and whose values are all finite."""
    found = {}
    for array in program.arrays:
        values = inputs.get(array.name)
        if array.role == "in" and values is not None and values.size and np.isfinite(values).all():
            found[array.name] = (values.min().item(), values.max().item())
    return found
