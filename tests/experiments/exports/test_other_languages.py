"""Exports in another language than that in which the plan was tuned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from experiments.exports.kinds import Kind
from generator.plan import Plan
from tests.support.exports import GPU, exported, stored_run

CUDA = replace(GPU, dialect="cuda", sub_group=32, local_bytes=227 * 1024, capability=(9, 0))
TRIANGLE = """
static float A[64][64], B[64][64], C[64][64];
int main(void) {
#pragma scop
  for (int i = 0; i < 64; i++)
    for (int j = 0; j <= i; j++)
      for (int k = 0; k < 64; k++)
        C[i][j] += A[i][k] * B[k][j];
#pragma endscop
  return C[9][3] > 1.0f;
}
"""


def shared_copies(plan: Plan) -> Plan:
    return replace(plan, kernels=tuple(replace(k, shared=True) for k in plan.kernels))


def test_a_cuda_plan_in_opencl_has_no_barriers_that_pocl_miscompiles(tmp_path: Path) -> None:
    """Copies for a triangle are made under a condition on the block, in CUDA; the device of the export is unknown."""
    (tmp_path / "triangle.c").write_text(TRIANGLE)
    run = stored_run(tmp_path / "run", tmp_path / "triangle.c", (), (shared_copies,), CUDA)
    cuda, opencl = ("".join(path.read_text() for path in exported(run, kind, tmp_path / kind, 1).glob(f"kernels.{end}"))
                    for kind, end in ((Kind.cuda, "cu"), (Kind.opencl, "cl")))
    assert "__syncthreads()" in cuda and "__kernel" in opencl and "barrier(" not in opencl
