"""The words of OpenCL C."""

from __future__ import annotations

from generator.emit.words import Words

_INTEGER = {"abs": "(int)abs", "labs": "(long)abs"}


def _call(function: str, arguments: list[str]) -> str:
    """OpenCL overloads by type: casting the arguments gives C's choice of precision."""
    if function in _INTEGER:
        return f"{_INTEGER[function]}({', '.join(arguments)})"
    single = function.endswith("f") and function != "erf"
    kind, name = ("float", function[:-1]) if single else ("double", function)
    return f"{name}({', '.join(f'({kind})({a})' for a in arguments)})"


OPENCL = Words(
    kernel="__kernel __attribute__((reqd_work_group_size({block})))",
    global_memory="__global ", restrict="restrict", shared_memory="__local",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    group_index="get_group_id({axis})", thread_index="get_local_id({axis})", axes=("0", "1", "2"),
    types={"unsigned int": "uint", "unsigned long": "ulong", "unsigned char": "uchar", "unsigned short": "ushort"},
    double_preamble="#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    call=_call, device_function="static inline", shared_pointer="volatile __global ",
    swap={4: "atomic_cmpxchg", 8: "atom_cmpxchg"}, swap_word={4: "uint", 8: "ulong"},
    swap_preamble="#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n",
    shuffle="sub_group_shuffle_xor({value}, {lanes})",
    sub_groups="__attribute__((intel_reqd_sub_group_size(32)))",
    sub_group_preamble="#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
                       "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n",
    generic_extrema=True)
