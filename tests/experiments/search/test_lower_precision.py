"""--precision-of-products: where it makes sense, what is said about it, what a search is offered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.search.lower_precision import check_products, product_notes, searched
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.decisions.base import Known
from generator.decisions.deciding import kernel_words, nearest
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan, plan_from_json
from generator.precision import Precision
from generator.program import Program
from generator.rounding import scale
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES, Target
from runners.cuda.compiler import Nvrtc
from runners.cuda.headers import header_folders
from tests.support.cuda_compiler import translator
from tests.support.slow import few, in_turn
from tests.support.space_plans import random_plans
from tests.support.suite import pipeline_program
from tests.support.targets import CPU, HOPPER, RDNA
from tests.support.tensor_cores import float_problem, tensor_plan

OPTIONS = RunOptions("gemm.c", Compilation(), Budget(evaluations=1), products="fp16")


def lowered_of(plans: Sequence[Plan]) -> list[Plan]:
    return [plan for plan in plans if any(kernel.products != "full" for kernel in plan.kernels)]


def gemm() -> Program:
    return float_problem("gemm").program


@pytest.mark.parametrize(("target", "options", "words"), [
    (CPU, OPTIONS, "test device cannot do that; it takes the tensor cores of an NVIDIA GPU"),
    (RDNA, OPTIONS, "OpenCL and HIP have no way to them"),
    (replace(HOPPER, capability=(7, 5)), replace(OPTIONS, products="tf32"), r"of compute capability 8\.0 or more"),
    (HOPPER, replace(OPTIONS, strict_float=True), "which --strict-float forbids; leave one of them out"),
    (HOPPER, replace(OPTIONS, space="tiles"), "in the space `tiles` nothing decides how products are computed")])
def test_what_cannot_be_is_refused(target: Target, options: RunOptions, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_products(gemm(), target, options)
    check_products(gemm(), target, replace(options, products="full"))


def test_missing_headers_end_a_run_at_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not each of its plans; but where no plan needs them. On a cluster other machines compile."""
    translator(Nvrtc)

    def notes(name: str = "gemm", options: RunOptions = OPTIONS) -> list[str]:
        program = float_problem(name).program
        return list(product_notes(program, default_plan(program, HOPPER), HOPPER, options))

    monkeypatch.setattr("runners.cuda.compiler.header_folders", lambda major: ())
    with pytest.raises(InputError, match=r"--precision-of-products fp16: tensor cores need headers .* `pip install nv"):
        notes()
    assert "changes nothing" in notes("atax")[0]
    assert notes(options=replace(OPTIONS, cluster="tcp://host:8786"))
    assert not notes(options=replace(OPTIONS, products="full"))
    monkeypatch.undo()
    if header_folders(translator(Nvrtc).version[0]):
        assert notes()


