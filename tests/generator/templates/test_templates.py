"""A kernel's own text with parameters: variants, refusals with their places, T1 files."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.values.program_json import subject_from_json, to_json
from generator.errors import IllegalPlan, InputError
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan, plan_from_json
from generator.problem import program_of
from generator.templates.building import array, constant, output, texture
from generator.templates.expressions import parse_restriction
from generator.templates.t1 import read_t1_problem
from generator.templates.template import Parameter, Template, template_plan
from generator.templates.variants import VariantMaker
from runners.cuda.compiler import Nvrtc, cuda_compiler
from runners.gpu.units import unpacked
from runners.host_program import launches
from tests.support.cuda_compiler import ELF, translator
from tests.support.suite import polybench_program
from tests.support.targets import HOPPER
from tests.support.templates import CUDA_SUM, GRID, SUM, small_sum, vectors, write_t1

PLAN = template_plan({"block_size_x": 32, "per_thread": 4}.items())


def test_text_stays_and_parameters_become_macros() -> None:
    variant = VariantMaker(small_sum().template, "opencl")(PLAN)
    assert variant.source.endswith(SUM)
    assert "#define block_size_x 32\n#define per_thread 4\n#define add add\n#line 1\n" in variant.source
    (launch,) = launches(variant)
    assert (launch.items, launch.block) == ((8 * 32,), (32,))
    assert variant.kernels[0].arguments == ("c", "a", "b", "n")


def test_plan_of_a_template_has_no_schedule() -> None:
    assert PLAN.schedule is None
    assert PLAN.to_json() == '{"parameters":[["block_size_x",32],["per_thread",4]]}'
    assert plan_from_json(PLAN.to_json()) == PLAN
    assert plan_from_json('{"parameters":[]}') == Plan(None, ())
    with pytest.raises(IllegalPlan, match=r"of a kernel template \(block_size_x = 32, per_thread = 4\), which has no"):
        assert PLAN.scheduled
    with pytest.raises(InputError, match="whose loops antune does not know"):
        program_of(small_sum().template)


@pytest.mark.parametrize(("changes", "essence"), [
    ({"grid": "1000 / 3"}, "the number of blocks along x is 333.333"),
    ({"block": "block_size_x - 32"}, "the number of threads along x is 0"),
    ({"grid": "1000 // (per_thread - 4)"}, "cannot be computed for per_thread = 4"),
])
def test_launches_that_make_no_sense_are_illegal(changes: dict[str, Any], essence: str) -> None:
    with pytest.raises(IllegalPlan, match=essence):
        VariantMaker(small_sum(**changes).template, "opencl")(PLAN)


def test_plans_of_something_else_are_illegal() -> None:
    make = VariantMaker(small_sum(restrictions=["block_size_x * per_thread\n<= 128  # threads"]).template, "opencl")
    gemm = polybench_program("gemm")
    for plan, essence in (
            (template_plan([("block_size_x", 32)]), "other parameters than the template: block_size_x; it has to have"),
            (template_plan([("block_size_x", 33), ("per_thread", 1)]), "has block_size_x = 33, which is none of its"),
            (template_plan([("block_size_x", 64), ("per_thread", 4)]), "does not fulfil `block_size_x \\* per_thread"),
            (default_plan(gemm, HOPPER), "it is the plan of a program")):
        with pytest.raises(IllegalPlan, match=essence):
            make(plan)
    with pytest.raises(IllegalPlan, match="it is the plan of a kernel template"):
        lower(gemm, PLAN, HOPPER)
    assert make(template_plan([("block_size_x", 32), ("per_thread", 4)])).kernels


@pytest.mark.parametrize(("own", "other"), [(1, 1.0), (1, True), (1.0, 1), (True, 1), (False, 0.0)])
def test_macros_have_the_templates_own_values(own: Any, other: Any) -> None:
    """Values that are equal are the same value; the text is that of the template's type."""
    made = small_sum()
    parameters = (*made.template.parameters, Parameter("flag", (own, 7)))
    make = VariantMaker(replace(made.template, parameters=parameters), "opencl")
    one, same = (make(template_plan([*PLAN.parameters, ("flag", value)])) for value in (own, other))
    word = int(own) if isinstance(own, bool) else own
    assert f"#define flag {word}\n" in one.source
    assert same.source == one.source


