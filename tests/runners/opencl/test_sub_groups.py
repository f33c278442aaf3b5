"""Sub-groups of OpenCL devices: how large they are, and when kernels may exchange values in groups of 32."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from generator.target import LANES
from runners.opencl.sub_groups import REQUIRED, SHUFFLES, shuffling, sub_group_sizes
from tests.support.runners import needed_device


def device(*extensions: str, **values: int) -> SimpleNamespace:
    return SimpleNamespace(extensions=" ".join(extensions), **values)


def intel(*sizes: int) -> tuple[int, ...]:
    """What a driver with Intel's extension answers."""
    return sub_group_sizes(device(REQUIRED), lambda asked: sizes)


def test_each_vendor_is_asked_as_it_wants_to_be() -> None:
    assert intel(8, 16, 32) == (8, 16, 32)
    assert sub_group_sizes(device("cl_nv_device_attribute_query", warp_size_nv=32)) == (32,)
    assert sub_group_sizes(device("cl_amd_device_attribute_query", wavefront_width_amd=64)) == (64,)
    assert sub_group_sizes(device("cl_khr_fp64")) == ()


@pytest.mark.parametrize(("extensions", "sizes", "lanes"), [
    ((REQUIRED, SHUFFLES), (8, 16, 32), LANES),
    ((REQUIRED, SHUFFLES), (8, 16), 0),  # kernels ask for 32
    ((REQUIRED, SHUFFLES), (), 0),  # the driver does not say
    ((SHUFFLES,), (32,), 0),  # nothing to ask with
    ((REQUIRED,), (32,), 0)])
def test_values_are_exchanged_where_groups_of_32_can_be_asked_for(extensions: tuple[str, ...], sizes: tuple[int, ...],
                                                                  lanes: int) -> None:
    assert shuffling(extensions, sizes) == lanes


def test_the_runtime_of_intel_says_its_sizes() -> None:
    found = needed_device("Intel OpenCL")
    assert found.target.sub_group == LANES
    (words,) = [feature for feature in found.features if feature.startswith("sub-groups of ")]
    assert "32" in words.removeprefix("sub-groups of ").split(", ")


def test_a_driver_without_the_extension_has_no_shuffles() -> None:
    found = needed_device("PoCL")
    assert found.target.sub_group == 0 and not any("sub-groups" in feature for feature in found.features)
