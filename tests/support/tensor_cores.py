"""Plans and programs for tensor cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Literal, get_args

import numpy as np

from generator.decisions.fragments import MOST_HELD, ROUNDED_LATER, held
from generator.errors import IllegalPlan
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.precision import DEPTH, Precision
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from tests.support.cuda_double import lower_for_host
from tests.support.suite import ODD_SIZES, problem

FLOAT = "DATA_TYPE_IS_FLOAT"
TILES = ((32, 32, (2, 32), 32, 8), (16, 16, (2, 16), 16, 0), (64, 32, (4, 32), 16, 8), (32, 64, (8, 32), 64, 0),
         (16, 32, (1, 32), 64, 8), (128, 16, (8, 16), 32, 8), (48, 128, (8, 32), 32, 8), (80, 64, (4, 32), 16, 0))
"""Rows, columns, threads, terms at a time, padding."""


def float_problem(name: str) -> Problem:
    """Return a program of PolyBench with float data, of sizes that no tile divides."""
    return problem(name, (*ODD_SIZES[name], FLOAT))


Way = Literal["at once", "ahead", "later"]
WAYS: tuple[Way, ...] = get_args(Way)


def tensor_plan(program: Program, target: Target, precision: Precision, number: int = 0,
                way: Way = "at once") -> Plan:
    """Return the default plan, with all sums of products on tensor cores, and one of TILES.

    The next tile is fetched `ahead` if there are enough registers, and asynchronously (`later`) if it need not be
    rounded.
    """
    plan = default_plan(program, target)
    shapes = {shape.statements: shape for shape in kernel_shapes(program, plan.scheduled, target.language)}
    rows, columns, threads, depth, padding = TILES[number]
    depth = max(depth, DEPTH[precision])
    later = way == "later" and precision in ROUNDED_LATER
    ahead = later or (way != "at once" and held(rows, columns, depth, prod(threads)) <= MOST_HELD)

    def changed(kernel: KernelPlan) -> KernelPlan:
        shape = shapes[kernel.statements].ordered(kernel.order)
        if shape.contraction is None:
            return kernel
        count = len(kernel.tile)
        sizes = [1] * count, [1] * count
        for d, size, block in zip(shape.contraction, (rows, columns), threads, strict=True):
            sizes[0][d], sizes[1][d] = size, block
        return KernelPlan(kernel.statements, tuple(sizes[0]), tuple(sizes[1]), inner_tile=depth,
                          padding=padding, order=kernel.order, products=precision, vector=(4, 1, 2)[number % 3],
                          ahead=ahead, asynchronous=later)

    kernels = tuple(map(changed, plan.kernels))
    if kernels == plan.kernels:
        raise IllegalPlan(f"{program.name} has no sum of products")
    return replace(plan, kernels=kernels)


def lower_for_whole_numbers(program: Program, plan: Plan, target: Target) -> Variant:
    """The real lowering, for compile workers; the check ignores the rounding of factors, so results must be those of
    float.
    """
    variant = lower_for_host(program, plan, target)
    return replace(variant, plan=replace(plan, kernels=tuple(replace(k, products="full") for k in plan.kernels)))


def sum_of_products(rng: np.random.Generator) -> str:
    """Return a C program with a random form of a sum of products, of integers that every precision can represent."""
    m, n, k, b = (int(rng.integers(low, high)) for low, high in ((17, 50), (17, 50), (9, 40), (2, 4)))
    if rng.integers(2):
        m, n, k = (4 * (size // 4) for size in (m, n, k))
    first, batch = int(rng.choice([0, 0, 1, 4])), bool(rng.integers(2))
    left, right = str(rng.choice(["A[i][k]", "A[k][i]"])), str(rng.choice(["B[k][j]", "B[j][k]"]))
    shapes: dict[str, tuple[int, ...]] = {
        "A": (m, k) if left == "A[i][k]" else (k, m), "B": (k, n) if right == "B[k][j]" else (n, k), "C": (m, n)}
    target = "C[i][j]"
    if batch:
        left, target = left.replace("A[", "A[r]["), "C[r][i][j]"
        shapes |= {"A": (b, *shapes["A"]), "C": (b, m, n)}
    triangle = bool(rng.integers(2)) and m <= n
    scale, sign = str(rng.choice(["", "s[i] * ", "2.0f * "])), str(rng.choice(["+", "-"]))
    before = str(rng.choice(["", f"{target} = 0;", f"{target} *= 3;"]))
    after = str(rng.choice(["", f"{target} = {target} > 5 ? {target} : 5;"]))
    bound = "j <= i" if triangle else f"j < {n}"
    loops = f"for (int i = {first}; i < {m}; i++) for (int j = 0; {bound}; j++)"
    loops = f"for (int r = 0; r < {b}; r++) {loops}" if batch else loops
    value = f"{scale}{left} * {right}"
    if rng.integers(2):
        shapes |= {"D": shapes["A"], "E": shapes["B"], "s": (m,)}
        value += f" {rng.choice(['+', '-'])} {rng.choice([scale, 's[i] * '])}{left} * {right}".translate(_OTHERS)
    body = f"{before} for (int k = {first}; k < {k}; k++) {target} {sign}= {value}; {after}"
    return whole_numbers_in(shapes | {"s": (m,)}, f"{loops} {{ {body} }}")


_OTHERS = str.maketrans({"A": "D", "B": "E"})
"""Arrays of a second product with the forms of the first one."""


FORMS: Mapping[str, tuple[dict[str, tuple[int, ...]], str]] = {
    "guarded batches": (
        {"I": (3, 8, 20, 9), "W": (9, 40), "C": (3, 8, 20, 40)},
        ("for (int n = 0; n < 3; n++) for (int y = 0; y < 8; y++) for (int i = 0; i < 20; i++) "
        "for (int j = 0; j < 40; j++) { C[n][y][i][j] = 0; "
        "if (y >= 2) for (int k = 0; k < 9; k++) C[n][y][i][j] += I[n][y][i][k] * W[k][j]; }")),
    "batches of later images": (
        {"I": (5, 7, 20, 9), "W": (9, 40), "C": (5, 7, 20, 40)},
        ("for (int n = 2; n < 5; n++) for (int y = 1; y < 7; y++) for (int i = 0; i < 20; i++) "
        "for (int j = 0; j < 40; j++) { C[n][y][i][j] *= 2; "
        "if (n >= 3) for (int k = 0; k < 9; k++) C[n][y][i][j] += I[n][y][i][k] * W[k][j]; }")),
    "loops of tiles": (
        {"A": (2, 50, 48), "B": (2, 48, 20), "C": (50, 20)},
        ("for (int i = 0; i < 50; i++) for (int j = 0; j < 20; j++) for (int k_tile = 0; k_tile < 2; k_tile++) "
        "for (int k = 0; k < 48; k++) C[i][j] += A[k_tile][i][k] * B[k_tile][k][j];")),
    "iterators called like copies": (
        {"A": (20, 12), "B": (3, 12, 20), "C": (20, 20)},
        ("for (int i = 0; i < 20; i++) for (int j = 0; j < 20; j++) for (int sums = 0; sums < 3; sums++) "
        "for (int A_tile = 0; A_tile < 12; A_tile++) C[i][j] += A[i][A_tile] * B[sums][A_tile][j];")),
    "products of other forms": (
        {"A": (45, 19), "B": (19, 37), "C": (45, 37), "D": (19, 45), "E": (37, 19), "s": (45,), "r": (37,)},
        ("for (int i = 0; i < 45; i++) for (int j = 0; j < 37; j++) for (int k = 0; k < 19; k++) "
        "C[i][j] -= A[i][k] * r[j] * B[k][j] - E[j][k] * D[k][i] * s[i] + 2.0f * A[i][k] * E[j][k];")),
    "right factors of iterators": (
        {"A": (45, 19), "C": (45, 37)},
        ("for (int i = 0; i < 45; i++) for (int j = 0; j < 37; j++) for (int k = 0; k < 19; k++) "
        "C[i][j] += A[i][k] * (float)(k + j);")),
    "left factors of iterators": (
        {"B": (19, 37), "C": (45, 37)},
        ("for (int i = 0; i < 45; i++) for (int j = 0; j < 37; j++) for (int k = 0; k < 19; k++) "
        "C[i][j] += (float)(i + k) * B[k][j];")),
    "second products with iterators": (
        {"A": (45, 19), "B": (19, 37), "C": (45, 37)},
        ("for (int i = 0; i < 45; i++) for (int j = 0; j < 37; j++) for (int k = 0; k < 19; k++) "
        "C[i][j] += A[i][k] * B[k][j] + (float)(i + k) * B[k][j];")),
    "bands": (
        {"A": (90, 19), "B": (19, 80), "C": (90, 80)},
        ("for (int i = 0; i < 90; i++) for (int j = 0; j < 80; j++) { C[i][j] += 1; "
        "if (i + 20 < 2 * j && 2 * j < i + 60) for (int k = 0; k < 19; k++) C[i][j] += A[i][k] * B[k][j]; }")),
    "triangles that grow": (
        {"A": (3, 50, 12), "B": (12, 40), "C": (50, 50), "D": (50, 50)},
        ("for (int t = 0; t < 3; t++) { for (int i = 0; i < 50; i++) for (int j = 0; j < 40; j++) if (j <= i + 9 * t) "
        "{ C[i][j] = 0; for (int k = 0; k < 12; k++) C[i][j] += A[t][i][k] * B[k][j]; } "
        "for (int i = 0; i < 50; i++) for (int j = 0; j < 50; j++) D[i][j] += C[49 - i][49 - j] + C[i][j]; }")),
    "steps of a host loop": (
        {"A": (4, 20, 12), "B": (12, 20), "C": (20, 20), "D": (20, 20)},
        ("for (int t = 0; t < 4; t++) { for (int i = 0; i < 20; i++) for (int j = 0; j < 20; j++) { C[i][j] = 0; "
        "for (int k = 0; k < 12; k++) C[i][j] += A[t][i][k] * B[k][j]; } "
        "for (int i = 0; i < 20; i++) for (int j = 0; j < 20; j++) D[i][j] += C[19 - i][19 - j] + C[i][j]; }")),
}
"""Arrays and loops of sums of products in which loops are nested in uncommon ways."""


def whole_numbers_in(shapes: Mapping[str, tuple[int, ...]], loops: str) -> str:
    """Return a C program whose arrays have these shapes and small integers; it runs `loops`."""
    declared = ", ".join(name + "".join(f"[{size}]" for size in shape) for name, shape in shapes.items())
    filled = "".join(
        f"for (int q = 0; q < {int(np.prod(shape))}; q++) ((float *){name})[q] = (q * {step} + q / 7) % 9 - 4;\n"
        for (name, shape), step in zip(shapes.items(), (5, 7, 11, 13, 17, 19, 23), strict=False))
    first = "C" + "[0]" * len(shapes["C"])
    return (f"static float {declared};\nint main(void) {{\n{filled}#pragma scop\n{loops}\n#pragma endscop\n"
            f"return (int){first};\n}}\n")