@pytest.mark.parametrize(("text", "value", "essence"), [
    ("p * 1000000000", "abcd", "calculates with `p`, which is the text 'abcd'"),
    ("p % 5", "%9999999999d", "calculates with `p`"),
    ("p if p else 'abc'", "", "is 'abc'; it has to be a number"),
    ("*".join(["9 ** 64"] * 200), 1, "is too large a number: it has 40"),
    ("9" * 2400, 1, "is too large a number"),
    ("p * 3", 10**2000, "a number of 6644 bits"),
    ("a\n) or (b", 1, "is not a Python expression"),
    (f"({'*'.join(['p'] * 600)}) ** 64", 1, "numbers of more than 500000 bits"),
    (f"({'*'.join(['p'] * 120)}) ** 64", 2**63 - 1, "is too large a number"),
    ("*".join(["p**64"] * 120) + " // (" + "*".join(["p**64"] * 60) + ")", 2**63 - 1, "is too large a number"),
])
def test_expressions_are_bounded(text: str, value: Any, essence: str) -> None:
    start = time.process_time()
    with pytest.raises(InputError, match=essence):
        parse_restriction(text, "size").number({"p": value, "a": 1, "b": 1})
    assert time.process_time() - start < 1


def test_expressions_go_over_several_lines() -> None:
    assert parse_restriction("a > 1  # many\n  and (b >\n 2)").allows((2, 3))


@pytest.mark.parametrize(("before", "own"), [
    ('extern "C" ', True), ('extern"C" ', True), ('extern "C" {\n__device__ int f() { return 1; }\n', True),
    ('// extern "C"\n', False), ('extern "C" int other();\n', False), ('extern "C" {\nint other();\n}\n', False),
])
def test_kernels_in_cuda_get_a_name_that_drivers_find(before: str, own: bool) -> None:
    text = before + CUDA_SUM.partition("\n")[2].partition("\n")[2]
    constants = {"weight": constant(np.ones(1, "float32"))}
    made = small_sum(text, arguments={"c": output(1000), "a": A, "b": B, "n": np.int32(1000), **constants})
    found = VariantMaker(made.template, "cuda")(PLAN).source
    assert ('extern "C" __global__' in found.replace(before, "")) is not own


A, B = vectors()


