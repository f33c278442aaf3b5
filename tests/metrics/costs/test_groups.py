"""Stages with others inlined in them, whichever these are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.polyhedral.pipelines.dataflow import dataflow
from metrics.costs.groups import flat
from tests.support.suite import pipeline_program


@pytest.mark.parametrize("name", ["histogram_equalize", "iir_blur", "bilateral_grid"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_stages_may_be_inlined(name: str, data: st.DataObject) -> None:
    """Also those that are not computed element by element, and may read anything."""
    flow = dataflow(pipeline_program(name, "small"))
    inlined = frozenset(data.draw(st.sets(st.sampled_from([node.array for node in flow.nodes]))))
    for node in flow.nodes:
        found = flat(flow, node.array, inlined)
        assert not {read.array for read in found.reads} & inlined
        assert all(len(reach.slopes) == len(node.extents) for read in found.reads for reach in read.reach)