@pytest.mark.parametrize("header", ["", "#include <crt/mma_of_another_version.h>\n"])
def test_headers_that_do_not_compile_are_missing_too(header: str, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """A file `mma.h` is there; it is compiled before the first plan is."""
    translator(Nvrtc)
    (tmp_path / "mma.h").write_text(header)
    monkeypatch.setattr("runners.cuda.compiler.header_folders", lambda major: (tmp_path,))
    program = gemm()
    with pytest.raises(InputError, match=r"fp16: tensor cores need .*test_headers.* do not compile: .*error: .*pip"):
        list(product_notes(program, default_plan(program, HOPPER), HOPPER, OPTIONS))


@pytest.mark.parametrize(("name", "words"), [
    ("2mm", "compute the products of S1, S3 on tensor cores, .* results are then checked within 0.78 %"),
    ("atax", "warning: --precision-of-products fp16 changes nothing: .* it has no two parallel dimensions")])
def test_a_run_says_what_it_means(name: str, words: str) -> None:
    program = float_problem(name).program
    options = replace(OPTIONS, cluster="tcp://host:8786")  # this machine may have no compiler
    [note] = product_notes(program, default_plan(program, HOPPER), HOPPER, options)
    assert re.search(words, note)
    assert not list(product_notes(program, default_plan(program, HOPPER), HOPPER, replace(options, products="full")))


@in_turn
def test_a_search_gets_only_what_the_run_allows() -> None:
    program = gemm()
    assert not lowered_of(random_plans(program, HOPPER, "o1", 40, 3))
    found = lowered_of(random_plans(program, searched(HOPPER, OPTIONS), "o1", 40, 3))
    assert found
    for plan in found:
        lower(program, plan, HOPPER)
        assert plan_from_json(plan.to_json()) == plan
        [kernel] = [kernel for kernel in plan.kernels if kernel.products != "full"]
        assert "precision of products fp16" in kernel_words(kernel)


@pytest.mark.parametrize("level", few(["o1", "o2"], 1))
def test_it_begins_with_tensor_cores_too(level: str) -> None:
    options = replace(OPTIONS, level=level)  # type: ignore[arg-type]  # both are levels
    plans = [walk.plan for walk in PARTS.starts(gemm(), HOPPER, options)]
    assert lowered_of(plans[:4]) and not lowered_of(plans[:1])
    assert not lowered_of([walk.plan for walk in PARTS.starts(gemm(), HOPPER, replace(options, products="full"))])


@in_turn
def test_so_do_pipelines() -> None:
    options, program = replace(OPTIONS, space="pipeline"), pipeline_program("conv_layer")
    found = lowered_of([walk.plan for walk in PARTS.starts(program, HOPPER, options)])
    assert {kernel.tile for plan in found for kernel in plan.kernels if kernel.products != "full"} == {
        (1, 64, 64), (1, 64, 128)}
    for plan in found:
        lower(program, plan, HOPPER)
        assert all(kernel.ahead for kernel in plan.kernels if kernel.products != "full")


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
def test_hand_written_plans_are_on_offer_as_they_are(precision: Precision) -> None:
    program = gemm()
    [shape] = kernel_shapes(program, ScheduleChoice(), LANGUAGES["cuda"])
    target = replace(HOPPER, products=precision)
    [kernel] = tensor_plan(program, HOPPER, precision, way="later").kernels
    assert kernel.ahead and kernel.asynchronous == (precision == "tf32")
    assert nearest(kernel, Known(shape, target, True)) == replace(kernel, columns=False)
    assert nearest(kernel, Known(shape, HOPPER, True)).products == "full"
    older = nearest(kernel, Known(shape, replace(target, capability=(8, 0), local_bytes=22 << 10), True))
    assert older.ahead and not older.asynchronous, "two tiles and their sums take more"
    small = replace(target, local_bytes=4 << 10)
    assert lower(program, Plan(ScheduleChoice(), (nearest(kernel, Known(shape, small, True)),)), small)


def test_another_precision_is_one_sentence() -> None:
    with pytest.raises(InputError, match="--precision-of-products is 'fp8'; use tf32 or fp16 or bf16"):
        replace(OPTIONS, products="fp8")  # type: ignore[arg-type]  # as a stored run may have it


def test_the_precision_is_part_of_what_is_measured() -> None:
    plans = [default_plan(gemm(), HOPPER), *(tensor_plan(gemm(), HOPPER, p) for p in ("fp16", "bf16", "tf32"))]
    assert len({plan.digest for plan in plans}) == 4 and "products" not in plans[0].to_json()
    assert [plan.rounded_products for plan in plans] == [0.0, 2**-7, 2**-4, 2**-7]


@pytest.mark.parametrize(("kind", "unit"), [(np.float16, 2**-11), (None, 2**-8)])
@pytest.mark.parametrize("signs", [True, False])
def test_the_tolerance_covers_rounded_factors_and_not_much_more(kind: type | None, unit: float, signs: bool) -> None:
    """The largest error of many sums is within SAFETY, and not a thousand times smaller."""
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-1 if signs else 0, 1, shape).astype(np.float32) for shape in ((64, 300), (300, 64)))

    def rounded(x: NDArray[np.float32]) -> NDArray[np.float64]:
        if kind is not None:
            return x.astype(kind).astype(np.float64)
        return ((x.view(np.uint32) + 0x8000) & 0xffff0000).view(np.float32).astype(np.float64)

    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.max(np.abs(rounded(a) @ rounded(b) - exact) / scale(exact))
    assert error < 2 * 8 * unit < 1000 * error
