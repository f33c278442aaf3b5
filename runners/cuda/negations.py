"""A fault of ptxas: it loses a negation.

In `max(max(x, -a), y)` of integers, ptxas of CUDA 12.6 to 13.3 joins the maxima to one instruction of Hopper and of
Blackwell's data-center GPUs (`VIMNMX3`) and forgets the minus; minima likewise (docs/compilers.md has the table). NVVM
writes bounds of loops this way, such as `min(min(p, q), c - 1)`, which is `~max(max(~p, -c), ~q)`.
"""

from __future__ import annotations

from runners.cuda.compiler import Capability, Translator

Version = tuple[int, int]
FIRST, FIXED = (12, 6), (13, 4)
"""The first version of CUDA with the fault, and the first one after them without it."""
GENERATIONS = (9, 10)
"""Major numbers of the compute capabilities that it affects: sm_90, sm_100, sm_103."""


def loses_negations(version: Version, capability: Capability) -> bool:
    """Return whether a compiler of CUDA `version` makes wrong code of such expressions for `capability`."""
    return FIRST <= version < FIXED and capability[0] in GENERATIONS


def warning(translator: Translator, capability: Capability, driver: Version) -> str:
    """Return what a user should know about the compiler, with a remedy that works with a driver of CUDA `driver`;
    empty if it is without fault.
    """
    if not loses_negations(translator.version, capability):
        return ""
    made, known = (".".join(map(str, version)) for version in (translator.version, FIXED))
    return (f"{translator.name} of CUDA {made} miscompiles some kernels for sm_{capability[0]}{capability[1]} "
            f"(max(max(x, -a), y) loses the minus); the check refuses such plans, but {_remedy(capability, driver)}; "
            f"CUDA {known} is the first without this fault (docs/compilers.md)")


def _remedy(capability: Capability, driver: Version) -> str:
    """Return how to get a compiler without the fault whose code this driver loads: of its major version, or older."""
    if driver[0] >= FIXED[0]:
        return f'better install `pip install -U "nvidia-cuda-nvrtc>={FIXED[0]}.{FIXED[1]},<{driver[0] + 1}"`'
    if capability[0] == GENERATIONS[0]:  # CUDA 12.5 knows no later one
        return f'better install `pip install "nvidia-cuda-nvrtc-cu12<{FIRST[0]}.{FIRST[1]}"`'
    return f"better update the driver to CUDA {FIXED[0]} and install its NVRTC"
