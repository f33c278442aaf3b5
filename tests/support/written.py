"""Programs with arrays that one kernel writes and the next reads, and plans in which these are read as textures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from generator.plan import Placement, Plan

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
SMALL = """
void small(int image[4][10][30], int out[4][10][30])
{
  unsigned char bytes[4][10][30];
  short shorts[4][10][30];
#pragma scop
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 10; i++)
      for (int j = 0; j < 30; j++) {
        bytes[k][i][j] = 200 - 9 * k + 3 * i + j;
        shorts[k][i][j] = (image[k][i][j] + 1) * (17 * j - 300) - 31 * k;
      }
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 10; i++)
      for (int j = 0; j < 30; j++)
        out[k][i][j] = bytes[3 - k][9 - i][29 - j] * 3 + bytes[k][i][j] - shorts[k][i][29 - j] + shorts[3 - k][i][j];
#pragma endscop
}
"""
"""Three dimensions, elements of 8 and 16 bits, some negative; rows of 30 elements fit no device's pitch."""


def textured(plan: Plan) -> Plan:
    """Let the second kernel of TURNED read the halves as a texture, without a copy in shared memory."""
    return _read(plan, ("halves",), "texture")


def small_textures(memory: Placement) -> Callable[[Plan], Plan]:
    """Return a change that lets the second kernel of SMALL read both arrays as textures."""
    return lambda plan: _read(plan, ("bytes", "shorts"), memory)


def _read(plan: Plan, arrays: tuple[str, ...], memory: Placement) -> Plan:
    return replace(plan, placement=tuple((name, memory) for name in arrays),
                   kernels=tuple(replace(k, shared=False, inner_tile=1) for k in plan.kernels))