@pytest.mark.parametrize(("changes", "essence"), [
    ({"parameters": {"block_size_x": [16], "per_thread": [1, 2], "tile": [1, 2]}}, "does not use the parameter `tile`"),
    ({"grid": "ceil(1000 / blok)"}, "the launch of add uses `blok`, which is not a parameter"),
    ({"arguments": {"c": output(1000), "a": A, "n": np.int32(1)}}, "the text of add:1: `add` takes 4 arguments, and 3"),
    ({"arguments": {"c": output(1000), "a": A, "b": B.astype("float64"), "n": np.int32(1)}},
     "argument 3 is `__global const float \\*b`, but `b` has the type double"),
    ({"arguments": {"c": output(1000), "a": A, "b": B, "n": np.int64(1)}}, "argument 4 is `int n`, but `n` has the"),
    ({"arguments": {"c": output(1000), "a": A, "b": B, "n": A}}, "argument 4 is `int n`, but `n` is an array"),
    ({"arguments": {"c": output(1000), "a": A, "b": np.float32(1), "n": np.int32(1)}}, "but `b` is a value"),
    ({"arguments": {"c": output(1000), "a": A, "b": B, "n": 5}}, "give a NumPy scalar"),
    ({"answer": {"c": A[:10]}}, "the answer for `c` has 10 elements, the argument has 1000"),
    ({"answer": {"a": A}}, "the answer has `a`, which is not an output; outputs are c"),
    ({"answer": {}}, "the answer lacks `c`"),
    ({"language": None, "text": "void add(int n);\n"}, "neither `__kernel` nor `__global__`"),
    ({"text": SUM.replace("add", "sum")}, "has no kernel `add`"),
    ({"block": ["1", "1", "1", "1"]}, "`block` has 4 sizes"),
    ({"grid": "__import__('os')"}, "calls `__import__`"),
    ({"grid": 2.5}, "`grid` has the size 2.5; give whole numbers"),
    ({"restrictions": ["blok > 1"]}, "`blok > 1` names `blok`, which is not a parameter; there are block_size_x"),
    ({"restrictions": "block_size_x > 1"}, "give a list of expressions"),
    ({"parameters": {"block_size_x": [16, 16], "per_thread": [1]}}, "`block_size_x` has a value twice"),
    ({"parameters": {"block_size_x": [], "per_thread": [1]}}, "`block_size_x` has no values"),
    ({"parameters": {"block_size_x": "16", "per_thread": [1]}}, "`block_size_x` has the values '16'; give a list"),
    ({"parameters": {"block_size_x": [2**64], "per_thread": [1]}}, "a number of more than 64 bits"),
    ({"parameters": {"block_size_x": ["1\n#x"], "per_thread": [1]}}, "macros have one line"),
    ({"parameters": {"block size": [1]}}, "the parameter `block size` is not a name in C"),
    ({"arguments": {"c": A, "a": A, "b": B, "n": np.int32(1)}, "answer": None}, "`add` has no output"),
    ({"arguments": {"c": output(0), "a": A, "b": B, "n": np.int32(1)}, "answer": None}, "has the shape .0,."),
    ({"arguments": {"c": output(9), "a": np.ma.masked_array(A), "b": B, "n": np.int32(1)}}, "`a` has a mask"),
    ({"tolerance": (1e-3,)}, "give two numbers from 0"),
    ({"arguments": {"c": output(1000), "a": A, "b": texture(B), "n": np.int32(1)}},
     "argument 3 is `__global const float \\*b`, no texture, but `b` is one; give the array itself"),
    ({"text": SUM.replace("__global const float *b", "__read_only image1d_buffer_t b")},
     "argument 3 is `__read_only image1d_buffer_t b`, a texture, but `b` is none; give texture.b."),
    ({"text": SUM.replace("__global const float *b", "__read_only image2d_t b"),
      "arguments": {"c": output(1000), "a": A, "b": texture(B.astype("float64")), "n": np.int32(1)}},
     "`b` cannot be a texture: .* of float, int or unsigned int"),
    ({"tolerance": (1e-3, -1.0)}, "give two numbers from 0"),
    ({"grid": "per_thread * " * 300 + "per_thread"}, "is too long"),
    ({"grid": "(9 ** 64) ** 64"}, "takes a power of a power"),
])
def test_what_does_not_fit_is_refused(changes: dict[str, Any], essence: str) -> None:
    with pytest.raises(InputError, match=essence):
        small_sum(**changes)


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "add.cl"
    file.write_text("// a sum\n\n" + SUM)
    with pytest.raises(InputError, match=f"{file}:3: `add` takes 4 arguments, and 1 are given: c"):
        small_sum(str(file), arguments={"c": output(1000)})


def test_answer_may_be_a_function() -> None:
    def answer(a: Any, b: Any, **_others: Any) -> Any:
        return a + b

    made = small_sum(answer=answer)
    assert np.array_equal(made.outputs["c"], A + B)
    assert made.problem.reference.origin == "answer"
    assert small_sum(answer=None).problem.reference.origin == "first"


def test_cuda_text_compiles_under_its_own_name_and_fills_constants() -> None:
    translator(Nvrtc)
    made = small_sum(CUDA_SUM, arguments={"c": output(1000), "a": A, "b": B, "n": np.int32(1000),
                                          "weight": constant(np.ones(1, "float32"))})
    assert made.template.dialect == "cuda"
    variant = VariantMaker(made.template, "cuda")(PLAN)
    assert variant.kernels[0].arguments == ("c", "a", "b", "n")
    assert 'extern "C" __global__ __launch_bounds__(block_size_x) void add(' in variant.source
    codes = cuda_compiler(HOPPER).compile(variant).codes
    assert unpacked(codes[0]).code.startswith(ELF)
    assert VariantMaker(made.template, "hip")(PLAN).dialect == "hip"
    with pytest.raises(InputError, match="is CUDA text, which the device does not take"):
        VariantMaker(made.template, "opencl")


