"""Ways to tile a kernel say what their plans can do."""

from __future__ import annotations

from experiments.search.guides.candidates import Way, keeps_sums, sizes


def test_sums_are_in_registers_only_where_a_plan_can_keep_them_there() -> None:
    few, many = Way((4, 64), (1, 32)), Way((16, 64), (1, 1))
    assert keeps_sums(few, (0, 1), (48, 64)) and not keeps_sums(many, (0, 1), (48, 64))
    assert keeps_sums(few, (1, 2), (8, 48, 64)) and not keeps_sums(few, (1, 2), (9, 48, 64))  # all 9 in one thread
    for way in (few, many):
        assert sizes([way], (0, 1), (48, 64)).sums == keeps_sums(way, (0, 1), (48, 64))
