"""The space `pipeline`: the place of every stage, from the outputs to the inputs, then the storage orders of arrays
(`graph.storage`), the kernels that arrays with kernels share (`graph.together`), and the decisions of every kernel.

This is Halide's call schedule (Ragan-Kelley 2014, ch. 5), with the three places of a GPU: a kernel of its own (root),
the threads that read it (inline), the blocks that read it (block: overlapped tiles in shared memory). A stage with
several reading kernels may be computed in each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod
from typing import Protocol

from generator.decisions.sizes import AXES, BLOCK, TILE
from generator.pipeline_graph import StagePlace
from generator.plan import Plan
from generator.schedules.stages import Stages
from generator.storage_orders import Ordered, offered_dimensions
from generator.target import Target
from graph.askings import Askings
from graph.deep import MOST_LAUNCHES, Summed, has_deep_sums, is_deep
from graph.inlining import InlineReader, Inlining
from graph.kernel_states import kernel_states
from graph.kernels import KernelSpace, switch
from graph.o1 import Shapes, choose_reductions, other_answers
from graph.placement import Placeable
from graph.reaching import Answers, NotOnOffer, Reachable
from graph.space import Chooser, Decision, PageRow
from graph.stage_graph import Role, StageGraph, StageNode
from graph.states import Asked, Found, State, replayed, walked
from graph.storage import ROW as STORAGE
from graph.storage import choose_orders, order_answers
from graph.together import ROW, Sharable, Sharing, together_answers, together_states

MOST_ROUNDS = 1 << 14
"""The maximum number of iterations in which a thread of a block computes a line."""
SIDE = 4
"""A block computes stages only if there is room for the elements that a tile of this many points per dimension needs.
"""
_STAGE = "stage"
LAUNCHES = "outermost loops around launches"

ROWS = (
    PageRow("stage", "an intermediate array, from the outputs to the inputs, `--space pipeline`",
        "root, inline, block",
        "computed by its own kernels; by each thread that reads it, in registers; or by the blocks that read it, in "
        "shared memory, with overlapping tiles; all values of a tuple in one place. Inline is offered if the stage "
        "appears at most 64 times in a kernel's text, block if a small tile fits, with whole lines of scans and "
        "histograms; tile sizes leave room for the stages ([more](pipeline_stages.md))"),
    STORAGE,
    ROW,
    PageRow(LAUNCHES,
        f"arrays of more than three dimensions, the outermost ones with at most {MOST_LAUNCHES} elements, "
        "`--space pipeline` (wide; on CPUs if they are sums of many terms)", "no, yes",
        "where parallel loops beyond the third run: in each thread, the innermost ones; or on the host, the outermost "
        "ones, around launches, of which the last one becomes part of the grid. The innermost dimension is contiguous: "
        "neighbouring threads should run along it"),
)
"""Rows of the table in docs/decisions.md."""

_PLACES: tuple[StagePlace, ...] = ("root", "inline", "block")
_ROLES: tuple[Role, ...] = ("own loops", "no loops", "in a reader")
_LONG = 10
"""The least extent of a dimension that is cut into tiles (unlike colours), as in Halide's prototype."""


class Reader(InlineReader, Protocol):
    """A reader of a stage (generator.polyhedral.pipelines.stage_facts.Reader)."""

    @property
    def slope(self) -> float:
        """The increase of the extent of the box that it reads, for each further point that it computes."""

    @property
    def margin(self) -> float:
        """The difference between the extent of that box and `slope` times the extent of the reader."""

    @property
    def in_block(self) -> tuple[float, float] | None:
        """Both, if blocks compute the reader, in whole lines; None: the same."""

    @property
    def along(self) -> tuple[tuple[float, float], ...]:
        """Both in each dimension, if blocks compute the reader."""


class _Array(Protocol):
    """A computed array."""

    @property
    def array(self) -> str:
        """Its name."""

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that compute it."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Its full size."""


