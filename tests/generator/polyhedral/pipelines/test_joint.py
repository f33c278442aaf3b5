"""Tuples, and lines that one thread computes in order: which groups of nests are such, and what plans make of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.pipelines.sections import kernels_of, sections
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.polyhedral.pipelines.stages import possible_stages
from generator.program import Program, Where, computed_by, lines_of
from generator.schedules.stages import Stages
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import random_kernel, run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import counted, few
from tests.support.stages import in_steps
from tests.support.suite import TARGET

N = 12
DECLARATIONS = f"int A[{N}][{N}], B[{N}][{N}], out[{N}][{N}], in[{N}]; unsigned char u[{N}][{N}];"
OVER = f"for (i = 0; i < {N}; i++) for (j = 0; j < {N}; j++)"
INNER = f"for (i = 1; i < {N}; i++) for (j = 1; j < {N}; j++)"
T, V = f"int t[{N}][{N}]; ", f"int v[{N}][{N}]; "
FILL = T + f"{OVER} t[i][j] = A[i][j] * 3;"
COPY = f"{OVER} out[i][j] = t[i][j] + t[{N - 1} - i][j / 2];"
BOTH = f"{OVER} out[i][j] = t[i][j] - v[i][(j + 2) / 2];"
START = T + V + f"{OVER} {{ t[i][j] = A[i][j]; v[i][j] = B[i][j] + 1; }}"

TUPLES = {
    "two values": START + BOTH,
    "read at different places": START + f"{INNER} out[i][j] = t[i - 1][j] + v[i][j - 1] * t[i][j];",
    "updates that read each other": START
    + f"{OVER} {{ t[i][j] = t[i][j] * 2 + v[i][j]; v[i][j] = t[i][j] - v[i][j]; }}" + BOTH,
    "the least and where it is": START + f"for (i = 0; i < {N}; i++) for (j = 0; j < {N}; j++) for (k = 0; k < 5; k++)"
    " { t[i][j] = B[j][k] < v[i][j] ? k : t[i][j]; v[i][j] = B[j][k] < v[i][j] ? B[j][k] : v[i][j]; }" + COPY,
    "swapped through scalars": "int p, q; " + START
    + f"{OVER} {{ p = v[i][j] + 1; q = t[i][j]; t[i][j] = p; v[i][j] = q; }}" + BOTH,
    "under a condition of data": START + f"{OVER} {{ if (A[i][j] > 4) t[i][j] = v[i][j]; if (t[i][j] % 3 == 1) "
    "v[i][j] += 7; }" + BOTH,
    "under a condition of loops": START + f"{OVER} if (i > j) {{ t[i][j] = v[i][j]; v[i][j] += 7; }}" + BOTH,
    "an update of one of them": START + f"{OVER} v[i][j] += t[i][j];" + BOTH,
    "a value for one iteration": T + f"int w; {OVER} {{ w = A[i][j] + 1; t[i][j] = w * w; }}" + COPY,
}
"""C programs whose arrays `t` and `v` are computed together, element by element."""

LINES = {
    "a scan": ((1,), FILL + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) t[i][j] += t[i][j - 1];" + COPY),
    "a scan along columns": ((0,), FILL + f"for (i = 1; i < {N}; i++) for (j = 0; j < {N}; j++) "
                             "t[i][j] = t[i - 1][j] * 3 + B[i][j];" + COPY),
    "forth and back": ((1,), FILL + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) t[i][j] += t[i][j - 1] / 2; "
                       f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) "
                       f"t[i][{N - 1} - j] -= t[i][{N} - j] / 2;" + COPY),
    "both dimensions": ((0, 1), FILL + f"{INNER} t[i][j] = t[i - 1][j] + t[i][j - 1];" + COPY),
    "diagonals": ((0, 1), FILL + f"{INNER} t[i][j] += t[i - 1][j - 1];" + COPY),
    "a histogram of each row": ((1,), T + f"{OVER} t[i][j] = 0; {OVER} t[i][u[i][j] % {N}] += 1;" + COPY),
    "a histogram of all": ((0, 1), T + f"{OVER} t[i][j] = 0; {OVER} t[u[i][j] % 7][u[j][i] % {N}] += 1;" + COPY),
    "neighbours in a condition": ((1,), FILL + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) "
                                  "if (t[i][j - 1] > 3) t[i][j] -= B[i][j];" + COPY),
    "single columns": ((1,), FILL + f"for (i = 0; i < {N}; i++) t[i][2] = A[i][0] - t[i][2]; "
                       f"for (i = 1; i < {N}; i++) t[i][3] += in[i];" + COPY),
    "a scan of a tuple": ((1,), START + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) "
                          "{ t[i][j] += v[i][j - 1]; v[i][j] -= t[i][j]; }" + BOTH),
    "with a scalar": ((1,), "int w; " + FILL + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) "
                      "{ w = t[i][j - 1] + B[i][j]; t[i][j] = w * 3; }" + COPY),
    "a part of the rows": ((1,), FILL + f"for (i = 2; i < {N - 1}; i++) for (j = 1; j <= i; j++) "
                           "t[i][j] += t[i][j - 1];" + COPY),
}
"""C programs whose array `t` is computed line by line, and along which dimensions."""

NOTHING = {
    "one of them is a result": T + f"{OVER} {{ t[i][j] = A[i][j]; out[i][j] = t[i][j]; }}",
    "different loops": START + f"for (i = 0; i < {N}; i++) {{ v[i][0] += 1; for (j = 0; j < {N}; j++) "
    "t[i][j] += v[i][j]; }" + BOTH,
    "different extents": T + f"int s[{N}]; for (i = 0; i < {N}; i++) {{ t[i][i] = 0; s[i] = in[i]; }}"
    f"{OVER} t[i][j] = s[i]; " + COPY,
    "a start of a part": T + f"{INNER} t[i][j] = A[i][j]; {INNER} t[i][j] += t[i][j - 1];"
    f"{INNER} out[i][j] = t[i][j];",
    "a start that reads the other": T + V + f"{OVER} {{ t[i][j] = A[i][j]; v[i][j] = t[i][j] + 1; }} "
    f"{OVER} t[i][j] += v[i][j];" + BOTH,
    "an input that changes": START + f"{OVER} B[i][j] = 0;" + BOTH,
    "a decreasing loop": FILL + f"for (i = 0; i < {N}; i++) for (j = {N - 2}; j >= 0; j--) t[i][j] += t[i][j + 1];"
    + COPY,
    "a value for one iteration, at a place that changes": T + V + f"int w[64]; "
    f"{OVER} {{ t[i][j] = j + 1; v[i][j] = 0; }} {OVER} {{ w[t[i][j]] = A[i][j]; t[i][j] = t[i][j] - 1; "
    "v[i][j] += t[i][j] > 0 ? w[t[i][j]] : 0; }" + BOTH,
}
"""C programs in which nothing can be computed where it is read."""


S = f"int s[64]; int k; for (k = 0; k < 64; k++) s[k] = in[k % {N}] * 3 + k; "
R = f"int r[{N}][{N}]; "

CHAINS: dict[str, tuple[dict[str, Where], str]] = {
    "a value that chooses elements of a stage": (
        {"s": "inline", "t": "inline", "v": "inline"}, S + START.replace("A[i][j]", "u[i][j] % 5")
        + f"{OVER} {{ v[i][j] += s[t[i][j]]; t[i][j] = t[i][j] + 1; v[i][j] += 7 * s[t[i][j]]; }}" + BOTH),
    "a local value that does": (
        {"s": "inline", "t": "inline"}, "int w; " + S + T + f"{OVER} t[i][j] = 0; {OVER} "
        "{ w = u[i][j] % 5; t[i][j] += s[w]; w = w + 1; t[i][j] += 7 * s[w]; }" + COPY),
    "a value of which a guard decides and that does": (
        {"s": "inline", "t": "inline", "v": "inline"}, S + START.replace("A[i][j]", "u[i][j] % 5")
        + f"{OVER} {{ v[i][j] += s[t[i][j]]; if (B[i][j] > 3) t[i][j] = t[i][j] + 1; v[i][j] += 7 * s[t[i][j]]; }}"
        + BOTH),
    "elements of a stage that choose those of another": (
        {"s": "inline", "r": "inline", "t": "inline", "v": "inline"}, S + R + f"{OVER} r[i][j] = (A[i][j] + j) & 63; "
        + START.replace("A[i][j]", "u[i][j] % 5")
        + f"{OVER} {{ v[i][j] += s[r[i][t[i][j]]]; t[i][j] = t[i][j] + 1; v[i][j] += 7 * s[r[i][t[i][j]]]; }}" + BOTH),
    "elements of a line that do": (
        {"s": "inline", "t": "block"}, S + T + f"{OVER} t[i][j] = u[i][j] % 5; "
        f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) {{ t[i][j] += s[t[i][j - 1] & 31]; "
        "t[i][j - 1] = t[i][j] & 7; t[i][j] += 3 * s[t[i][j - 1] & 31]; }" + COPY),
    "a scan of a scan": (
        {"t": "block", "r": "block"}, FILL + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) "
        f"t[i][j] += t[i][j - 1]; " + R + f"{OVER} r[i][j] = t[i][{N - 1} - j]; for (i = 1; i < {N}; i++) "
        f"for (j = 0; j < {N}; j++) r[i][j] += r[i - 1][j] - t[i - 1][j]; {OVER} out[i][j] = r[i][j] + t[j][i];"),
    "a histogram of an inline stage under a guard": (
        {"t": "block", "r": "inline"}, R + f"{OVER} r[i][j] = (A[i][j] * A[i][j]) & 7; " + T
        + f"{OVER} t[i][j] = 0; {OVER} if (r[i][j] > 2) t[i][r[i][j]] += r[i][j];" + COPY),
    "a tuple that reads a scan": (
        {"t": "block", "v": "inline", "r": "inline"}, FILL + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) "
        "t[i][j] += t[i][j - 1]; " + V + R + f"{OVER} {{ v[i][j] = t[i][j]; r[i][j] = t[j][i]; }} "
        f"{OVER} {{ v[i][j] += r[i][j]; r[i][j] -= v[i][j] * 2; }} {OVER} out[i][j] = r[j][i] + v[i / 2][j];"),
}
"""C programs of several stages, and the places of these."""


def program(body: str) -> Program:
    return expand(program_of(scop(body, DECLARATIONS)))


def planned(found: Program, where: Where, seed: int, walk: bool = False) -> Plan:
    """A plan with all possible stages there, and random kernels; with `walk`, of blocks that walk."""
    return plan_with(found, dict.fromkeys(possible_stages(found), where), seed, walk)


def plan_with(found: Program, places: Mapping[str, Where], seed: int, walk: bool) -> Plan:
    """The same with these places."""
    rng = np.random.default_rng(seed)
    schedule = Stages(tuple(sorted(places.items())))
    kernels = []
    for one in kernels_of(found, schedule):
        kernel = random_kernel(one.statements, len(one.part.parallel), rng)
        kernels.append(in_steps(kernel, rng) if walk and len(kernel.tile) > 1 else kernel)
    return Plan(schedule, tuple(sorted(kernels, key=lambda k: k.statements)))


def check(found: Program, plan: Plan, seed: int) -> None:
    """What the plan computes is what the program computes."""
    memory = run_plan(found, plan, np.random.default_rng(seed))
    assert not differences(found, memory, run_original(found)), plan.to_json()


@pytest.mark.parametrize("name", few(TUPLES, 5))
def test_tuples_are_right_in_threads_and_in_blocks(name: str) -> None:
    found = program(TUPLES[name])
    assert "t" in possible_stages(found)
    steps = possible_stages(found)["t"]
    assert steps[0].nest == 0 and not lines_of(steps) and len(stage_facts(found)) == 1
    check(found, planned(found, "inline", 1), 1)
    for seed in range(2):
        check(found, planned(found, "block", seed, walk=seed == 1), seed)


@pytest.mark.parametrize(("name", "count"), counted(LINES, 6, 2, 4))
def test_lines_are_right_in_blocks(name: str, count: int) -> None:
    lines, body = LINES[name]
    found = program(body)
    steps = possible_stages(found)["t"]
    assert lines_of(steps) == lines
    for seed in range(count):
        check(found, planned(found, "block", seed, walk=seed > 0), seed)
    with pytest.raises(IllegalPlan, match=r"cannot be inline: an element needs others of its line along dimension"):
        sections(found, Stages(tuple((array, "inline") for array in possible_stages(found))))


@pytest.mark.parametrize("name", few(CHAINS, 2))
def test_chains_of_them_are_right(name: str) -> None:
    places, body = CHAINS[name]
    found = program(body)
    for walk in (False, True):
        check(found, plan_with(found, places, 1, walk), 1)


@pytest.mark.parametrize("name", NOTHING)
def test_what_is_neither(name: str) -> None:
    assert not possible_stages(program(NOTHING[name]))


def test_values_of_a_tuple_have_one_place() -> None:
    found = program(TUPLES["two values"])
    assert list(possible_stages(found)) == ["t", "v"]
    for computed in ((("t", "block"),), (("t", "inline"), ("v", "block"))):
        with pytest.raises(IllegalPlan, match="`t`, `v` are computed together, so that they have one place"):
            sections(found, Stages(computed))


def test_values_that_nobody_reads_have_no_box() -> None:
    found = program(TUPLES["the least and where it is"])
    assert list(possible_stages(found)) == ["t"] and computed_by(possible_stages(found)["t"]) == ("t", "v")
    [fact] = stage_facts(found)
    assert (fact.array, fact.companions, fact.element) == ("t", (), 4)
    text = lower(found, small(found, (("t", "block"),)), TARGET).source
    assert "t_here" in text and "v_here" not in text


def small(found: Program, computed: tuple[tuple[str, Where], ...]) -> Plan:
    [kernel] = kernels_of(found, Stages(computed))
    return Plan(Stages(computed), (KernelPlan(kernel.statements, (4, 4), (2, 2)),))


def test_threads_share_out_lines_and_both_boxes_of_a_tuple_are_filled_at_once() -> None:
    text = lower(program(LINES["a scan"][1]), small(program(LINES["a scan"][1]), (("t", "block"),)), TARGET).source
    assert "all threads compute t_here (12 x 12 elements), whole lines" in text
    both = program(TUPLES["updates that read each other"])
    text = lower(both, small(both, (("t", "block"), ("v", "block"))), TARGET).source
    assert text.count("all threads compute v_here and t_here") == 1 and text.count("all threads") == 1


def test_the_iterations_of_a_line_are_those_of_all_nests() -> None:
    found = program(FILL + f"for (i = 0; i < {N}; i++) for (j = 1; j < {N}; j++) t[i][j] += t[i][j - 1];" * 5 + COPY)
    [fact] = stage_facts(found)
    assert fact.rounds == N + 5 * (N - 1)
    [both] = stage_facts(program(LINES["a scan of a tuple"][1]))
    assert both.rounds == N + N - 1
