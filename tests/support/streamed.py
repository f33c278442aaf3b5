"""Programs for streaming stores: what may be collected in rows, and what must be stored where it stands."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import ELEMENT_BYTES, Program
from generator.schedules.choice import ScheduleChoice

MIXED = """
for (i = 0; i < 9; i++) for (j = 0; j < 150; j++) whole[i][j] = B[i][j];
for (i = 0; i < 9; i++) for (j = 0; j < 150; j++) if (B[i][j] > 3) guarded[i][j] = B[i][j];
for (i = 0; i < 9; i++) for (j = 7 * i; j < 150; j++) upper[i][j] = B[i][j];
for (i = 0; i < 9; i++) for (j = 0; j <= 16 * i; j++) lower[i][j] = B[i][j] * 3;
for (i = 0; i < 9; i++) for (j = 0; j < 75; j++) strided[i][2 * j] = B[i][j];
for (i = 0; i < 9; i++) for (j = 0; j < 150; j++) back[i][149 - j] = B[i][j];
for (i = 0; i < 9; i++) for (j = 0; j < 75; j++) { pairs[i][2 * j] = B[i][j]; pairs[i][2 * j + 1] = i; }
for (i = 0; i < 9; i++) { for (j = 0; j < 150; j++) B_row[i][j] = B[i][j]; B_row[i][70] = i; }
for (i = 0; i < 9; i++) { for (j = 0; j < 150; j++) twice[i][j] = j; for (j = 20; j < 99; j++) twice[i][j] = B[i][j]; }
for (i = 0; i < 9; i++) for (j = 0; j < 150; j++) { antune_stream_int[i][j] = B[i][j]; to[i][j] = B[i][j] + 1; }
"""
"""Each array is streamed; some have names that the text itself uses, or would."""
DECLARED = """int B[9][150], whole[9][150]; double guarded[9][150]; short upper[9][150]; unsigned char lower[9][150];
long strided[9][150]; float back[9][150], pairs[9][150]; unsigned int B_row[9][150]; unsigned short twice[9][150];
int antune_stream_int[9][150]; char to[9][150]; int n;"""


def streaming(program: Program, tile: tuple[int, ...] = (3, 512)) -> Plan:
    """Return a plan whose threads are alone in their blocks and stream all that kernels write and do not read."""
    choice = ScheduleChoice(serialize_sccs=True)
    kernels = tuple(KernelPlan(shape.statements, tile[-len(shape.extents):], (1,) * len(shape.extents),
                               streamed=tuple(name for name, _ in shape.written))
                    for shape in kernel_shapes(program, choice))
    return replace(Plan(choice, ()), kernels=tuple(sorted(kernels, key=lambda kernel: kernel.statements)))


TARGETS = ("A[i][j]", "A[i][j + 3]", "A[i][2 * j]", "A[i][2 * j + 1]", "A[i][70 - j]", "A[i][i + j]", "A[3 - i][j]",
           "A[i][7]", "s[j]", "s[i + j]", "D[i][j]", "D[j][i]")
GUARDS = ("", "", "", "if (B[i][j] > 1) ", "if (j > 20) ", "if (j % 2 == 0) ", "if (i + j < 30) ")
LOOPS = ("j = 0; j < 37; j++", "j = 2; j <= 30 + i; j++", "j = 3 * i; j < 36; j++", "j = 0; j < 36; j += 3",
         "j = 36; j >= 0; j--", "j = 0; j < 21 * i; j++")


@st.composite
def writers(draw: st.DrawFn) -> tuple[str, str]:
    """Draw loops that write some arrays, each several times, by all kinds of subscripts, and the declarations."""
    number = 0
    loops = []
    for _ in range(draw(st.integers(1, 3))):
        body = []
        for _ in range(draw(st.integers(1, 2))):
            number += 1
            loop = draw(st.sampled_from(GUARDS)) + draw(st.sampled_from(TARGETS))
            body.append(f"{loop} = B[i][j] + {7 * number};")
        head = draw(st.sampled_from(LOOPS[:-1] if any("70 - j" in one or "D[j]" in one for one in body) else LOOPS))
        loops.append(f"for ({head}) {{ {' '.join(body)} }}")
    apart = draw(st.booleans())
    text = "\n".join(f"for (i = 0; i < 4; i++) {one}" for one in loops) if apart else \
        f"for (i = 0; i < 4; i++) {{ {' '.join(loops)} }}"
    kind = draw(st.sampled_from(sorted(set(ELEMENT_BYTES) - {"half"})))
    return text, f"{kind} A[4][140], D[64][70]; float s[80]; int B[4][70], n;"
