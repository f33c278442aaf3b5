"""Random plans of all levels on the CPU devices: none is accepted with a wrong result, and what is offered is legal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from experiments.run import tune
from experiments.store import read_store
from experiments.suites.polybench import program_file, programs
from experiments.values.options import Budget, LevelName, RunOptions, Timing
from experiments.values.outcome_rows import kind_of
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from metrics.outcome import Illegal, WrongResult
from runners.devices import list_devices
from tests.support.programs import write_c
from tests.support.runs import Log
from tests.support.slow import few
from tests.support.space_plans import random_plans
from tests.support.suite import ODD_SIZES, large_program, polybench_program
from tests.support.targets import CPU

pytestmark = pytest.mark.usefixtures("optimized")

PER_LEVEL = 34
"""Plans of a program at a level: more than 3,000 of the 30 programs."""
LEVELS: tuple[LevelName, ...] = ("o1", "o2", "o3")
MINI = ("MINI_DATASET",)
SIZES = {"gramschmidt": ODD_SIZES["gramschmidt"]}
"""Where MINI_DATASET will not do: the columns of gramschmidt's depend on each other there, so that the program divides
rounding errors by rounding errors and no two orders of its sums agree.
"""


def found(
    file: Path, device: str, level: LevelName, plans: int, folder: Path, defines: tuple[str, ...] = MINI
) -> Counter[str]:
    """The kinds of outcomes of random plans. Fails for a wrong result."""
    options = RunOptions(
        str(file),
        Compilation(defines=defines),
        Budget(evaluations=plans),
        explorer="random",
        device=device,
        level=level,
        seed=7,
        timing=Timing(100, 1, finalists=0),
    )
    tune(options, folder, Log())
    with read_store(folder) as store:
        results = store.results()
    wrong = [
        f"{r.outcome.message}: {r.evaluation.plan.to_json()}" for r in results if isinstance(r.outcome, WrongResult)
    ]
    assert not wrong, wrong[0]
    illegal = [r.outcome.message for r in results if isinstance(r.outcome, Illegal)]
    if illegal:
        print(file.name, level, device, "illegal:", Counter(illegal).most_common(3))
    return Counter(kind_of(r.outcome) for r in results)


@pytest.fixture(params=["pocl", "intel"])
def device(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not any(name in entry.key for entry in list_devices()):
        pytest.skip(f"no device of {name}")
    return name


@pytest.mark.slow
@pytest.mark.parametrize("program", programs())
def test_random_plans_are_right(program: str, device: str, tmp_path: Path) -> None:
    kinds: Counter[str] = Counter()
    for level in LEVELS:
        kinds += found(program_file(program), device, level, PER_LEVEL, tmp_path / level, SIZES.get(program, MINI))
    assert 100 * kinds["illegal"] < kinds.total(), kinds


def refusals(program: Program, target: Target, level: LevelName, count: int) -> list[str]:
    """Why plans of the space cannot be lowered, of `count` random ones."""
    said = []
    for plan in random_plans(program, target, level, count, 7):
        try:
            lower(program, plan, target)
        except IllegalPlan as illegal:
            said.append(f"{illegal}: {plan.to_json()}")
    return said


@pytest.mark.parametrize(
    ("name", "count"), few([("syr2k", 6), ("correlation", 200), ("covariance", 200), ("syr2k", 200)], 1)
)
def test_what_the_upper_levels_offer_can_be_lowered(name: str, count: int) -> None:
    program = polybench_program(name)
    said = [words for level in LEVELS[1:] for words in refusals(program, CPU, level, count)]
    assert 100 * len(said) < 2 * count, said


def test_which_arrays_have_copies_depends_on_the_dimension_of_neighbours() -> None:
    shapes = kernel_shapes(large_program("bicg"), ScheduleChoice(reductions=("S2", "S3"), serialize_sccs=True))
    [shape] = [shape for shape in shapes if shape.statements == ("S3",)]
    assert "A" not in shape.shareable and "A" in shape.ordered((1, 0)).shareable, "columns are read then"


@pytest.mark.slow
@pytest.mark.parametrize("name", programs())
def test_what_is_on_offer_at_a_large_size_fits(name: str) -> None:
    """Copies follow the order of dimensions, and threads that add up in shared memory need room for their parts."""
    said = [words for level in LEVELS for words in refusals(large_program(name), CPU, level, 40)]
    assert 100 * len(said) < len(LEVELS) * 40, said


TRIANGLE = """
double C[64][64];
int main(void) {
#pragma scop
  for (int i = 0; i < 61; i++)
    for (int j = 0; j <= i; j++) C[i][j] = C[i][j] * 2 + 1;
#pragma endscop
  return 0;
}
"""


@pytest.mark.parametrize(("count", "least"), few([(3, 3), (6, 5)], 1))
def test_guards_of_a_triangle_are_right(count: int, least: int, device: str, tmp_path: Path) -> None:
    kinds = found(write_c(TRIANGLE, tmp_path), device, "o3", count, tmp_path / "run", ())
    assert kinds["timed"] + kinds["timed_out"] >= least, kinds
