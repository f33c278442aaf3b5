"""The guide of the space `pipeline` (`graph.guiding.Guide`): a cost model judges prefixes by their kernels.

The cost of a prefix is the sum over its kernels so far, each tiled in the best way that its answers leave. Stages that
are not decided yet cost nothing, and reading them costs as much as if they were stored (in the paper, as if they were
placed where reading them is cheapest): for kernels that read nothing, which it was not trained on, the learned model
predicts more time instead of less. Decisions outside the model are answered as in the training data of the learned
models: by their defaults, x along rows, sums in registers; on CPUs, loops around launches where they keep sums in
registers. Kernels that no model can judge are those of a start plan.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, log2
from types import MappingProxyType

from experiments.search.guides.grouping import Kernels, always_inlined, first_kernels, places_for_unknown, with_stage
from experiments.search.guides.sizing import sizing_of, sizing_of_plan, way_of
from experiments.search.guides.tables import Table, Tables
from generator.decisions.base import KernelDecision
from generator.decisions.deciding import Deciding, answers_of, closest
from generator.decisions.level import LEVEL
from generator.decisions.points_inside import POINTS_INSIDE
from generator.decisions.registers import REGISTERS
from generator.decisions.sizes import BLOCK, TILE
from generator.decisions.walk import WALK
from generator.decisions.x_dimension import X_DIMENSION
from generator.lowering.analysis.planned import Stored, stored_kernels, turned
from generator.lowering.heuristics.starts import unrated_plan
from generator.plan import KERNEL_DECISIONS, Plan
from generator.program import Program
from generator.schedules.schedule import ONE_THREAD, Schedule
from graph.guiding import Guide, Prefix
from graph.kernel_states import KernelsKnown
from graph.pipeline import LAUNCHES, Placed
from graph.space import Option
from graph.storage import CONTIGUOUS
from metrics.costs.groups import flat

STAGE = "stage"
MANY = 10
"""From this number of stages on, freezing is worthwhile: it takes a fifth of the time, and beams of programs with many
stages find better plans, because they are spread over fewer decisions (docs/benchmarks/overhead.md).
"""
_COARSE: tuple[Option, ...] = ("root", "inline")
_DECISIONS: Mapping[str, KernelDecision[object]] = MappingProxyType({one.name: one for one in KERNEL_DECISIONS})
_CUT = (WALK.name, LEVEL.name)
Subject = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """The kernels of a prefix and the cost of each.

    `details` caches the sizes of the finished kernels at a depth; notes with the same sizes share it.
    """

    kernels: Kernels
    costs: Mapping[str, float]
    details: dict[int, Hashable] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> float:
        """The sum of the costs, at least 1e-12 because costs must be positive."""
        return sum(self.costs.values()) or 1e-12


@dataclass(slots=True)
class StageGuide:
    """See the module. `settled`: answers that are fixed. `coarse_only`: stages are only stored or inlined. `many`: with
    so many stages or more, some are frozen. `serial`: the statements whose host loops run in one thread. `orders`: the
    contiguous dimension of arrays, if it is not the last one.
    """

    program: Program
    tables: Tables
    settled: Mapping[Subject, Option] = field(default_factory=dict)
    coarse_only: bool = False
    many: int = MANY
    serial: frozenset[str] = frozenset()
    orders: Mapping[str, int] = field(default_factory=dict)
    _stored: dict[Schedule, Mapping[tuple[str, ...], Stored]] = field(default_factory=dict)
    _unrated: dict[Schedule, Plan] = field(default_factory=dict)

    def offered(self, prefix: Prefix) -> tuple[Option, ...]:
        """See Guide."""
        decision, options = prefix.state.decision, prefix.state.options
        assert decision is not None
        wanted = self.settled.get((decision.name, decision.subject))
        if len(options) == 1 or wanted in options:
            return options if len(options) == 1 or wanted is None else (wanted,)
        if decision.name == LAUNCHES:
            return (self.tables.launches,)
        if decision.name == ONE_THREAD:
            return (self.serial.issuperset(decision.subject),)
        if decision.name == CONTIGUOUS:
            return (self.orders.get(decision.subject[0], options[0]),)
        if decision.name == STAGE:
            return self._of_stage(prefix, decision.subject[0], options)
        if isinstance(decided := prefix.state.about, Deciding):
            known = prefix.state.known
            if not isinstance(known, KernelsKnown):  # at the first question about the first kernel
                known = prefix.state.choose(options[0]).known
            assert isinstance(known, KernelsKnown)
            return self._of_kernel(prefix, known.schedule, decided, decision.name, options)
        return options[:1]

    def _of_stage(self, prefix: Prefix, stage: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
        node = self.tables.flow.node(stage)
        if node is None or not node.stage:
            return options[:1]  # tuples and lines: the model knows no other place for them
        if "inline" in options and stage in always_inlined(self.tables.flow) and self._may_inline(prefix, stage):
            return ("inline",)
        places = places_for_unknown(self.tables.flow).get(stage, options)
        found = tuple(one for one in options if one in places) or options
        return tuple(one for one in found if one in _COARSE) if self.coarse_only else found

    def _may_inline(self, prefix: Prefix, stage: str) -> bool:
        """Return whether some way is left to tile each kernel with the stage inlined: its only reader may be inlined,
        too, where it costs little without this stage.
        """
        before = self._note(prefix).kernels
        kernels = with_stage(before, self.tables.flow, stage, "inline")
        return all(self._best(kernels, output) < inf for output in _changed(before, kernels))

    def _of_kernel(self, prefix: Prefix, schedule: Schedule, decided: Deciding, name: str,
                   options: tuple[Option, ...]) -> tuple[Option, ...]:
        stored = self._of(schedule).get(decided.statements)
        if stored is None or stored.refusal:
            return (closest(self._started(schedule, decided).get(name), options),)
        if name == X_DIMENSION.name:
            along = [d for d, axis in enumerate(stored.axes) if axis == max(stored.axes) and d in options]
            return tuple(along[:1]) or options[:1]
        if name in _CUT or name.startswith((TILE, BLOCK)):
            return self._left(prefix, stored, decided, name, options)
        if name == POINTS_INSIDE.name and True in options:
            return (decided.shape.steps_on(decided.target),)
        if name == REGISTERS.name and True in options:
            return (True,)
        usual = _DECISIONS[name].default if name in _DECISIONS else None
        return tuple(one for one in options if one == usual and type(one) is type(usual)) or options[:1]

    def _started(self, schedule: Schedule, decided: Deciding) -> Mapping[str, Option]:
        """Return the answers that lead to the kernel of a start plan."""
        if schedule not in self._unrated:
            self._unrated[schedule] = unrated_plan(self.program, decided.target, schedule)
        return answers_of(self._unrated[schedule].kernel(decided.statements))

    def _left(self, prefix: Prefix, stored: Stored, decided: Deciding, name: str,
              options: tuple[Option, ...]) -> tuple[Option, ...]:
        """Return the answers that lead to a possible way to tile the kernel.

        If the space offers none of them, return the largest offered size that is not above that of the best way.
        """
        sizing = sizing_of(decided)
        table = self._table(prefix, stored, sizing.order)
        if table is None:
            return options[:1]
        wanted = sizing.answers(table, name)
        found = tuple(one for one in options if one in wanted)
        if found:
            return found
        best = wanted[0] if wanted else options[0]
        smaller = [one for one in options if isinstance(one, int) and isinstance(best, int) and one <= best]
        return (max(smaller, default=options[0]),)

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        """See Guide."""
        return [self._note(prefix).total for prefix in prefixes]

    def _note(self, prefix: Prefix) -> Note:
        unknown, at = [], prefix
        while not isinstance(at.note, Note) and at.parent is not None:
            unknown.append(at)
            at = at.parent
        if not isinstance(at.note, Note):
            kernels = first_kernels(self.tables.flow, frozenset(n.array for n in self.tables.flow.nodes if n.stage))
            at.note = Note(kernels, {output: self._best(kernels, output) for output in kernels.keys})
        note = at.note
        for one in reversed(unknown):
            one.note = note = self._finished(self._after(note, one), one)
        return note

    def _finished(self, note: Note, prefix: Prefix) -> Note:
        """Return the note with the exact costs of newly finished kernels; several may finish at once without an
        alternative.
        """
        known = prefix.state.known
        if not isinstance(known, KernelsKnown):
            return note
        before = prefix.parent.state.known if prefix.parent is not None else None
        done = known.finished[len(before.finished) if isinstance(before, KernelsKnown) else 0:]
        if not known.left and prefix.state.decision is None:
            done = (*done, prefix.state.plan.kernel(known.decided.statements))
        costs = dict(note.costs)
        for kernel in done:
            stored = self._of(known.schedule).get(kernel.statements)
            if stored is not None and not stored.refusal and stored.output in costs:
                key, axes = note.kernels.keys[stored.output], turned(stored.axes, kernel.order)
                costs[stored.output] = self.tables.cost(key, axes, way_of(kernel))
        return Note(note.kernels, costs) if done else note

    def _after(self, note: Note, prefix: Prefix) -> Note:
        """Return the note of a prefix, computed from that of its parent."""
        assert prefix.choice is not None
        decision, known = prefix.choice.decision, prefix.state.known
        if decision.name == STAGE:
            kernels = with_stage(note.kernels, self.tables.flow, decision.subject[0], str(prefix.choice.option))
            changed = {output: self._best(kernels, output) for output in _changed(note.kernels, kernels)}
            return Note(kernels, {**note.costs, **changed})
        about = prefix.parent.state.about if prefix.parent is not None else None
        if isinstance(about, Deciding) and isinstance(known, KernelsKnown | Placed):
            cut = decision.name in _CUT or decision.name.startswith((TILE, BLOCK))
            return self._with_cut(note, prefix, about.answered(prefix.choice.option)) if cut else note
        return note

    def _with_cut(self, note: Note, prefix: Prefix, decided: Deciding) -> Note:
        known = prefix.parent.state.known if prefix.parent is not None else None
        assert isinstance(known, KernelsKnown)
        stored = self._of(known.schedule).get(decided.statements)
        if stored is None or stored.refusal or stored.output not in note.kernels.keys:
            return note
        sizing, key = sizing_of(decided), note.kernels.keys[stored.output]
        table = self.tables.table(key, turned(stored.axes, sizing.order))
        left = table.costs[sizing.left(table)]
        cost = float(left.min()) if len(left) else note.costs[stored.output]
        return Note(note.kernels, {**note.costs, stored.output: cost}, note.details)

    def _best(self, kernels: Kernels, output: str) -> float:
        node = self.tables.flow.node(output)
        if node is None or node.refusal:
            return 0.0  # every plan has this kernel
        return self.tables.table(kernels.keys[output]).best

    def _table(self, prefix: Prefix, stored: Stored, order: tuple[int, ...]) -> Table | None:
        key = self._note(prefix).kernels.keys.get(stored.output)
        return self.tables.table(key, turned(stored.axes, order)) if key is not None else None

    def _of(self, schedule: Schedule) -> Mapping[tuple[str, ...], Stored]:
        """Return the kernels of a schedule by their statements."""
        if schedule not in self._stored:
            found = stored_kernels(self.program, schedule, self.tables.flow)
            self._stored[schedule] = {one.statements: one for one in found}
        return self._stored[schedule]

    def structure(self, prefix: Prefix, depth: int) -> Hashable:
        """See Guide. Depth 0: the kernels; 1: the dimensions in which they are tiled; 2: tile sizes and the stages in
        blocks; 3: whether there are several threads; 4: how many, and the inlined stages.
        """
        note, known = self._note(prefix), prefix.state.known
        keys = note.kernels.keys
        finished = known.finished if isinstance(known, KernelsKnown) else ()
        now = sizing_of(known.decided) if isinstance(known, KernelsKnown) else None
        seen: list[Hashable] = [frozenset(keys)]
        if depth >= 1:
            if depth not in note.details:
                note.details[depth] = tuple(tuple(_detail(sizing_of_plan(one).sizes, depth)) for one in finished)
            seen.append(note.details[depth])
            seen.append(tuple(_detail(now.sizes, depth)) if now is not None else None)
        if depth >= 2:
            seen.append(frozenset((key.output, key.members) for key in keys.values()))
        if depth >= 4:
            seen.append(frozenset((key.output, key.inlined) for key in keys.values()))
            seen.append(tuple((one.level, one.walk) for one in finished))
        return tuple(seen)

    def is_heavy(self, prefix: Prefix) -> bool:
        """See Guide. After the last stage the kernels are computed with isl."""
        return isinstance(prefix.state.known, Placed) and prefix.state.known.complete

    def coarse(self) -> Guide | None:
        """See Guide. Stages are stored or inlined; None if the stages are too few for freezing."""
        many = sum(node.stage for node in self.tables.flow.nodes) >= self.many
        return replace(self, coarse_only=True) if many else None

    def frozen(self, end: Prefix, turn: int = 0) -> Guide:
        """See Guide. All but the log2(N) most expensive stages keep their places, and those of them that are stored
        their sizes; in further turns all but twice as many, in the order of their costs.
        """
        costs = self.stage_costs(self._note(end))
        kept = set(costs).difference(_open(sorted(costs, key=lambda stage: -costs[stage]), turn))
        places = {choice.decision.subject[0]: choice.option for choice in end.choices if choice.decision.name == STAGE}
        roots = {stage for stage in kept if places.get(stage) == "root"}
        stored = {one.statements for found in self._stored.values() for one in found.values() if one.output in roots}
        settled = {(choice.decision.name, choice.decision.subject): choice.option for choice in end.choices
                   if (choice.decision.name == STAGE and choice.decision.subject[0] in kept)
                   or choice.decision.subject in stored}  # fmt: skip
        return replace(self, settled=settled, coarse_only=False)

    def stage_costs(self, note: Note) -> Mapping[str, float]:
        """Return the cost of each stage: its part of the costs of the kernels that compute it."""
        found: dict[str, float] = {}
        for output, key in note.kernels.keys.items():
            group = self.tables.group(key)
            for stage, share in _shares(group.stages, key.inlined, self):
                found[stage] = found.get(stage, 0.0) + note.costs.get(output, inf) * share
        return found


def _open(stages: Sequence[str], turn: int) -> Sequence[str]:
    """Return the stages that are not frozen in a turn, of those in the order of their costs."""
    many = ceil(log2(len(stages))) if stages else 0
    if turn == 0 or many == 0:
        return stages[:many]
    first = turn % ceil(len(stages) / (2 * many)) * 2 * many
    return stages[first : first + 2 * many]


def _changed(before: Kernels, after: Kernels) -> list[str]:
    """Return the arrays stored by kernels that are new or have other stages."""
    return [output for output, key in after.keys.items() if before.keys.get(output) is not key]


def _shares(stages: Sequence[str], inlined: frozenset[str], guide: StageGuide) -> Iterator[tuple[str, float]]:
    """Yield each stage of a kernel with its fraction of the kernel's arithmetic."""
    flow, parts = guide.tables.flow, dict[str, float]()
    for stage in stages:
        node = flow.node(stage)
        assert node is not None
        if node.refusal:
            continue
        parts[stage] = parts.get(stage, 0.0) + node.points * max(node.arithmetic, 1.0)
        for inner, often in flat(flow, stage, inlined).within:
            found = flow.node(inner)
            assert found is not None
            parts[inner] = parts.get(inner, 0.0) + node.points * often * max(found.arithmetic, 1.0)
    total = sum(parts.values()) or 1.0
    yield from ((stage, part / total) for stage, part in parts.items())


def _detail(sizes: Sequence[int], depth: int) -> Iterator[Hashable]:
    """Yield tile and block sizes, alternating, as precisely as the depth shows them."""
    for place, size in enumerate(sizes):
        shift = 0 if place % 2 == 0 else 2
        yield size if depth >= 2 + shift else size > 1 if depth >= 1 + shift else None