def test_a_stored_template_is_what_it_was_and_others_are_refused() -> None:
    stored = small_sum(tolerance=(1e-3, 1e-6), defines={"PI": "3.14f"}).template
    assert subject_from_json(to_json(stored)) == stored
    for text in (to_json(stored).replace('"float"', '"floaty"', 1), to_json(stored).replace('"c"', '"c;"', 1),
                 to_json(stored).replace("[16,32,64]", '[{"is":"Tolerance"}]', 1)):
        with pytest.raises(InputError, match="cannot be read"):
            subject_from_json(text)


def test_t1_file_is_read(tmp_path: Path) -> None:
    found = read_t1_problem(write_t1(tmp_path), 0)
    template = found.subject
    assert isinstance(template, Template)
    assert (template.name, template.kernel, template.dialect) == ("sum", "add", "opencl")
    assert template.grid == ("ceil((1000) / ((block_size_x) * (per_thread)))",)
    assert template.first == (("block_size_x", 32), ("per_thread", 2))
    assert found.reference.inputs["b"][3] == 2.0
    assert 0 <= found.reference.inputs["a"].min() < found.reference.inputs["a"].max() <= 1
    assert np.array_equal(found.reference.inputs["a"], read_t1_problem(write_t1(tmp_path), 0).reference.inputs["a"])


@pytest.mark.parametrize(("changes", "essence"), [
    ({"Language": "Vulkan"}, "`Language` is 'Vulkan'"),
    ({"KernelFile": "none.cl"}, "the KernelFile `none.cl` is not there"),
    ({"KernelName": "plus"}, "has no kernel `plus`"),
    ({"CompilerOptions": ["-cl-fast-relaxed-math"]}, "the compiler option `-cl-fast-relaxed-math` is not supported"),
    ({"Arguments": [{"Name": "c", "Type": "float", "MemoryType": "Vector", "Size": "open('x')"}]}, "calls `open`"),
    ({"Arguments": [{"Name": "c", "Type": "float", "MemoryType": "Vector", "Size": "block_size_x"}]},
     "depends on `block_size_x`, which has no single value"),
    ({"Arguments": [{"Name": "c", "Type": "float4", "MemoryType": "Vector", "Size": 4}]}, "has the type 'float4'"),
    ({"Arguments": []}, "add.cl:1: `add` takes 4 arguments, and 0 are given: none"),
    ({"LocalSize": {"X": [1]}}, "`LocalSize` is [1], not a finite number"),
    *(({"Arguments": [{"Name": "c", "Type": "int8", "Size": 4, **more}]}, essence) for more, essence in (
        ({"FillValue": 300}, "`FillValue of c` is 300, which the type char cannot hold"),
        ({"FillValue": 0.5}, "`FillValue of c` is 0.5, which the type char cannot hold"),
        ({"FillType": "Random", "FillValue": 1e30}, "is 1e+30, which the type char cannot hold"),
        ({"FillValue": "many"}, "`FillValue of c` is 'many', not a finite number"),
        ({"AccessType": "Write"}, "has the AccessType 'Write'"), ({"MemoryType": "Tape"}, "the MemoryType 'Tape'"))),
])
def test_other_t1_files_are_refused(tmp_path: Path, changes: dict[str, Any], essence: str) -> None:
    with pytest.raises(InputError, match=re.escape(essence)):
        read_t1_problem(write_t1(tmp_path, **changes), 0)


def test_global_size_in_threads_is_a_number_of_blocks(tmp_path: Path) -> None:
    file = write_t1(tmp_path, GlobalSizeType="OpenCL", GlobalSize={"X": "1000"}, GridDivX=None)
    file.write_text(file.read_text().replace('"GridDivX": null, ', ""))
    found = read_t1_problem(file, 0)
    assert isinstance(found.subject, Template)
    assert found.subject.grid == ("ceil((1000) / (block_size_x))",)


def test_roles_of_arguments() -> None:
    made = small_sum(arguments={"c": array(A, "inout"), "a": A, "b": array(B, "temp"), "n": np.int32(1000)})
    assert [one.role for one in made.template.arrays] == ["inout", "in", "temp", "in"]
    assert GRID.format(n=1000) == made.template.grid[0]
    assert replace(made.template, name="x").digest != made.template.digest
