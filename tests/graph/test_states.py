"""Walks state by state: the same questions, options and plans as asking one after the other, and prefixes stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import pytest

from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import pipeline
from experiments.values.options import Budget, RunOptions
from generator.decisions.deciding import Deciding
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.core.placement import placeable
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.reductions import parallel_reductions
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.program import Program
from generator.schedules.stages import Stages
from generator.storage_orders import offered_dimensions
from generator.target import Target
from graph.askings import Asking, Askings, Room
from graph.deep import is_deep
from graph.kernels import KernelSpace, switch
from graph.o1 import choose_reductions, with_kernels
from graph.pipeline import LAUNCHES, Chosen
from graph.reaching import Reachable
from graph.space import Chooser, DeadEnd, Decision, Option, Space
from graph.states import State, Stepwise, start_of, walked
from graph.storage import choose_orders
from graph.together import ALONE, TOGETHER, WITH, Sharing
from tests.support.slow import few
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, Staircase
from tests.support.suite import TARGET, small_problem

Question = tuple[Decision, tuple[Option, ...], Option]


@dataclass
class Drawn:
    """A chooser that draws answers, and writes everything down."""

    seed: int
    asked: list[Question] = field(default_factory=list)

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        """See Chooser."""
        drawn = options[int(np.random.default_rng((self.seed, len(self.asked))).integers(len(options)))]
        self.asked.append((decision, tuple(options), drawn))
        return drawn


def asked_in_turn(program: Program, target: Target, chooser: Chooser) -> Plan:
    """The space `pipeline` as a plain function that asks: without any state."""
    chosen = Chosen(target.local_bytes)
    for stage in reversed(stage_facts(program)):
        options = chosen.options(stage)
        answer = chooser.choose(Decision("stage", (stage.array,), (("offered", " ".join(options)),)), options)
        chosen.take(stage, next(place for place in options if place == answer))
    inside = {array for array, place in chosen.places.items() if place != "root"}
    computed = computed_arrays(program)
    inline = {array for array, place in chosen.places.items() if place == "inline"}
    contiguous = choose_orders(chooser, offered_dimensions(computed), inline)
    sharing = Sharing({one.array: one for one in computed}, frozenset(inside))
    for array in reversed(computed):
        if array.sharable and array.array not in {*inside, *dict(contiguous)}:
            offered = (ALONE, *(WITH + first for first in sharing.options(array)))
            decision = Decision(TOGETHER, (array.array,), (("offered", " ".join(offered)),))
            said = str(chooser.choose(decision, offered))
            sharing.take(array, said.removeprefix(WITH) if said != ALONE else array.array)
    apart = inside.union(*sharing.sets)
    statements = {one.array: one.statements for one in computed} | {s.array: s.statements for s in stage_facts(program)}
    gone = {name for array, names in statements.items() if array in apart for name in names}
    reductions = sorted(parallel_reductions(program, False))
    reduced = choose_reductions(chooser, [name for name in reductions if name not in gone])
    launches = is_deep(computed) and switch(chooser, Decision(LAUNCHES))
    schedule = replace(chosen.schedule(reduced), together=sharing.sets, launches=launches,
                       contiguous=contiguous)
    return with_kernels(chooser, schedule, lambda one: kernel_shapes(program, one, target.language),
                        KernelSpace(target, True), placeable(program, target))


@lru_cache(maxsize=8)
def program_of(name: str) -> Program:
    return small_problem(pipeline(name))[0].program


def space_of(program: Program, target: Target = TARGET) -> Reachable:
    return make_reachable_space(program, target, RunOptions("a.py", Compilation(), Budget(evaluations=1),
                                                            space="pipeline"))


@pytest.mark.parametrize("name", few(["harris", "unsharp", "conv_layer", "camera_pipe", "interpolate", "iir_blur"], 1))
@pytest.mark.parametrize("seed", few(range(20), 2))
def test_states_ask_what_is_asked_one_after_the_other(name: str, seed: int) -> None:
    program = program_of(name)
    by_states, in_turn = Drawn(seed), Drawn(seed)
    plans: list[Plan | None] = []
    for chooser in (by_states, in_turn):
        try:
            plans.append(walked(start_of(space_of(program)), chooser) if chooser is by_states
                         else asked_in_turn(program, TARGET, chooser))
        except DeadEnd:
            plans.append(None)
    assert by_states.asked == in_turn.asked
    assert plans[0] == plans[1]


def test_a_state_stays_as_it_is_whatever_comes_after_it() -> None:
    state = start_of(space_of(program_of("harris")))
    chain = [state]
    while state.decision is not None:
        state = state.choose(state.options[-1])
        chain.append(state)
    before = [(one.decision, one.options) for one in chain]
    for one in chain[::7]:
        for option in one.options:
            follow(one.choose(option), 5)
    assert [(one.decision, one.options) for one in chain] == before
    again = follow(chain[len(chain) // 2], len(chain), last=True)
    assert again.plan == chain[-1].plan


def follow(state: State, steps: int, last: bool = False) -> State:
    for _ in range(steps):
        if state.decision is None:
            break
        state = state.choose(state.options[-1 if last else 0])
    return state


@pytest.mark.parametrize("space", [Kernels(2), Staircase(4), FlatSpace((3, 1, 4)), DeadEnds(4)])
def test_any_space_has_states(space: Space) -> None:
    assert not isinstance(space, Stepwise)
    for seed in range(10):
        found: list[object] = []
        for by_states in (True, False):
            try:
                found.append(walked(start_of(space), Drawn(seed)) if by_states else space(Drawn(seed)))
            except DeadEnd:
                found.append("dead end")
        assert found[0] == found[1]


def test_what_is_not_on_offer_is_refused() -> None:
    state = start_of(FlatSpace((3, 2)))
    with pytest.raises(ValueError, match="not on offer; on offer: 0, 1, 2"):
        state.choose(7)
    with pytest.raises(ValueError, match="not complete: 'd1'"):
        _ = state.choose(1).plan
    end = state.choose(1).choose(0)
    assert (end.decision, end.options) == (None, ())
    with pytest.raises(ValueError, match="nothing"):
        end.choose(0)


@pytest.mark.parametrize("room", [0, 3, 100])
def test_prefixes_of_a_kernel_are_kept_while_there_is_room(room: int) -> None:
    [shape] = kernel_shapes(program_of("harris"), Stages(), TARGET.language)[:1]
    first = Asking(Deciding(shape, TARGET, True, shape.statements), Room(room))

    def asked() -> tuple[list[Asking], KernelPlan]:
        found, asking = list[Asking](), first
        while not isinstance(question := asking.next()[1], KernelPlan):
            asking = asking.after(question.options[-1])
            found.append(asking)
        return found, question

    (one, plan), (other, same) = asked(), asked()
    assert plan == same and len(one) > 3
    kept = sum(a is b for a, b in zip(one, other, strict=True))
    assert kept == min(room, len(one)) and first.room.left == room - kept


def test_schedules_with_the_same_kernel_share_its_questions() -> None:
    program, space = replace(program_of("harris"), name="of this test"), KernelSpace(TARGET, True)
    shapes = kernel_shapes(program, Stages(), TARGET.language)
    other = {one.statements: one for one in kernel_shapes(program, Stages((("sxx", "inline"),)), TARGET.language)}
    same = [one for one in shapes if one.statements in other]
    assert 3 < len(same) < len(shapes)
    askings = Askings()
    for one in same:
        assert askings.first(one, space) is askings.first(other[one.statements], space)
    assert len({id(askings.first(one, space)) for one in shapes}) == len(shapes)


def test_kernels_met_least_recently_are_forgotten() -> None:
    space = KernelSpace(TARGET, True)
    one, two, three = kernel_shapes(program_of("harris"), Stages(), TARGET.language)[:3]
    askings = Askings(most=2)
    first, second = askings.first(one, space), askings.first(two, space)
    assert askings.first(one, space) is first  # `two` is the older one now
    askings.first(three, space)
    assert askings.first(one, space) is first and askings.first(two, space) is not second
    question = first.next()[1]
    assert not isinstance(question, KernelPlan)
    first.after(question.options[0])
    askings.first(three, space)
    assert askings.first(one, space) is not first, "its two prefixes left no room for others"
