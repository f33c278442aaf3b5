"""Which arrays may share a kernel in the space `pipeline`, and that every set of them on offer is legal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.frontend_c.source import Compilation
from generator.polyhedral.pipelines.sections import sections
from generator.polyhedral.pipelines.stage_facts import computed_arrays
from generator.program import Program
from generator.schedules.stages import Stages
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.reaching import walk_to
from graph.together import Sharing
from tests.support.slow import few
from tests.support.suite import TARGET, small_problem


def program_of(name: str) -> Program:
    return small_problem(pipeline(name))[0].program


def sharing(program: Program, inside: set[str], members: dict[str, list[str]]) -> Sharing:
    return Sharing({one.array: one for one in computed_arrays(program)}, frozenset(inside), members)


def options(program: Program, array: str, inside: set[str], members: dict[str, list[str]]) -> tuple[str, ...]:
    return sharing(program, inside, members).options(next(a for a in computed_arrays(program) if a.array == array))


def test_arrays_that_read_the_same_may_share_a_kernel() -> None:
    harris = program_of("harris")
    assert options(harris, "ix", set(), {"iy": ["iy"], "det": ["det"]}) == ("iy",)
    assert options(harris, "ixx", set(), {"iy": ["iy"], "iyy": ["iyy"]}) == (), "they read nothing in common"
    assert options(harris, "ixx", {"ix", "iy"}, {"iyy": ["iyy"]}) == ("iyy",), "their stages read the same"
    assert options(harris, "ixx", {"ix", "iy"}, {"iyy": ["iyy", "ixy"]}) == ("iyy",), "one question, three arrays"


def test_no_array_is_offered_the_kernel_of_what_it_is_needed_for() -> None:
    harris = program_of("harris")
    assert options(harris, "ix", set(), {"ixx": ["ixx"], "ixy": ["ixy"]}) == ()
    crossed = sharing(harris, set(), {"iyy": ["iyy", "ixx"]})
    assert crossed.options(next(a for a in computed_arrays(harris) if a.array == "ix")) == ()


@dataclass
class Counted:
    """A computed array that counts how often somebody looks at what it reads."""

    array: str
    sources: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    extents: tuple[int, ...] = (8,)
    sharable: bool = True
    lined: bool = False
    looked: int = 0

    @property
    def reads(self) -> tuple[str, ...]:
        self.looked += 1
        return self.sources


def test_what_arrays_read_is_found_once_each_however_many_ways_lead_there() -> None:
    ladder = [Counted("a0", (), ("image",)), Counted("b0", (), ("image",))]
    for k in range(1, 15):
        ladder += [Counted(f"{side}{k}", (f"a{k - 1}", f"b{k - 1}")) for side in "ab"]
    inside = frozenset(one.array for one in ladder[:-2])
    found = Sharing({one.array: one for one in ladder}, inside, {"b14": ["b14"]})
    assert found.options(ladder[-2]) == ("b14",)
    assert found.repeats(ladder[-2], "b14")
    assert sum(one.looked for one in ladder) <= 4 * len(ladder)


@pytest.mark.parametrize("name", few(["harris", "camera_pipe"], 1))
def test_every_set_on_offer_is_legal_and_plans_lead_back_to_their_walks(name: str) -> None:
    program = program_of(name)
    space = make_reachable_space(program, TARGET, RunOptions("a.py", Compilation(), Budget(evaluations=1),
                                                             space="pipeline"))
    graph, together = OptimizationGraph(), 0
    for seed in range(8):
        walk = graph.walk(space, uniform(np.random.default_rng(seed)))
        assert walk is not None and isinstance(walk.plan.schedule, Stages)
        together += len(walk.plan.schedule.together)
        sections(program, walk.plan.schedule)
        assert walk_to(space, walk.plan) == walk
    assert together
