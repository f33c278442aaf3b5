"""The same plan for other sizes: the source is read again, and the plan is checked for that size on the device."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.exports.chosen import Chosen
from experiments.exports.sizes import Size, parse_size, sized
from experiments.search.changes import compare_device, source_hash
from experiments.search.parts import PARTS, Parts
from experiments.search.places import limits_of, place_of
from experiments.store import Store
from experiments.values.outcome_rows import kind_of
from experiments.values.records import RunInfo
from generator.errors import InputError
from generator.problem import Problem
from metrics.outcome import Outcome, Timed
from runners.base import Job
from runners.many import Place


@dataclass(frozen=True, slots=True)
class Resizing:
    """Other sizes to export, as the user's texts, and a callback for progress messages."""

    sizes: tuple[str, ...] = ()
    tell: Callable[[str], None] = lambda _: None
    parts: Parts = PARTS


TUNED_SIZE = Resizing()
"""Only the tuned size."""


def with_sizes(store: Store, tuned: Chosen, wanted: Resizing) -> tuple[Chosen, ...]:
    """Return what is exported: the tuned size, then the others.

    Raises:
        InputError: the source changed or is not this user's; a size cannot be read; or for that size the plan is
            illegal, fails, or computes wrong results.
    """
    sizes = [parse_size(text) for text in wanted.sizes]
    if not sizes:
        return (tuned,)
    _check_source(tuned)
    parameters = {name for name, _ in (*tuned.info.options.parameters, *_own_sizes(store, tuned))}
    found, place = [tuned], wanted.parts.check_place(place_of(tuned.info))
    for size in sizes:
        wanted.tell(f"--size {size.text!r}: reading {tuned.info.options.file} again and checking the plan on "
                    f"{tuned.info.device.name}")
        found.append(_resized(store, tuned, size, parameters, wanted, place, found))
    return tuple(found)


def _check_source(tuned: Chosen) -> None:
    info = tuned.info
    if info.options.from_python:
        raise InputError(f"--size builds a program again, and {tuned.directory} tuned what a Python program had built; "
                         "call antune.tune there with the other size")
    if not tuned.own:
        raise InputError(f"--size reads and runs {info.options.file} again, but {tuned.directory} was not begun by you "
                         "on this machine; give --trust if you know who made it, or begin a run of your own")
    try:
        same = source_hash(Path(info.options.file).read_bytes()) == info.source_hash
    except OSError as error:
        raise InputError(f"--size reads {info.options.file} again, which cannot be read: {error.strerror}") from None
    if not same:
        raise InputError(f"{info.options.file} changed since it was tuned, so that other sizes would be of another "
                         "program; tune it again, or restore it")


def _own_sizes(store: Store, tuned: Chosen) -> tuple[tuple[str, int], ...]:
    """Return the sizes that --param can set: those of a pipeline, or of a function without a program."""
    return () if store.reference().origin == "capture" else tuned.info.program.parameters


def _resized(store: Store, tuned: Chosen, size: Size, parameters: set[str], wanted: Resizing, place: Place,
             others: Sequence[Chosen]) -> Chosen:
    options = sized(tuned.info.options, size, parameters)
    try:
        problem = wanted.parts.read_problem(options, wanted.tell)
    except InputError as error:
        raise InputError(f"--size {size.text!r}: {error}") from None
    order = tuned.program.arguments  # that of the tuned size, which another version of antune may have read
    problem = replace(problem, subject=replace(problem.program, arguments=order, constants=tuned.program.constants))
    for other in others:
        if other.info.program == problem.program:
            raise InputError(f"--size {size.text!r} makes the same program as {_label(other, tuned)}: is it a macro "
                             "that the file leaves to -D (`#ifndef NAME` before its `#define`)?")
    outcome = _checked(store, tuned, problem, wanted.parts, place)
    if not isinstance(outcome, Timed):
        kind, number = kind_of(outcome).replace("_", " "), tuned.result.evaluation.number
        raise InputError(f"--size {size.text!r}: the plan of evaluation {number} does not work there ({kind}): "
                         f"{outcome.message}; choose another with --plan N, or tune for that size")
    info = replace(tuned.info, options=options, subject=problem.program, compiler=problem.reference.compiler,
                   sequential_ms=problem.reference.sequential_ms, baselines=problem.reference.baselines)
    return replace(tuned, info=info, result=replace(tuned.result, outcome=outcome), problem=problem, size=size.text)


def _label(chosen: Chosen, tuned: Chosen) -> str:
    return "the tuned size" if chosen is tuned else f"--size {chosen.size!r}"


def _checked(store: Store, tuned: Chosen, problem: Problem, parts: Parts, place: Place) -> Outcome:
    """Return the outcome of the plan on the run's device; its results are compared with the original program's."""
    info: RunInfo = tuned.info
    with tempfile.TemporaryDirectory(prefix="antune-sizes-") as folder:
        runner = parts.open_runner(problem, place, limits_of(info.options), Path(folder))
        try:
            compare_device(tuned.directory, info.device, store.driver(), runner.device, anyway=True)
            ((_, outcome),) = runner.evaluate([Job(0, tuned.result.evaluation.plan)])
        finally:
            runner.close()
    return outcome
