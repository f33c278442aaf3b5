"""Ways to tile a kernel say what their plans can do."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from experiments.search.guides.candidates import Way, keeps_sums, sizes, ways
from generator.decisions.size_lists import WIDE
from tests.support.costs import CPU, GTX_1080_TI


def test_sums_are_in_registers_only_where_a_plan_can_keep_them_there() -> None:
    few, many = Way((4, 64), (1, 32)), Way((16, 64), (1, 1))
    assert keeps_sums(few, (0, 1), (48, 64)) and not keeps_sums(many, (0, 1), (48, 64))
    assert keeps_sums(few, (1, 2), (8, 48, 64)) and not keeps_sums(few, (1, 2), (9, 48, 64))  # all 9 in one thread
    walking = replace(few, walk=1)
    assert not keeps_sums(walking, (0, 1), (48, 64))
    for way in (few, many, walking):
        assert sizes([way], (0, 1), (48, 64)).sums == keeps_sums(way, (0, 1), (48, 64))


def test_gpus_have_the_threads_and_points_of_the_paper_in_tiles_that_the_space_offers() -> None:
    found = ways((1080, 1920), GTX_1080_TI, False)
    assert {way.block for way in found} == {(y, x) for y in (1, 2, 4, 8, 16) for x in (16, 32, 64)}
    points = {tuple(tile // threads for tile, threads in zip(way.tile, way.block, strict=True)) for way in found}
    assert points == {(y, x) for y in (1, 2, 4, 8) for x in (1, 2, 4, 8)}
    for way in (*found, *ways((16, 1080, 1920), GTX_1080_TI, True)):
        assert prod(way.tile) <= WIDE.max_points and prod(way.block) <= 1024
        for tile, offered in zip(reversed(way.tile), WIDE.sizes, strict=False):
            assert tile in offered
    assert ways((4, 4, 4), GTX_1080_TI, True) and ways((), CPU, False)


def test_threads_of_cpus_and_gpus_may_compute_stages_for_themselves() -> None:
    for device in (CPU, GTX_1080_TI):
        found = ways((1080, 1920), device, True)
        alone = [way for way in found if way.level == "thread"]
        assert {(way.tile, way.block) for way in alone} == {(way.tile, way.block) for way in found if not way.walk}
        assert not any(way.walk for way in alone)
        assert {way.level for way in ways((1080, 1920), device, False)} == {"block"}
