"""best.cl, best.cu or best.hip: the code of the best plan, generated again from the store."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from experiments.files import write_atomically
from experiments.search.reproducing import reproduce_command
from experiments.search.summary import best_result, summarize
from experiments.store import Store
from experiments.values.records import RunInfo
from experiments.words import describe_ms, describe_plan
from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.problem import Subject
from generator.program import Program
from generator.target import LANGUAGES, Dialect, Target
from generator.templates.template import Template
from generator.templates.variants import VariantMaker
from generator.templates.variants import language_of as own_language
from generator.variant import Variant
from runners.host_program import launches


def best_code_file(subject: Subject, target: Target) -> str:
    """Return the name of the file with the best plan's code."""
    return f"best.{LANGUAGES[language_of(subject, target)].suffix}"


def language_of(subject: Subject, target: Target) -> Dialect:
    """Return the language of the code for `target`."""
    return own_language(subject, target) if isinstance(subject, Template) else target.dialect


def variant_of_plan(subject: Subject, plan: Plan, target: Target) -> Variant:
    """Return the code of `plan`. Raises IllegalPlan."""
    match subject:
        case Program():
            from generator.lowering import lower

            return lower(subject, plan, target)
        case Template():
            return VariantMaker(subject, language_of(subject, target))(plan)
        case _:
            assert_never(subject)


def code_of(info: RunInfo, plan: Plan) -> str:
    """Return the kernels of `plan` as text, or a comment that says why there are none.

    Only a run on the deterministic device, which never generates code, can contain an illegal plan with a time.
    """
    try:
        return variant_of_plan(info.subject, plan, info.device.target).source
    except IllegalPlan as error:
        return f"/* This plan is illegal and has no code: {error} */\n"


def launch_words(variant: Variant) -> str:
    """Return the launch of a variant with one kernel in words: `launch: 128 x 64 blocks of 32 x 8 threads`."""
    (launch,) = launches(variant)
    grid = " x ".join(str(items // threads) for items, threads in zip(launch.items, launch.block, strict=True))
    return f"launch: {grid} blocks of {' x '.join(map(str, launch.block))} threads"


def write_best_code(store: Store, directory: Path) -> None:
    """Write the best plan's kernels with a comment on their origin; do nothing if no plan is valid."""
    info, summary = store.info(), summarize(store)
    best = best_result(store.results(), summary)
    if best is None:
        return
    lines = [f"{info.subject.name}: {describe_ms(summary.best_ms)} on {info.device.name}",
             f"plan {best.evaluation.plan.digest}, evaluation {best.evaluation.number}",
             *describe_plan(best.evaluation.plan), f"made by: {reproduce_command(info)}"]
    if isinstance(info.subject, Template):
        lines += [launch_words(variant_of_plan(info.subject, best.evaluation.plan, info.device.target))]
    header = "/*\n" + "".join(f" * {line.replace('*/', '* /')}\n" for line in lines) + " */\n"
    path = directory / best_code_file(info.subject, info.device.target)
    write_atomically(path, header + code_of(info, best.evaluation.plan))
