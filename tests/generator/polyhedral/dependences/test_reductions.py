"""Reductions: which statements are one, what their updates add in C's arithmetic, and what still has an order."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from generator.errors import IllegalPlan, InputError
from generator.expr import Load
from generator.polyhedral.dependences.reductions import order_of, parallel_reductions, reducible, update_of
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.interpreter import Memory, assign, evaluate, run_original
from tests.support.orders import conflicts, differences, extension, reachable, run_in
from tests.support.programs import original_order, pairs, program_of, scop
from tests.support.updates import updates_text
from tests.support.values import operate

TYPES = ("double A[16][16], B[16][16], x[64], y[64], s; float f[64], g; int p[64], m, idx[64]; unsigned int u[64], v; "
         "long l[64], q; unsigned long w[64]; char c[64], d; short h[64]; unsigned char b[64];")


def program(body: str) -> Program:
    return program_of(scop(body, TYPES))


def updates(body: str) -> tuple[str, ...]:
    """Operator and contribution of the only reduction of a SCoP; () for none."""
    found = program(body)
    (name,) = reducible(found) or ("",)
    update = update_of(found, found.statement(name)) if name else None
    return () if update is None else (update.operator,)


LOOP = "for (i = 0; i < 8; i++) "
SQUARE = "for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) "

OPERATORS = {
    "s += x[i]": "+",
    "s -= x[i]": "+",
    "s *= x[i]": "*",
    "s = s + x[i]": "+",
    "s = x[i] + s": "+",
    "s = x[i] - y[i] + s": "+",
    "s = s - x[i]": "+",
    "s = s - x[i] - y[i] + 3": "+",
    "s = x[i] * s * y[i]": "*",
    "s = fmin(s, x[i])": "min",
    "s = fmax(x[i], s)": "max",
    "g = fminf(g, f[i])": "min",
    "g = fmin(g, f[i])": "min",
    "s = s < x[i] ? s : x[i]": "min",
    "s = x[i] <= s ? x[i] : s": "min",
    "s = s > x[i] ? x[i] : s": "min",
    "s = s > x[i] ? s : x[i]": "max",
    "s = x[i] >= s ? x[i] : s": "max",
    "s = s < x[i] ? x[i] : s": "max",
    "m = m < p[i] ? p[i] : m": "max",
    "y[0] += x[i]": "+",
    "y[i % 3] += x[i]": "+",
    "y[i / 2] += x[i] * i": "+",
    "y[3 - i / 3] *= x[i]": "*",
    "m += p[i] * 2": "+",
    "m -= l[i]": "+",
    "q += p[i]": "+",
    "q -= u[i]": "+",
    "m = m < h[i] ? m : h[i]": "min",
    "v = v < u[i] ? v : u[i]": "min",
    "c[0] += h[i]": "+",
    "s += f[i]": "+",
    "s -= u[i]": "+",
    "g += x[i]": "+",
    "d = d < c[i] ? d : c[i]": "min",
    "s += (i > 3 ? x[i - 3] : y[i])": "+",
    "s += x[idx[i]]": "+",
    "y[idx[i]] += x[i]": "+",
    "y[idx[i]] = x[i] + y[idx[i]]": "+",
    "y[idx[i]] = fmin(y[idx[i]], x[i])": "min",
    "v = v > c[i] ? v : c[i]": "max",
    "if (x[i] > 0) s += x[i]": "+",
    "if (x[i] > y[i] && p[i]) s *= x[i]": "*",
    "if (x[i] > s) s = x[i]": "max",
    "if (s >= x[i]) s = x[i]": "min",
    "if (p[i] && m < p[i + 1]) m = p[i + 1]": "max",
    "if (y[0] > x[i]) y[0] = x[i]": "min",
    "if (p[i]) y[idx[i]] += x[i]": "+",
    "if (p[i]) s = fmax(s, x[i])": "max",
}


@pytest.mark.parametrize("body", OPERATORS)
def test_reductions(body: str) -> None:
    assert updates(LOOP + body + ";") == (OPERATORS[body],)


NONE = {
    "a plain store": LOOP + "s = x[i];",
    "every element once": LOOP + "y[i] += x[i];",
    "it reads what it writes": LOOP + "y[i / 2] += y[i];",
    "it reads another element of its target": SQUARE + "y[i] += y[0] * A[i][j];",
    "its target twice": LOOP + "s = s + s * x[i];",
    "its target twice in a sum": LOOP + "s = s + x[i] + s;",
    "subtracted from": LOOP + "s = x[i] - s;",
    "divided": LOOP + "s /= x[i];",
    "a quotient": LOOP + "s = s * x[i] / y[i];",
    "a sum of products": LOOP + "s = (s + x[i]) * y[i];",
    "a product of sums": LOOP + "s = s * y[i] + x[i];",
    "a negated product": LOOP + "s = x[i] + -s;",
    "a minimum of something else": LOOP + "s = s < x[i] ? x[i] : y[i];",
    "a choice by something else": LOOP + "s = y[i] < x[i] ? s : x[i];",
    "equality": LOOP + "s = s == x[i] ? s : x[i];",
    "scaled": LOOP + "s = fmin(s, x[i]) * 2;",
    "under a condition on itself": LOOP + "if (s > 0) s += x[i];",
    "under a condition on its own array": LOOP + "if (y[i] > 0) y[i / 2] += x[i];",
    "the greatest of something else": LOOP + "if (x[i] > s) s = y[i];",
    "not the greatest": LOOP + "if (x[i] != s) s = x[i];",
    "a char compared as int": LOOP + "if (h[i] < d) d = h[i];",
    "an element that it chooses by itself": LOOP + "idx[idx[i]] += 1;",
    "an element chosen otherwise": LOOP + "y[idx[i]] = y[idx[i + 1]] + x[i];",
    "an integer that takes up reals": LOOP + "m += f[i];",
    "an integer that takes up reals in a product": LOOP + "m *= x[i];",
    "an integer minimum of reals": LOOP + "m = m < x[i] ? m : x[i];",
    "an integer minimum by fmin": LOOP + "m = fmin(m, p[i]);",
    "an integer minimum compared as unsigned": LOOP + "m = m < u[i] ? m : u[i];",
    "an integer minimum compared as long": LOOP + "m = m < l[i] ? m : l[i];",
    "a char minimum compared as int": LOOP + "d = d < h[i] ? d : h[i];",
    "a double minimum rounded to float": LOOP + "s = fminf(s, x[i]);",
    "cast": LOOP + "m = (int)(m + 0.5 * p[i]);",
    "bits": LOOP + "m |= p[i];",
    "shifted": LOOP + "m <<= p[i];",
}


@pytest.mark.parametrize("name", NONE)
def test_no_reductions(name: str) -> None:
    assert updates(NONE[name]) == ()


def test_a_name_that_is_no_reduction_is_refused() -> None:
    found = program("s = 0; " + LOOP + "s += x[i];")
    assert reducible(found) == ("S1",)
    with pytest.raises(IllegalPlan, match="S0 is not a reduction; reductions are S1"):
        schedule_kernels(found, ScheduleChoice(reductions=("S0",)))
    with pytest.raises(IllegalPlan, match="reductions are none"):
        schedule_kernels(program(LOOP + "x[i] = 0;"), ScheduleChoice(reductions=("S0",)))


def test_strict_float_and_small_types_are_not_offered() -> None:
    found = program(LOOP + "{ s += x[i]; g = fminf(g, f[i]); m += p[i]; q *= l[i]; d += c[i]; h[0] += c[i]; }")
    assert reducible(found) == ("S0", "S1", "S2", "S3", "S4", "S5")
    assert parallel_reductions(found, strict_float=False) == ("S0", "S1", "S2", "S3")
    assert parallel_reductions(found, strict_float=True) == ("S2", "S3")


# Contributions whose C arithmetic differs from that of the target.
MIXED = (
    "q -= u[i]",
    "s -= u[i]",
    "q = q + u[i] - u[i + 1]",
    "q = q + (u[i] - u[i + 1])",
    "q += -u[i]",
    "q -= -u[i]",
    "s = s * u[i] * u[i + 1]",
    "s = s * (u[i] * u[i + 1])",
    "q = q + p[i] * 99999 - u[i]",
    "s = s * -x[i]",
    "s = s * x[i] * -y[i]",
    "v -= l[i] * 1000000",
    "m -= w[i]",
    "q = u[i] - u[i + 1] + q",
    "s = s - u[i] - 2u",
    "q = q > u[i] * 5 ? q : u[i] * 5",
    "v = v < p[i] - 500000 ? v : p[i] - 500000",
    "c[0] -= u[i]",
    "b[0] *= h[i]",
    "s += -u[i] - 1",
    "g -= u[i] * 2",
    "if (u[i] > 3) q -= u[i]",
    "if (u[i] * 5 > q) q = u[i] * 5",
    "if (p[i] && l[i] < q) q = l[i]",
    "q *= u[i] - u[i + 2]",
    "q = q - (u[i] + 4000000000u)",
)


@pytest.mark.parametrize("body", MIXED)
def test_contributions_are_what_c_adds(body: str) -> None:
    check_contributions(program(LOOP + body + ";"))


def check_contributions(found: Program) -> int:
    """Execute all reductions by their updates instead of their bodies; how many there are."""
    memory, statements = Memory(found), {s.name: s for s in found.statements}
    made = {name: update_of(found, statements[name]) for name in reducible(found)}
    for name, values in original_order(found):
        body, names = statements[name].body, dict(zip(statements[name].iterators, values, strict=True))
        update = made.get(name)
        if update is None:
            if body.guard is None or evaluate(body.guard, names, memory):
                assign(body, names, memory)
            continue
        if update.guard is not None and not evaluate(update.guard, names, memory):
            continue
        index = tuple(evaluate(i, names, memory) for i in body.target.index)
        kind = memory.types[body.target.array]
        value = evaluate(update.contribution, names, memory)
        memory.store(body.target.array, index,
                     operate(kind, update.operator, memory.load(body.target.array, index), value))
        access = statements[name].accesses[update.read]
        assert (access.kind, access.array) == ("read", body.target.array)
    assert not differences(found, memory, run_original(found))
    return len(made)


ORDERS = {
    "sum": "s = 0; for (i = 0; i < 4; i++) s += p[i]; m = s;",
    "partial results": "for (i = 0; i < 3; i++) { for (j = 0; j < 3; j++) q += p[i + j]; l[i] = q; }",
    "read before": "for (i = 0; i < 3; i++) { l[i] = q; for (j = 0; j < 2; j++) q += p[i + j]; }",
    "reset": "for (i = 0; i < 3; i++) { q = i; for (j = 0; j < 3; j++) q *= p[j]; l[i] = q; }",
    "reset now and then": "for (i = 0; i < 6; i++) { if (i % 3 == 0) q = p[i]; q += l[i]; }",
    "two on one element": "for (i = 0; i < 4; i++) { q += p[i]; q *= l[i]; }",
    "two sums on one element": "for (i = 0; i < 4; i++) q += p[i]; for (i = 0; i < 3; i++) q -= l[i];",
    "some elements shared": "for (i = 0; i < 3; i++) for (j = 0; j < 3; j++) { l[i] += p[j]; l[j + 1] = 2 * l[j + 1]; "
        "}",
    "it feeds another": "for (i = 0; i < 3; i++) { for (j = 0; j < 2; j++) l[i] += p[j]; q += l[i]; }",
    "they feed each other": "for (i = 0; i < 3; i++) { for (j = 0; j < 2; j++) l[j] += p[i]; for (j = 0; j < 2; j++) "
    "p[j + i + 1] += l[j]; }",
    "minimum": "for (i = 0; i < 4; i++) { m = m < p[i] ? m : p[i]; p[i + 1] = m; }",
    "guarded": "for (i = 0; i < 4; i++) { q += p[i]; if (u[i] % 2) q = 1; }",
    "guarded update": "for (i = 0; i < 4; i++) { if (u[i] % 2) q += p[i]; l[i] = q; }",
    "guarded updates": "for (i = 0; i < 6; i++) { if (u[i] % 2) q += p[i]; if (i == 3) q = 7; if (p[i] > m) m = p[i]; "
        "} l[0] = q + m;",
    "triangle": "for (i = 0; i < 4; i++) for (j = 0; j < i; j++) { l[i] += l[j] * p[j]; q += l[i]; }",
    "backwards": "for (i = 4; i > 0; i--) { l[i / 2] += p[i]; p[i - 1] = l[i / 2]; }",
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders(name: str) -> None:
    found = program(ORDERS[name])
    for chosen in ((), reducible(found), reducible(found)[:1]):
        check_order(found, chosen, np.random.default_rng(1), 12)


def check_order(found: Program, reductions: tuple[str, ...], rng: np.random.Generator, times: int) -> None:
    """What `order_of` asks for is what brute force asks for, and every order that respects it gives the same result."""
    order = order_of(found, reductions)
    asked, needed = pairs(order.dependences), conflicts(found, set(reductions))
    assert asked <= needed, "two instances are ordered without a reason"
    assert needed <= reachable(asked), "two instances that must not change places are not ordered"
    assert pairs(order.flow) <= asked
    expected = run_original(found)
    for _ in range(times):
        assert not differences(found, run_in(found, extension(found, asked, rng)), expected)


def test_updates_really_change_places() -> None:
    found = program(ORDERS["partial results"])
    asked = pairs(order_of(found, ("S0",)).dependences)
    orders = {tuple(extension(found, asked, np.random.default_rng(seed))) for seed in range(9)}
    assert len(orders) > 1
    assert all(tuple(original_order(found)) == tuple(extension(found, pairs(order_of(found, ()).dependences),
                                                               np.random.default_rng(seed))) for seed in range(3))


def test_an_order_that_brute_force_refuses_gives_another_result() -> None:
    """The oracle itself sees what a wrong order does."""
    found = program(ORDERS["partial results"])
    asked = {pair for pair in pairs(order_of(found, ("S0",)).dependences) if pair[1][0] != "S1"}
    wrong = [
        differences(found, run_in(found, extension(found, asked, np.random.default_rng(seed))), run_original(found))
        for seed in range(9)
    ]
    assert any(wrong)


def check_seed(seed: int) -> str:
    """A random program; what it was good for."""
    try:
        found = program_of(updates_text(seed))
    except InputError:
        return "empty"
    count = check_contributions(found)
    if len(original_order(found)) <= 60 and count:
        rng = np.random.default_rng(seed)
        check_order(found, tuple(name for name in reducible(found) if rng.integers(3)), rng, 3)
        return "orders"
    return "contributions" if count else "no reduction"


def test_random_programs() -> None:
    counts = Counter(check_seed(seed) for seed in range(15))
    assert counts["orders"] >= 2
    assert counts["contributions"] >= 7


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 200))
def test_many_random_programs(first: int) -> None:
    counts = Counter(check_seed(seed) for seed in range(first, first + 200))
    assert counts["orders"] >= 15


def test_loads_keep_the_number_of_their_access() -> None:
    found = program(LOOP + "q = q + p[i] - u[i];")
    update = update_of(found, found.statements[0])
    assert update is not None
    numbers = {load.access: load.array for load in _loads(update.contribution)}
    assert {found.statements[0].accesses[k].array: array for k, array in numbers.items()} == {"p": "p", "u": "u"}


def _loads(expr: object) -> list[Load]:
    if isinstance(expr, Load):
        return [expr]
    return [load for name in getattr(expr, "__slots__", ()) for load in _loads(getattr(expr, name))]
