"""Random pipelines can be judged by cost models, and their random plans are legal and right."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.learning.collect import RANDOM, Programs, program_at, random_origin
from experiments.learning.quality import regret_of_few
from experiments.learning.random_plans import random_plan
from experiments.learning.series import Origin, program_digest
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.problem import program_of
from generator.program import Program
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET

KINDS: tuple[Programs, ...] = ("dag", "integers", "layers", "images", "pixels", "lookups")


def small_program(seed: int, kind: Programs) -> Program:
    origin = random_origin(seed, kind)
    size = {"height": 12, "width": 16} if kind == "layers" else {"height": 24, "width": 40}
    return program_at(Origin(origin.source, tuple(sorted((dict(origin.parameters) | size).items()))))


def random_program(seed: int, banks: int = 0) -> Program:
    return program_at(Origin(RANDOM.name, (("banks", banks), ("height", 24), ("seed", seed), ("width", 40))))


@pytest.mark.parametrize("banks", few([0, 1], 1))
def test_programs_are_the_same_without_data_and_results(banks: int) -> None:
    parameters = {"banks": banks, "height": 24, "seed": 8, "width": 40}
    whole = program_of(read_untimed(RANDOM, Compilation(), None, None, parameters, 0, baselines=False).subject)
    assert program_digest(random_program(8, banks)) == program_digest(whole)


def test_plans_measured_of_a_random_pipeline_still_belong_to_it() -> None:
    origin = Origin(RANDOM.name, (("height", 256), ("seed", 0), ("width", 384)))
    assert program_digest(program_at(origin)) == "573edb586b5f4411", "moved lines make other programs"


@pytest.mark.slow
def test_plans_of_banks_of_filters_keep_sums_in_registers() -> None:
    program = random_program(457, 1)
    assert any(len(array.extents) == 4 for array in program.arrays)
    plans = [random_plan(program, TARGET, np.random.default_rng((1, k))) for k in range(6)]
    sums = [kernel.registers for plan in plans if plan is not None for kernel in plan.kernels]
    assert any(sums) and not all(sums)


@in_turn
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", few(range(40), 1))
def test_random_plans_of_random_pipelines_can_be_generated(kind: Programs, seed: int) -> None:
    program = small_program(seed, kind)
    assert str(program) != str(small_program(seed + 1, kind))
    assert not [node.array for node in dataflow(program).nodes if node.refusal]
    plans = [random_plan(program, TARGET, np.random.default_rng((seed, k))) for k in range(2)]
    found = [plan for plan in plans if plan is not None]
    assert found
    for plan in found:
        assert lower(program, plan, TARGET).kernels
    assert plans == [random_plan(program, TARGET, np.random.default_rng((seed, k))) for k in range(2)]


def test_integers_and_layers_have_what_the_others_lack() -> None:
    types = {array.type for array in small_program(0, "integers").arrays}
    assert "float" not in types and len(types) > 1
    sums = [read.different for node in dataflow(small_program(0, "layers")).nodes for read in node.reads]
    assert max(sums) > 49


def test_pixels_have_few_bits() -> None:
    types = {array.type for seed in range(4) for array in small_program(seed, "pixels").arrays}
    assert types == {"unsigned char", "unsigned short"}


def test_lookups_read_columns_for_rows_and_elements_that_data_choose() -> None:
    """The stages of some program are read as `t[y, x]`, those of another at subscripts that contain a read."""
    facts = [stage for seed in range(8) for stage in stage_facts(small_program(seed, "lookups"))]
    turned = ((1, 0), (0, 0))
    assert any((reader.places or ((),))[0][:2] == turned for stage in facts for reader in stage.readers)
    assert any(stage.by_data for stage in facts)


def test_the_best_of_few_is_what_counts() -> None:
    costs, times = [1.0, 2.0, 3.0, 4.0], [8.0, 6.0, 2.0, 1.0]
    assert [regret_of_few(costs, times, count) for count in (1, 2, 3, 4)] == [8.0, 6.0, 2.0, 1.0]
