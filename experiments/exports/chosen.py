"""The exported part: one evaluation of a run, with the facts of the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from experiments.exports.c_names import function_name
from experiments.exports.kernel_names import apart
from experiments.search.code import variant_of_plan
from experiments.search.finals import ranking, settled
from experiments.search.reproducing import reproduce_command
from experiments.search.summary import best_result, summarize
from experiments.search.trust import checked_problem
from experiments.store import Store, is_own
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result, RunInfo
from experiments.values.sought import sought_for
from experiments.words import describe_ms, describe_plan
from generator.errors import IllegalPlan, InputError
from generator.problem import Problem
from generator.program import Box, Program
from generator.target import LANGUAGES, Dialect
from generator.templates.template import Template
from generator.templates.variants import alike
from generator.variant import Variant
from metrics.outcome import Timed, cost_ms

OTHER_PITCH = 256
"""Texels of which rows are a multiple under two-dimensional textures on devices that were not asked (`Target`): as many
as AMD's drivers ask for; NVIDIA's ask for 32 bytes, Intel's CPU runtime for 64 texels.
"""


@dataclass(frozen=True)
class Chosen:
    """The run's facts, all its results, and the one whose plan is exported; `directory` is the run's.

    `size` is the user's text for another size than the tuned one; program and outcome are then those of that size.
    """

    info: RunInfo
    results: tuple[Result, ...]
    result: Result
    directory: Path
    problem: Problem | None = None
    own: bool = True
    size: str | None = None

    @property
    def name(self) -> str:
        """The name of the exported function and its files: that of the SCoP's function or of the template, made valid
        in C.
        """
        return function_name(self.info.subject.name)

    @property
    def program(self) -> Program:
        """The exported program. For a kernel template it is a Program without statements, only arrays with roles.

        Arrays of role `temp` in a template count as read, because their contents before a call may matter.
        """
        subject = self.info.subject
        if not isinstance(subject, Template):
            return self.info.program
        whole = tuple(Box(array.name, (0,) * len(array.extents), tuple(extent - 1 for extent in array.extents))
                      for array in subject.arrays if array.role == "out" and array.extents)
        arrays = tuple(replace(array, role="in" if array.role == "temp" else array.role) for array in subject.arrays)
        return Program(subject.name, subject.file, arrays, (), "", (), whole)

    @property
    def tuned(self) -> str:
        """The time of the kernels on the device where they were tuned, in words."""
        device, outcome = self.info.device, self.result.outcome
        spent = describe_ms(cost_ms(outcome))
        if device.key == "deterministic":
            return f"the run computed {spent} for them and measured nothing"
        wall = f", {describe_ms(outcome.host_ms)} on the wall clock" if isinstance(outcome, Timed) else ""
        when = "tuned" if self.size is None else "exported"
        return f"when {when} {spent} of device time{wall}, on {device.name} ({device.platform})"

    def origin(self) -> list[str]:
        """Return lines that say where the plan comes from."""
        info, evaluation = self.info, self.result.evaluation
        place = f"{info.device.name}, {info.device.platform}"
        return [f"{info.subject.name} of {Path(info.options.file).name}, made by `antune export`.",
                f"Plan of evaluation {evaluation.number} ({describe_ms(cost_ms(self.result.outcome))} on {place}):",
                *(f"  {line}" for line in describe_plan(evaluation.plan)),
                f"Found by: {reproduce_command(info)}"]


def choose(store: Store, number: int | None, needs_data: bool, trust: bool = False, option: str = "--plan ") -> Chosen:
    """Return the evaluation `number` of a run (None: the best).

    `needs_data`: the export contains the stored inputs and code that runs on them. `option`: the option with the
    number, for error messages.

    Raises:
        InputError: there is no such evaluation, it failed, the inputs are lost, or the run is not trusted
            (`experiments.search.trust`).
    """
    info, results, final = store.info(), store.results(), store.finals.latest()
    problem = checked_problem(store, info, trust) if needs_data else None
    result = _result(store, results, number, option)
    ranked = ranking(results, final, sought_for(info.options.objective, info.subject))
    outcome = settled(results, final, ranked).get(result.evaluation.number, result.outcome)
    return Chosen(
        info, results, replace(result, outcome=outcome), store.directory, problem, trust or is_own(store.directory)
    )


def choose_any(store: Store) -> Chosen:
    """Return the run for an export of all results. Raises InputError if it has none."""
    results = store.results()
    if not results:
        raise InputError(f"{store.directory} has no results yet; export it when it has")
    best = best_result(results, summarize(store))
    return Chosen(store.info(), results, best or results[0], store.directory)


def _result(store: Store, results: tuple[Result, ...], number: int | None, option: str) -> Result:
    if number is None:
        best = best_result(results, summarize(store))
        if best is None:
            raise InputError(f"{store.directory} has no valid plan to export; `antune report` says what failed")
        return best
    found = next((result for result in results if result.evaluation.number == number), None)
    if found is None:
        last = max((result.evaluation.number for result in results), default=None)
        known = "it has no results yet" if last is None else f"its evaluations are 0 (the default plan) to {last}"
        raise InputError(f"{option}{number}: {store.directory} has no such evaluation; {known}")
    if cost_ms(found.outcome) is None:
        kind = kind_of(found.outcome).replace("_", " ")
        raise InputError(f"{option}{number}: that evaluation failed ({kind}); choose one that was timed (results.csv)")
    return found


def variant_of(chosen: Chosen, dialect: Dialect) -> Variant:
    """Return the code of the chosen plan in `dialect`, which may differ from the tuned one.

    Raises:
        InputError: the plan is illegal (the deterministic device also times such plans), or a kernel template is
            written in another language.
    """
    target, subject = chosen.info.device.target, chosen.info.subject
    if isinstance(subject, Template) and not alike(subject.dialect, dialect):
        raise InputError(f"{subject.name} is a kernel in {LANGUAGES[subject.dialect].title}, which stays as it is: it "
                         f"cannot be exported to {LANGUAGES[dialect].title}; use --to {subject.dialect}")
    if target.dialect != dialect:
        # the device is unknown: in OpenCL it may be PoCL's, too
        target = replace(target, dialect=dialect, image_pairs=True, image_narrow=True,
                         image_pitch=max(target.image_pitch, OTHER_PITCH), pocl=not LANGUAGES[dialect].cplusplus)
    evaluation = chosen.result.evaluation
    try:
        made = variant_of_plan(subject, evaluation.plan, target)
        return apart(subject, made) if isinstance(subject, Template) and LANGUAGES[dialect].cplusplus else made
    except IllegalPlan as error:
        where = "" if chosen.size is None else f" for --size {chosen.size!r}"
        raise InputError(f"the plan of evaluation {evaluation.number} has no code in {dialect}{where}: {error}; choose "
                         "another one of the run (results.csv)") from None
