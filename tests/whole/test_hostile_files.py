"""Plans, restrictions and recordings that somebody damaged or made to hurt: one message each, at once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.errors import InputError
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.schedules.choice import ScheduleChoice
from generator.templates.expressions import parse_restriction
from generator.templates.t1 import read_t1_problem
from generator.templates.template import Parameter
from graph.template import TemplateSpace
from graph.walk import choices_from_json
from runners.replay.reading import read_recording
from runners.replay.t1 import read_t1
from tests.support.recordings import cache, t1, t4
from tests.support.slow import few
from tests.support.templates import write_t1

PLAN = Plan(
    ScheduleChoice(),
    (KernelPlan(("S0",), (32, 8), (8, 8), order=(1, 0)), KernelPlan(("S1",), (4,), (4,))),
    (("A", "texture"),),
)
PARAMETERS = [Parameter("a", (2, 64, 1000)), Parameter("b", (1, 2)), Parameter("mode", ("x", "y"))]
A_SECOND = 1.0


def plan_text(**changes: Any) -> str:
    data = json.loads(PLAN.to_json())
    data["kernels"][0] |= changes
    return json.dumps(data)


@pytest.mark.parametrize(
    "text",
    [
        plan_text(order=["x", 0]),
        plan_text(order=[0.5, 1]),
        plan_text(order=[[0], 1]),
        plan_text(tile=[10**400, 8]),
        plan_text(unroll=10**18),
        "[" * 50_000,
        "[" * 50_000 + "]" * 50_000,
        '{"a":' * 50_000,
        "1" * 5000,
        PLAN.to_json().replace("32", "1" * 400),
        "nul",
        "",
    ],
)
def test_hostile_plans(text: str) -> None:
    began_s = time.monotonic()
    with pytest.raises(InputError):
        plan_from_json(text)
    assert time.monotonic() - began_s < A_SECOND


@pytest.mark.parametrize(
    "text",
    [
        "((((a**64)**64)**64)**64)**64 > 0",
        '("x" if a else "y")*9999999999 == b',
        "mode * 9999999999 == b",
        "(mode or a) * 9999999999 == b",
        "max(mode, mode) * 999999999 == b",
        "a**(b**64) > 0",
        "(1 if a else (2, 3)) * 999999999 == b",
        "-(a**64)**64 > 0",
        "a" + "**2" * 3000,
        "min([mode]) * 999999999 == b",
        "(" * 500 + "a" + ")" * 500,
        "*".join(["a**64"] * 3000),
    ],
)
def test_hostile_restrictions(text: str) -> None:
    began_s = time.monotonic()
    with pytest.raises(InputError):
        TemplateSpace(PARAMETERS, [text])
    assert time.monotonic() - began_s < A_SECOND


def test_the_longest_restriction_that_is_read_is_quick() -> None:
    text = "*".join(["a**64"] * 110) + " // (1 + " + "*".join(["a**64"] * 10) + ") >= 0"
    began_s = time.monotonic()
    TemplateSpace(PARAMETERS, [text])
    assert time.monotonic() - began_s < 2 * A_SECOND


def test_texts_may_still_be_compared() -> None:
    space = TemplateSpace(PARAMETERS, ["mode == 'x' or a * b > 3", "(a if mode == 'x' else b) * 2 < 1000"])
    assert space is not None


def read_as(reader: Callable[[Path], object], folder: Path) -> Callable[[str], object]:
    def read(text: str) -> object:
        path = folder / "input.json"
        path.write_text(text)
        return reader(path)
    return read


def readers(folder: Path) -> dict[str, tuple[Callable[[str], object], str]]:
    """What reads a file, with an intact text, by kind."""
    return {
        "plan": (plan_from_json, PLAN.to_json()),
        "walk": (choices_from_json, '[{"depends":[["a",1]],"name":"tile","option":[1,2],"subject":["S0"]}]'),
        "cache": (read_as(read_recording, folder), json.dumps(cache())),
        "t4": (read_as(read_recording, folder), json.dumps(t4())),
        "t1": (read_as(read_t1, folder), json.dumps(t1())),
        "kernel": (read_as(lambda path: read_t1_problem(path, 0), folder), write_t1(folder).read_text()),
        "restriction": (parse_restriction, "a * b <= 1024 and (a % 2 == 0 or mode == 'x') and max(a, b) in (1, 2, 64)"),
    }


ODD = [
    "null",
    "-1",
    "1e999",
    "NaN",
    "[]",
    "{}",
    '""',
    "true",
    "9" * 30,
    '"\\u0000"',
    "[[[[]]]]",
    "**",
    "mode",
    "0",
    ",",
    "]",
    "}",
    "(",
    '"',
]


def damaged(text: str, rng: np.random.Generator) -> str:
    """`text` with a few characters or values replaced, removed or repeated."""
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(text) + 1))
        to = min(len(text), at + (0, 1, 1, 3, 20)[rng.integers(5)])
        new = [*ODD, text[at:to] * 2, chr(rng.integers(1, 256))]
        text = text[:at] + new[rng.integers(len(new))] + text[to:]
    return text


@pytest.mark.parametrize("seed", few(range(100), 5))
@pytest.mark.parametrize("kind", ["plan", "walk", "cache", "t4", "t1", "kernel", "restriction"])
def test_damaged_files(kind: str, seed: int, tmp_path: Path) -> None:
    reader, intact = readers(tmp_path)[kind]
    reader(intact)
    rng = np.random.default_rng([seed, len(kind)])
    for _ in range(20):
        text = damaged(intact, rng)
        began_s = time.monotonic()
        try:
            reader(text)
        except InputError as error:
            assert str(error)
        except UnicodeEncodeError:
            continue
        assert time.monotonic() - began_s < 5 * A_SECOND, text
