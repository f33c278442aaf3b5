"""Plans as values and as JSON."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.decisions.cache import Cache
from generator.errors import InputError
from generator.plan import KernelPlan, Placement, Plan, plan_from_json
from generator.schedules.choice import ScheduleChoice
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.time_tiles import TimeTiles
from tests.support.paths import DOCS

SIZES = st.lists(st.sampled_from([1, 2, 8, 32]), max_size=3)
KERNELS = st.builds(
    lambda name, sizes, shared, unroll, cache: KernelPlan((name,), tuple(sizes), tuple(sizes), shared=shared,
                                                          inner_tile=32 if shared else 1, unroll=unroll, cache=cache),
    st.sampled_from(["S0", "S1", "S2"]), SIZES, st.booleans(), st.sampled_from([1, 2, 4, 8]),
    st.sampled_from(get_args(Cache)))
PLACEMENTS = st.dictionaries(st.sampled_from(["A", "B", "x"]), st.sampled_from(get_args(Placement)))
PLANS = st.builds(
    lambda choice, kernels, placement: Plan(choice, tuple(sorted(kernels, key=lambda k: k.statements)),
                                            tuple(sorted(placement.items()))),
    st.builds(ScheduleChoice, st.sampled_from(["pluto", "feautrier"]), st.booleans(), st.booleans(), st.booleans()),
    st.lists(KERNELS, max_size=3, unique_by=lambda k: k.statements), PLACEMENTS)


@given(PLANS)
def test_json_round_trip(plan: Plan) -> None:
    again = plan_from_json(plan.to_json())
    assert again == plan
    assert again.digest == plan.digest


def test_fields_with_defaults_may_be_absent() -> None:
    text = '{"schedule": {}, "kernels": [{"statements": ["S0"], "tile": [32], "block": [32]}]}'
    assert plan_from_json(text) == Plan(ScheduleChoice(), (KernelPlan(("S0",), (32,), (32,)),))


@pytest.mark.parametrize(("change", "essence"), [
    ({"tile": 32}, "tile is 32; use a list of positive integers"),
    ({"tile": [0]}, "tile is [0]"),
    ({"block": [32, 32]}, "different lengths"),
    ({"unroll": "4"}, 'unroll is "4"; use a positive integer'),
    ({"shared": 1}, "shared is 1; use true or false"),
    ({"cache": "l2"}, 'cache is "l2"; use one of none, shared, l1'),
    ({"statements": "S0"}, "use a list of statement names"),
    ({"tiles": [1]}, "unknown field 'tiles'"),
])
def test_bad_kernel_is_refused(change: dict[str, object], essence: str) -> None:
    kernel = {"statements": ["S0"], "tile": [32], "block": [32]} | change
    with pytest.raises(InputError, match="kernels\\[0\\]") as caught:
        plan_from_json(json.dumps({"schedule": {}, "kernels": [kernel]}))
    assert essence in str(caught.value)


def test_a_misspelt_kind_of_schedule_is_told_of_the_kinds() -> None:
    with pytest.raises(
        InputError, match=r"unknown field 'step'; known: .*; other kinds .* groups, nests, computed or steps"
    ):
        plan_from_json('{"schedule": {"step": 4}, "kernels": []}')


def test_the_plans_by_hand_of_the_pages_can_be_read() -> None:
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("copies.md", "schedules.md"))
    plans = [plan_from_json(found) for found in re.findall(r"```json\n(.*?)\n```", text, flags=re.DOTALL)]
    assert [type(plan.schedule) for plan in plans] == [
        ScheduleChoice, ScheduleChoice, TimeTiles, Hyperplanes, Hyperplanes]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schedule": 1, "kernels": []}', '{"schedule": {}, "kernels": 3}',
                                  '{"schedule": {"algorithm": "best"}, "kernels": []}',
                                  '{"schedule": {}, "kernels": [], "placement": {"A": "texture"}}',
                                  '{"schedule": {}, "kernels": [], "placement": [["A", "global"]]}',
                                  '{"schedule": {}, "kernels": [], "placement": [["A", "texture"], ["A", "constant"]]}',
                                  '{"schedule": {}, "kernels": [], "placement": [[1, "texture"]]}',
                                  '{"schedule": {"serialize_sccs": "no"}, "kernels": []}'])
def test_bad_plan_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        plan_from_json(text)
