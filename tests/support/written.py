"""A program with an array that one kernel writes and the next reads, and plans in which it is read as a texture."""

from __future__ import annotations

from dataclasses import replace

from generator.plan import Plan

TURNED = """
void turned(float image[40][30], float out[40][30])
{
  float halves[40][30];
#pragma scop
  for (int i = 0; i < 40; i++)
    for (int j = 0; j < 30; j++)
      halves[i][j] = image[i][j] * 0.5f;
  for (int i = 0; i < 40; i++)
    for (int j = 0; j < 30; j++)
      out[i][j] = halves[39 - i][29 - j] + halves[i][j];
#pragma endscop
}
"""


def textured(plan: Plan) -> Plan:
    """Let the second kernel read the halves as a texture, without a copy in shared memory."""
    return replace(plan, placement=(("halves", "texture"),),
                   kernels=tuple(replace(k, shared=False, inner_tile=1) for k in plan.kernels))
