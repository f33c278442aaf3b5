"""The words of CUDA C++."""

from __future__ import annotations

from generator.emit.half import half_functions
from generator.emit.later import LATER_COPIES
from generator.emit.streams import CUDA_STORE, STORE
from generator.emit.words import BuiltIn, First, Function, Words

_INFINITY = "__int_as_float(0x7f800000)"
"""NVRTC has no INFINITY: a header of the host's compiler defines it."""


_BITS = {
    "antune_popcount": Function("__popc", "unsigned int"),
    "antune_popcountl": Function("__popcll", "unsigned long"),
    "antune_clz": Function("__clz", "unsigned int"),
    "antune_clzl": Function("__clzll", "unsigned long"),
    "antune_as_float": Function("__uint_as_float", "unsigned int"),
    "antune_as_double": Function("__longlong_as_double", "unsigned long"),
    "antune_as_uint": Function("__float_as_uint", "float"),
    "antune_as_ulong": Function("__double_as_longlong", "double", "unsigned long"),
}


def _function(function: str) -> Function:
    """CUDA's device library has the names of math.h."""
    return _BITS.get(function, Function(function))


def _fetch(kind: str, dims: int, words: int) -> tuple[str, ...]:
    """A texel is an element, or the two words of a double; coordinates are those of the texel's centre."""
    assert words == (2 if kind == "double" else 1), "channels have the C type of the elements"
    channels = {"double": "int2", "half": "unsigned short"}.get(kind, kind)
    at = "tex1Dfetch<{}>(image, x)" if dims == 1 else "tex2D<{}>(image, x + 0.5f, y + 0.5f)"
    if kind != "double":
        return (f"return {at.format(channels)};",)
    return (f"const int2 words = {at.format(channels)};", "return __hiloint2double(words.y, words.x);")


_SHORT = {"unsigned int": "uint", "unsigned long": "ulong", "unsigned char": "uchar", "unsigned short": "ushort",
          "half": "ushort"}


def _wide(kind: str, lanes: int, target: First, source: First) -> str:
    """By vector types, which are aligned to their whole size."""
    vector = f"{_SHORT.get(kind, kind)}{lanes}"
    return f"*({vector} *)&{target.text} = *(const {vector} *)&{source.text};"


def _wide_stream(kind: str, lanes: int, target: First, source: First) -> str:
    """There is no `__stcs` for vectors of long."""
    if kind in ("long", "unsigned long"):
        return _wide(kind, lanes, target, source)
    vector = f"{_SHORT.get(kind, kind)}{lanes}"
    return f"{STORE}(*({vector} *)&{target.text}, *(const {vector} *)&{source.text});"


def _built_in(operator: str, function: str, kinds: tuple[str, ...]) -> dict[tuple[str, str], BuiltIn]:
    """Return the calls of `function`, which knows 64-bit integers as long long only."""
    found = {}
    for kind in kinds:
        wide = {"long": "unsigned long long" if operator in "+=" else "long long",
                "unsigned long": "unsigned long long"}.get(kind)
        found[operator, kind] = BuiltIn(f"{function}(({wide} *)place, ({wide})value);" if wide else
                                        f"{function}(place, value);")
    return found


_INTEGERS = ("int", "unsigned int", "long", "unsigned long")
_ATOMICS = {
    **_built_in("+", "atomicAdd", (*_INTEGERS, "float")),
    **_built_in("min", "atomicMin", _INTEGERS),
    **_built_in("max", "atomicMax", _INTEGERS),
    **_built_in("=", "atomicExch", (*_INTEGERS, "float")),
    ("+", "double"): BuiltIn("atomicAdd(place, value);", "!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600"),
    ("=", "double"): BuiltIn("const union { double number; unsigned long long bits; } made = {value}; "
                             "atomicExch((unsigned long long *)place, made.bits);"),
}
"""A single instruction (`red`, `atom`) each. A loop of compare-and-swap reads and tries again: with many threads per
element it is slower by orders of magnitude. Sums of floats in global memory flush subnormal numbers to 0 (PTX ISA).
"""


CUDA = Words(
    entry='extern "C" __global__',
    block_size="__launch_bounds__({threads})",
    global_memory="",
    restrict="__restrict__",
    shared_memory="__shared__",
    dynamic_memory="extern __shared__ __align__({bytes}) unsigned char antune_shared[];",
    dynamic_array="{type} (&{name}){sizes} = *({type} (*){sizes})(antune_shared + {offset});",
    barrier="__syncthreads();",
    array_barrier="__syncthreads();",
    sub_group_barrier="__syncwarp();",
    group_index="blockIdx.{axis}",
    thread_index="threadIdx.{axis}",
    axes=("x", "y", "z"),
    types={"half": "unsigned short"},
    double_preamble="",
    function=_function,
    device_function="static __device__ inline",
    shared_pointer="",
    block_pointer="",
    atomics=_ATOMICS,
    swap={4: "atomicCAS", 8: "atomicCAS"},
    swap_word={4: "unsigned int", 8: "unsigned long long"},
    swap_preamble="",
    shuffle="__shfl_xor_sync(0xffffffffu, {value}, {lanes})",
    from_lane="__shfl_sync(0xffffffffu, {value}, {lane})",
    sub_groups="",
    sub_group_preamble="",
    factors_around_barriers=True,
    no_contraction="",
    generic_extrema=False,
    inlined=False,
    any_order="",
    vector="",
    opaque_one="",
    reals={"INFINITY": _INFINITY, "-INFINITY": f"-{_INFINITY}"},
    textures=dict.fromkeys((1, 2), "cudaTextureObject_t"),
    fetch=_fetch,
    sampler="",
    constant_memory="",
    constant_symbol="__constant__ {type} {name}[{elements}];\n",
    wide=_wide,
    wide_stream=_wide_stream,
    aligned="__align__({bytes}) ",
    later_copies=LATER_COPIES,
    stream=CUDA_STORE,
    halves=half_functions(
        "static __device__ inline", "defined(__CUDA_ARCH__)",
        'float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y;',
        'unsigned short y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y;',
    ),
)
