"""The words of OpenCL C."""

from __future__ import annotations

from generator.arithmetic import TO_FLOAT, TO_HALF
from generator.emit.half import half_functions
from generator.emit.images import NARROW_TYPES
from generator.emit.pairs import PAIR
from generator.emit.streams import OPENCL_STORE, row_functions
from generator.emit.words import First, Function, Words

_INTEGER = {
    TO_FLOAT: Function(TO_FLOAT),
    TO_HALF: Function(TO_HALF),
    "min": Function("min"),
    "max": Function("max"),
    "abs": Function("abs", result="int"),
    "labs": Function("abs", result="long"),
    PAIR: Function(PAIR),
    "antune_popcount": Function("popcount", "uint", "int"),
    "antune_popcountl": Function("popcount", "ulong", "int"),
    "antune_clz": Function("clz", "uint", "int"),
    "antune_clzl": Function("clz", "ulong", "int"),
    "antune_as_float": Function("as_float", "uint"),
    "antune_as_double": Function("as_double", "ulong"),
    "antune_as_uint": Function("as_uint", "float"),
    "antune_as_ulong": Function("as_ulong", "double"),
}


def _function(function: str) -> Function:
    """OpenCL overloads by type: casts of the arguments give C's precision."""
    if function in _INTEGER:
        return _INTEGER[function]
    single = function.endswith("f") and function != "erf"
    return Function(function[:-1], "float") if single else Function(function, "double")


_NARROW = {"char": "uchar", "unsigned char": "uchar", "short": "ushort", "unsigned short": "ushort", "half": "ushort"}


def _fetch(kind: str, dims: int, words: int) -> tuple[str, ...]:
    """Texels are unsigned integers: their bits are unchanged, also those of denormal numbers and NaN. Integers of 8 and
    16 bits are the low bits of what is read.
    """
    def read(x: str) -> str:
        return f"read_imageui(image, {x})" if dims == 1 else f"read_imageui(image, antune_sampler, (int2)({x}, y))"

    if kind == "unsigned int":
        return (f"return {read('x')}.x;",)
    if kind in NARROW_TYPES:
        bits = f"({_NARROW[kind]}){read('x')}.x"
        return (f"return as_{kind}({bits});" if kind in ("char", "short") else f"return {bits};",)
    if kind != "double":
        return (f"return as_{kind}({read('x')}.x);",)
    if words == 2:
        return (f"return as_double({read('x')}.xy);",)
    return (f"const uint low = {read('2 * x')}.x;", f"const uint high = {read('2 * x + 1')}.x;",
            "return as_double((uint2)(low, high));")


_TYPES = {"unsigned int": "uint", "unsigned long": "ulong", "unsigned char": "uchar", "unsigned short": "ushort",
          "half": "ushort"}
_SPACES = {"global": "__global", "shared": "__local", "private": "__private"}


def _wide(kind: str, lanes: int, target: First, source: First) -> str:
    """By vector types, which are aligned to their whole size: `vload4` promises the alignment of an element only, and
    compilers for GPUs then load element by element.
    """
    vector = f"{_TYPES.get(kind, kind)}{lanes}"
    return (f"*({_SPACES[target.space]} {vector} *)&{target.text} = "
            f"*(const {_SPACES[source.space]} {vector} *)&{source.text};")


_ANY_ORDER = """#if defined(__clang__) && __clang_major__ >= 12
#define antune_any_order _Pragma("clang fp reassociate(on)")
#else
#define antune_any_order
#endif
"""

# PoCL's compiler unrolls short loops before it vectorizes, and then finds few vectors; Intel's runtime does neither
_VECTOR = """#define antune_pragma(text) _Pragma(#text)
#ifdef POCL_DEVICE_ADDRESS_BITS
#pragma clang diagnostic ignored "-Wpass-failed" // with exp and pow there is no vector, and no need to be told
#define antune_vector(count) antune_pragma(clang loop vectorize_width(count) interleave_count(1))
#else
#define antune_vector(count) antune_pragma(unroll count)
#endif
"""

# GPUs convert in one instruction; compilers for CPUs call a function per number, and do not vectorize
_HAS_HALVES = "defined(__NV_CL_C_VERSION) || defined(cl_khr_fp16) && !defined(POCL_DEVICE_ADDRESS_BITS)"

OPENCL = Words(
    entry="__kernel",
    block_size="__attribute__((reqd_work_group_size({block})))",
    global_memory="__global ",
    restrict="restrict",
    shared_memory="__local",
    dynamic_memory="",
    dynamic_array="",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    array_barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    sub_group_barrier="sub_group_barrier(CLK_LOCAL_MEM_FENCE);",
    group_index="get_group_id({axis})",
    thread_index="get_local_id({axis})",
    axes=("0", "1", "2"),
    types=_TYPES,
    double_preamble="#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    function=_function,
    device_function="static inline",
    shared_pointer="volatile __global ",
    block_pointer="volatile __local ",
    atomics={},
    swap={4: "atomic_cmpxchg", 8: "atom_cmpxchg"},
    swap_word={4: "uint", 8: "ulong"},
    swap_preamble="#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n",
    shuffle="sub_group_shuffle_xor({value}, {lanes})",
    from_lane="sub_group_shuffle({value}, {lane})",
    sub_groups="__attribute__((intel_reqd_sub_group_size(32)))",
    sub_group_preamble="#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n",
    # PoCL takes minutes for ten barriers in a row, seconds for a loop with one; compilers for GPUs unroll such a loop
    # themselves
    factors_around_barriers=False,
    no_contraction="  #pragma OPENCL FP_CONTRACT OFF",
    generic_extrema=True,
    inlined=True,
    any_order=_ANY_ORDER,
    vector=_VECTOR,
    opaque_one="1 + (int)get_global_offset(0)",
    reals={},
    textures={1: "read_only image1d_buffer_t", 2: "read_only image2d_t"},
    fetch=_fetch,
    sampler="__constant sampler_t antune_sampler = "
    "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n",
    constant_memory="__constant ",
    constant_symbol="",
    wide=_wide,
    wide_stream=_wide,
    aligned="__attribute__((aligned({bytes}))) ",
    later_copies="",
    stream=OPENCL_STORE,
    stream_rows=row_functions,
    halves=half_functions(
        "static inline", _HAS_HALVES,
        "return vload_half(0, (const half *)&x);",
        "unsigned short y; vstore_half_rte(x, 0, (half *)&y); return y;",
    ),
)
