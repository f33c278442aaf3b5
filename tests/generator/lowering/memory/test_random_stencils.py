"""Random stencils with random plans for their shared copies, whose rows may be widened to whole vectors (`aligned`):
right, without races, every access in bounds and at a multiple of its vector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, walk
from generator.plan import Plan
from generator.problem import Problem
from generator.problem import program_of as program_in
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, random_kernel, run_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import few
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

TYPES = ("int", "float", "short", "char", "double", "long")
FEW, MANY, WATCHED = (4, 9), range(100), range(12)


class Stencil:
    """Statements over a box or a triangle, some with a sum over `k`. They read A and C with offsets, backwards, in
    steps of two, or along the sum. `extents` grow with the accesses.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, dims = rng, int(rng.choice([1, 2, 2, 3]))
        self.names, self.sum, self.type = "ijl"[-dims:], bool(rng.integers(3) == 0), str(rng.choice(TYPES))
        self.lows = [int(rng.integers(4)) for _ in self.names]
        self.highs = [low + int(rng.integers(2, 7)) for low in self.lows]
        self.highs[-1] += int(rng.integers(4, 18))
        self.triangle = dims > 1 and rng.integers(5) == 0
        ways = [*"+++-2", *("k" * self.sum)]
        self.ways = {array: [str(rng.choice(ways)) for _ in self.names] for array in "AC"[:int(rng.integers(1, 3))]}
        self.extents = {array: [1] * dims for array in self.ways}

    def read(self, array: str) -> str:
        """Return an access."""
        index, extents = [], self.extents[array]
        for d, (name, way) in enumerate(zip(self.names, self.ways[array], strict=True)):
            low, high, more = self.lows[d], self.highs[d], int(self.rng.integers(4))
            less = more - min(low, 2)
            text, last = {"+": (f"{name} + {less}", high + less), "-": (f"{high + more} - {name}", high - low + more),
                          "2": (f"2 * {name} + {more}", 2 * high + more), "k": (f"k + {more}", 9 + more)}[way]
            extents[d] = max(extents[d], last + 1)
            index.append(f"[{text}]")
        return array + "".join(index)

    def texts(self) -> tuple[str, str]:
        """Return the statements and the declarations; rows are often multiples of a vector."""
        loops = [f"for ({name} = {low}; {name} <= {high}; {name}++)"
                 for name, low, high in zip(self.names, self.lows, self.highs, strict=True)]
        if self.triangle:
            first = f"{self.lows[-1]} + {self.names[0]} - {self.lows[0]}"
            loops[-1] = f"for ({self.names[-1]} = {first}; {self.names[-1]} <= {self.highs[-1]}; {self.names[-1]}++)"
        loops += ["for (k = 2; k < 10; k++)"] * self.sum
        targets = [f"{out}[{']['.join(self.names)}]" for out in "BD"[:int(self.rng.integers(1, 3))]]
        values = [" + ".join(self.read(array) for array in self.ways for _ in "12") for _ in targets]
        body = " ".join(f"{one} {'+' * self.sum}= {value};" for one, value in zip(targets, values, strict=True))
        rows = int(self.rng.choice([1, 2, 4, 4, 4, 8]))
        for extents in self.extents.values():
            extents[-1] = -(-extents[-1] // rows) * rows
        shapes = self.extents | {target[0]: [high + 1 for high in self.highs] for target in targets}
        declared = " ".join(f"{self.type} {name}{''.join(f'[{n}]' for n in shape)};" for name, shape in shapes.items())
        return f"{' '.join(loops)} {{ {body} }}", declared


def stencil(seed: int) -> tuple[str, str]:
    return Stencil(np.random.default_rng(seed)).texts()


def program(seed: int) -> Program:
    return program_of(scop(*stencil(seed)).replace("int i, j, k;", "int i, j, k, l;"))


def problem(seed: int) -> Problem:
    """The program on data."""
    body, declared = stencil(seed)
    arrays = [(one.split("[")[0].split()[-1], one.count("[")) for one in declared.split(";")[:-1]]
    filled = " ".join(f"for (int p = 0; p < sizeof({name}) / sizeof({name}{'[0]' * dims}); p++) "
                      f"(&{name}{'[0]' * dims})[p] = (p * 7 + {dims}) % 23 - 9;" for name, dims in arrays)
    text = (f"{declared.replace('; ', ';')}\nint main(void) {{\nint i, j, k, l; {filled}\n#pragma scop\n{body}\n"
            "#pragma endscop\nreturn 0; }\n")
    return read_untimed(write_c(text), Compilation(), None, None, {}, 0)


def random_plan(shapes: Sequence[KernelShape], rng: np.random.Generator) -> Plan:
    """Return a plan in which the rows of tiles often are multiples of a vector."""
    kernels = []
    for shape in shapes:
        kernel, wide = random_kernel(shape.statements, len(shape.extents), rng), int(rng.choice([2, 4]))
        tile = (*kernel.tile[:-1], kernel.tile[-1] * (wide if rng.integers(5) else 1))
        points = tile[-1] // kernel.block[-1]
        swizzled = shape.shareable if rng.integers(6) == 0 and len(tile) > 1 else ()
        kernels.append(replace(
            kernel, tile=tile, shared=True, exchange=False, combine="shared", aligned=wide, swizzled=swizzled,
            vector=int(rng.choice([wide, wide, 4])), padding=0 if swizzled else int(rng.choice([0, wide, 1])),
            inner_tile=int(rng.choice([1, 2, 3, 4, 8])), asynchronous=kernel.ahead and bool(rng.integers(2)),
            run=int(rng.choice([run for run in (1, 2, 4, 8) if points % run == 0]))))
    return Plan(ScheduleChoice(), tuple(sorted(kernels, key=lambda kernel: kernel.statements)))


def legal_plans(found: Program, rng: np.random.Generator, count: int) -> Iterator[Plan]:
    """Yield up to `count` plans; others are refused for what they cannot have."""
    shapes = kernel_shapes(found, ScheduleChoice(), LANGUAGES["cuda"])
    for _ in range(4 * count):
        if not count:
            return
        plan = random_plan(shapes, rng)
        try:
            lower(found, plan, HOPPER)
        except IllegalPlan as refused:
            assert any(words in str(refused) for words in ("no copy has other rows", "swizzled rows")), refused
        else:
            count -= 1
            yield plan


def seen_in(found: Program, plan: Plan) -> Counter[str]:
    """What its copies have."""
    seen = Counter[str]()
    for kernel in lowered_kernels(found, plan, "cuda"):
        copies = {box.name for box in kernel.shared if isinstance(box, CopiedBox)}
        filled = [node for node in walk(kernel.body) if isinstance(node, Assign) and node.target.array in copies]
        seen += Counter({"copied": bool(filled), "in vectors": any(node.wide for node in filled),
                         "asynchronous": any(node.later for node in filled)})
    return seen


@pytest.mark.parametrize("seed", few(MANY, FEW))
def test_in_python(seed: int) -> None:
    """With checked accesses, barriers and copies."""
    found, rng = program(seed), np.random.default_rng(seed)
    original = run_original(found)
    for plan in legal_plans(found, rng, 1 if seed in FEW else 4):
        memory = run_plan(found, plan, rng, target=HOPPER)
        assert not differences(found, memory, original), plan.to_json()
        assert seen_in(found, plan)["in vectors"] or seed not in FEW


@pytest.mark.slow
@pytest.mark.parametrize("seed", WATCHED)
def test_on_the_stand_in(seed: int, watched_gpu: WatchedGpu) -> None:
    """No races, and no vector at another address."""
    found = problem(seed)
    if plans := list(legal_plans(program_in(found.subject), np.random.default_rng(seed), 3)):
        watched_gpu.check(found, plans)


@pytest.mark.slow
@pytest.mark.parametrize("seed", WATCHED)
@pytest.mark.parametrize("selector", ["pocl", pytest.param("intel", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))])
def test_on_cpus(seed: int, selector: str) -> None:
    found = problem(seed)
    kernels = [tuple(replace(kernel, asynchronous=False) for kernel in plan.kernels)
               for plan in legal_plans(program_in(found.subject), np.random.default_rng(seed), 2)]
    check_plans(device_named(selector), found, [Plan(ScheduleChoice(), each) for each in kernels])