class StageFacts(_Array, Protocol):
    """A space's facts about a stage (generator.polyhedral.pipelines.stage_facts.StageFacts)."""

    @property
    def element(self) -> int:
        """The size of an element in bytes."""

    @property
    def size(self) -> int:
        """The number of operators, numbers and names in the expression of an element."""

    @property
    def operations(self) -> int:
        """Like `size`, but all iterations of reduction loops count."""

    @property
    def by_data(self) -> bool:
        """Whether the elements that are read depend on data."""

    @property
    def pointwise(self) -> bool:
        """Whether an element depends on at most one element of each array that it reads."""

    @property
    def readers(self) -> Sequence[Reader]:
        """Its readers: other stages, outputs."""

    @property
    def companions(self) -> tuple[str, ...]:
        """The arrays that are computed together with it, in the same place."""

    @property
    def lines(self) -> tuple[int, ...]:
        """The dimensions that can only be computed completely, in `rounds` iterations of one thread."""

    @property
    def rounds(self) -> int:
        """See `lines`."""


class ComputedArray(_Array, Sharable, Summed, Ordered, Protocol):
    """An array that the program computes, stage or not (generator.polyhedral.pipelines.stage_facts.ComputedArray)."""


def make_pipeline_space(shapes: Shapes, stages: Sequence[StageFacts], target: Target, wide: bool = True,
                        reductions: Sequence[str] = (), arrays: Sequence[Placeable] = (),
                        computed: Sequence[ComputedArray] = ()) -> Reachable:
    """Return the space of a pipeline with these `stages`, in the order of the source; the rest as for `make_o1_space`.

    `computed`: all arrays that the program computes, each after those that it reads; of these, `arrays` has those that
    later kernels may read through a texture, if they are stored.
    """
    return _PipelineSpace(shapes, tuple(stages), KernelSpace(target, wide), tuple(sorted(reductions)), tuple(arrays),
                          tuple(computed))


