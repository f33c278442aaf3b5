"""Vector copies of results: operations on several adjacent elements, which are loaded and stored in one instruction.

    float A_held[4];
    *(float4 *)&A_held[0] = *(const float4 *)&A[..];
    for (int lane = 0; lane < 4; ++lane) {
      A_held[lane] = alpha * A_held[lane];
    }
    *(float4 *)&A_shared[..] = *(const float4 *)&A_held[0];

Copies with operations (`lowering.memory.prologues`) are a single node until here, so that copies ahead can be made.
"""

from __future__ import annotations

from dataclasses import replace

from generator.expr import Binary, Int, Load, Name
from generator.lowering.memory.prologues import element_of, with_element
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Declare, For, If, Node


def with_lanes(nodes: tuple[Node, ...], taken: set[str]) -> tuple[Node, ...]:
    """Return `nodes` with operations on vectors as loops over lanes. New names are added to `taken`."""
    result: list[Node] = []
    for node in nodes:
        match node:
            case For():
                result.append(replace(node, body=with_lanes(node.body, taken)))
            case If(condition, then, otherwise):
                result.append(If(condition, with_lanes(then, taken), with_lanes(otherwise, taken)))
            case Assign(wide=wide, value=value) if wide is not None and not isinstance(value, Load):
                result += _lane_by_lane(node, taken)
            case _:
                result.append(node)
    return tuple(result)


def _lane_by_lane(node: Assign, taken: set[str]) -> tuple[Node, ...]:
    assert node.wide is not None
    source, lanes = element_of(node.value), node.wide.lanes
    name, lane = fresh_name(f"{source.array}_held", taken), Name(fresh_name("lane", taken))
    here, first = Load(name, (lane,)), Load(name, (Int(0),))
    each = Assign(here, "", with_element(node.value, here))
    return (Declare(name, node.wide.type, (lanes,)), replace(node, target=first, value=source),
            For(lane.name, Int(0), Binary("<", lane, Int(lanes)), 1, (each,), "", lanes),
            replace(node, value=first))