@dataclass(frozen=True, slots=True)
class _PipelineSpace:
    shapes: Shapes
    stages: tuple[StageFacts, ...]
    kernels: KernelSpace
    reductions: tuple[str, ...]
    arrays: tuple[Placeable, ...]
    computed: tuple[ComputedArray, ...]
    _askings: Askings = field(default_factory=Askings, init=False, repr=False, compare=False)
    _partners: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    _reading: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    _orders: Mapping[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_orders", offered_dimensions(self.computed) if self.kernels.wide else {})
        object.__setattr__(self, "_partners", _partners(self.stages, self.computed))
        object.__setattr__(self, "_reading", _reading(self.computed))

    @property
    def stage_graph(self) -> StageGraph:
        """See graph.stage_graph.Staged."""
        at_points = {stage.array for stage in self.stages if not stage.by_data
                     and all(reader.elements * reader.often == 1 for reader in stage.readers)}
        nodes = (StageNode(one.array, one.statements, one.reads, sum(extent >= _LONG for extent in one.extents),
                           one.array in at_points) for one in self.computed)
        names = (tuple(f"{name} {axis}" for axis in AXES) for name in (TILE, BLOCK))
        return StageGraph(tuple(nodes), _STAGE, tuple(zip(_PLACES, _ROLES, strict=True)), *names)

    def answers(self, plan: Plan) -> Answers:
        """See graph.reaching.Reachable."""
        if not isinstance(plan.schedule, Stages):
            raise NotOnOffer(
                f"the plan is not in the space: {_STAGE} is not a decision of a {type(plan.schedule).__name__}"
            )
        computed: Mapping[str, str] = dict(plan.schedule.computed)
        return {**{(_STAGE, (stage.array,), 0): computed.get(stage.array, "root") for stage in self.stages},
                **order_answers(self._orders, plan.schedule.contiguous),
                **together_answers(self.computed, plan.schedule.together),
                (LAUNCHES, (), 0): plan.schedule.launches,
                **other_answers(plan, self.shapes, self.reductions, self.arrays)}

    def start(self) -> State:
        """See graph.states.Stepwise: stages first, from the outputs on, then kernels that share, then kernels."""
        return self._placed(len(self.stages), Chosen(self.kernels.target.local_bytes))

    def __call__(self, chooser: Chooser) -> Plan:
        return walked(self.start(), chooser)

    def _placed(self, left: int, chosen: Chosen) -> State:
        """Return the state in which all but the first `left` stages have their places."""
        if not left:
            return self._stored(chosen)
        stage = self.stages[left - 1]

        def find() -> Found:
            options = chosen.options(stage)
            decision = Decision(_STAGE, (stage.array,), (("offered", " ".join(options)),))
            return Asked(decision, options, lambda answer: self._placed(
                left - 1, chosen.placed(stage, next(place for place in options if place == answer))))

        return State(find, Placed(chosen))

    def _stored(self, chosen: Chosen) -> State:
        """Return the state in which all stages have their places."""
        inline = {array for array, place in chosen.places.items() if place == "inline"}
        placed = Placed(chosen, complete=True)
        return replayed(lambda chooser: choose_orders(chooser, self._orders, inline),
                        lambda contiguous: self._shared(placed, Stages(contiguous=contiguous)), placed)

    def _shared(self, placed: Placed, stored: Stages) -> State:
        """Return the state in which it is also decided how arrays are `stored`: an array in another order has its own
        kernel, as neighbouring threads compute other elements of it.
        """
        if not self.kernels.wide:
            return self._reduced(placed, stored)
        inside = {array for array, place in placed.chosen.places.items() if place != "root"}
        sharing, turned = Sharing({one.array: one for one in self.computed}, frozenset(inside)), dict(stored.contiguous)
        return together_states(sharing, [one for one in self.computed if (one.sharable or one.lined)
                                         and one.array not in inside and one.array not in turned],
                               lambda together: self._reduced(placed, replace(stored, together=together)), placed)

    def _reduced(self, placed: Placed, shared: Stages) -> State:
        """Return the state in which it is also decided which arrays share kernels."""
        together = shared.together
        apart = {array for array, place in placed.chosen.places.items() if place != "root"}.union(*together)
        gone = {name for one in (*self.stages, *self.computed) if one.array in apart for name in one.statements}
        offered = [name for name in self.reductions if name not in gone]
        arrays = tuple(
            one for one in self.arrays if not one.stage or self._is_loaded(one.array, placed.chosen, together))

        def ask(chooser: Chooser) -> tuple[tuple[str, ...], bool]:
            return choose_reductions(chooser, offered), self._deep and switch(chooser, Decision(LAUNCHES))

        def then(answers: tuple[tuple[str, ...], bool]) -> State:
            reduced, launches = answers
            schedule = replace(placed.chosen.schedule(reduced), together=together, launches=launches,
                               contiguous=shared.contiguous)
            return kernel_states(schedule, self.shapes, self.kernels, self._askings, arrays, placed)

        return replayed(ask, then, placed)

    @property
    def _deep(self) -> bool:
        """Whether it is asked where parallel loops beyond the third run. A thread of a CPU usually runs rows anyway."""
        asked = has_deep_sums if self.kernels.target.shares_host_cores else is_deep
        return self.kernels.wide and asked(self.computed)

    def _is_loaded(self, array: str, chosen: Chosen, together: tuple[tuple[str, ...], ...]) -> bool:
        """Return whether an array is stored, and kernels other than its own read it."""
        own = {array}.union(self._partners.get(array, ()), *(names for names in together if array in names))
        stored = chosen.places.get(array, "root") == "root"
        return stored and not self._reading.get(array, frozenset()) <= own


def _partners(stages: Sequence[StageFacts], computed: Sequence[ComputedArray]) -> Mapping[str, frozenset[str]]:
    """Return, for each array, those that the statements of its stages compute, too."""
    found: dict[str, frozenset[str]] = {}
    for stage in stages:
        names = frozenset(one.array for one in computed if set(one.statements) <= set(stage.statements))
        found |= {name: found.get(name, frozenset()) | names for name in names}
    return found


def _reading(computed: Sequence[ComputedArray]) -> Mapping[str, frozenset[str]]:
    """Return, for each array, the computed arrays that read it."""
    found: dict[str, set[str]] = {}
    for one in computed:
        for array in one.reads:
            found.setdefault(array, set()).add(one.array)
    return {array: frozenset(names) for array, names in found.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A prefix's facts about stages: the places decided so far; whether all are `complete`."""

    chosen: Chosen
    complete: bool = False


@dataclass
class Chosen:
    """The places of the stages decided so far, and their approximate costs for the kernels that compute them.

    States share these objects, so they are not changed: `placed` makes a new one.

    `_sides`: by stage and kernel, the side length of the part of it that a tile of SIDE^n needs; `_used`: bytes of
    shared memory of such a tile, by kernel.
    """

    local_bytes: int
    places: dict[str, StagePlace] = field(default_factory=dict)
    _inlining: Inlining = field(default_factory=Inlining)
    _sides: dict[str, dict[str, float]] = field(default_factory=dict)
    _used: dict[str, int] = field(default_factory=dict)

    def options(self, stage: StageFacts) -> tuple[StagePlace, ...]:
        """Return the possible places of `stage`, after all its readers are decided."""
        inline = not stage.lines and self._inlining.fits(stage)
        block = stage.rounds <= MOST_ROUNDS and all(used <= self.local_bytes for used in self._with(stage).values())
        return tuple(place for place in _PLACES if place == "root" or (inline if place == "inline" else block))

    def take(self, stage: StageFacts, place: StagePlace) -> None:
        """Compute `stage` there."""
        self.places |= dict.fromkeys((stage.array, *stage.companions), place)
        if place == "inline":
            self._inlining.take(stage)
        if place == "block":
            self._used |= self._with(stage)
        if place != "root":
            self._sides[stage.array] = self._needed(stage)

    def placed(self, stage: StageFacts, place: StagePlace) -> Chosen:
        """Return all places, with `stage` computed there."""
        inlining = Inlining(dict(self._inlining.needed), dict(self._inlining.sizes))
        more = Chosen(self.local_bytes, dict(self.places), inlining, dict(self._sides), dict(self._used))
        more.take(stage, place)
        return more

    def spreads(self, stage: StageFacts, times: int = 1) -> bool:
        """Return whether a tile of SIDE^n needs more than `times` as long a side of `stage`."""
        return any(side > times * SIDE for side in self._needed(stage).values())

    def _needed(self, stage: StageFacts) -> dict[str, float]:
        """Return the side length of the part of `stage` that each kernel would compute."""
        needed: dict[str, float] = {}
        for reader in stage.readers:
            placed = reader.array in self._sides
            slope, margin = (placed and reader.in_block) or (reader.slope, reader.margin)
            for kernel, side in self._sides.get(reader.array, {reader.array: float(SIDE)}).items():
                needed[kernel] = max(needed.get(kernel, 1.0), slope * side + margin)
        return needed

    def _with(self, stage: StageFacts) -> dict[str, int]:
        """Return the shared memory of every kernel that would compute `stage` in blocks."""
        return {kernel: self._used.get(kernel, 0) + stage.element * prod(
                    n if d in stage.lines else min(ceil(side), ceil(self._longest(stage, kernel, d)), n)
                    for d, n in enumerate(stage.extents))
                for kernel, side in self._needed(stage).items()}

    def _longest(self, stage: StageFacts, kernel: str, dim: int) -> float:
        """Return the extent along a dimension of what the readers in a kernel need of `stage`."""
        found = 1.0
        for reader in stage.readers:
            side = self._sides.get(reader.array, {reader.array: float(SIDE)}).get(kernel)
            if side is not None:
                slope, margin = reader.along[dim]
                found = max(found, slope * side + margin)
        return found

    def schedule(self, reductions: tuple[str, ...] = ()) -> Stages:
        """Return the schedule that computes all stages there."""
        computed = ((array, place) for array, place in sorted(self.places.items()) if place != "root")
        return Stages(tuple(computed), reductions)
