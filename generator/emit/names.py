"""Reserved names of device languages, and new names for arrays that have one of them.

A C file may have an array called `kernel`, `float4` or `threadIdx`, or one called `b0` like the block index.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable

_C = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool
complex true false NULL asm typeof"""
_CPP = """alignas alignof and and_eq bitand bitor catch class compl consteval constexpr constinit const_cast concept
co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not
not_eq nullptr operator or or_eq private protected public reinterpret_cast requires static_assert static_cast template
this thread_local throw try typeid typename using virtual wchar_t xor xor_eq char8_t char16_t char32_t"""
_OPENCL = """kernel global local constant generic pipe read_only write_only read_write half quad imaginary uchar ushort
uint ulong size_t ptrdiff_t intptr_t uintptr_t sampler_t event_t clk_event_t queue_t ndrange_t reserve_id_t
cl_mem_fence_flags barrier get_group_id get_local_id get_global_offset sub_group_shuffle sub_group_shuffle_xor
sub_group_barrier
min max abs select step mix sign HUGE_VAL HUGE_VALF INFINITY NAN MAXFLOAT"""
_CUDA = """threadIdx blockIdx blockDim gridDim warpSize dim3 texture surface cudaTextureObject_t cudaSurfaceObject_t
hipTextureObject_t hipSurfaceObject_t std"""
_OTHERS = "linux unix antune"
"""Macros of GNU's C and nvcc, and the context that functions of exports take."""
_MACROS = """\
linux unix NULL EOF stdin stdout stderr errno EXIT_FAILURE EXIT_SUCCESS RAND_MAX BUFSIZ CLOCKS_PER_SEC assert offsetof
INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL signbit isnan isinf isfinite isnormal fpclassify isunordered isgreater
isgreaterequal isless islessequal islessgreater va_start va_end va_arg va_copy alloca math_errhandling MATH_ERRNO
MATH_ERREXCEPT FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO MB_CUR_MAX M_1_PI M_2_PI
M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 BIG_ENDIAN LITTLE_ENDIAN PDP_ENDIAN
BYTE_ORDER FD_SETSIZE NFDBITS WCONTINUED WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED FILENAME_MAX FOPEN_MAX TMP_MAX
L_ctermid L_tmpnam SEEK_CUR SEEK_END SEEK_SET TIMER_ABSTIME TIME_UTC CLOCK_BOOTTIME CLOCK_MONOTONIC CLOCK_REALTIME
CLOCK_TAI RTLD_DEFAULT RTLD_GLOBAL RTLD_LAZY RTLD_LOCAL RTLD_NEXT RTLD_NODELETE RTLD_NOLOAD RTLD_NOW"""
"""Macros of compilers for Linux and of standard headers."""
_FUNCTIONS = """sqrt cbrt exp exp2 expm1 log log2 log10 log1p pow sin cos tan asin acos atan atan2 sinh cosh tanh fabs
asinh acosh atanh floor ceil round trunc fmod fmin fmax hypot erf erfc fma copysign"""
_WORDS = frozenset(f"{_C} {_CPP} {_OPENCL} {_CUDA} {_OTHERS} labs".split()) | {
    n for f in _FUNCTIONS.split() for n in (f, f"{f}f")
}
_KEYWORDS = frozenset(f"{_C} {_CPP}".split())
_FAMILIES = re.compile(
    r"""
    [bte]\d+ | last\d+ | antune_\w+  # indices, bounds of loops, functions of the generated code
  | fold_\w+  # variables of loops with bounds that are data
  | (u?(char|short|int|long)|u?longlong|float|double|half)\d+  # vectors
  | image\w+_t | (atomic|memory)_\w+ | __\w+ | _[A-Z]\w*  # types of images and atomics, reserved by C
  | (CLK|FLT|DBL|HALF|S?CHAR|UCHAR|U?SHRT|U?INT|U?LONG|M|FP)_\w+  # macros
""",
    re.VERBOSE,
)


def keyword(name: str) -> bool:
    """Return whether it is a keyword of C or C++, so that no function can have this name."""
    return name in _KEYWORDS


def macros(text: str) -> tuple[str, ...]:
    """Return the identifiers of a C text that are macros where standard headers are included."""
    return tuple(sorted(set(re.findall(r"[A-Za-z_]\w*", text)) & set(_MACROS.split())))


def reserved(name: str) -> bool:
    """Return whether OpenCL C, CUDA C++, HIP or the generated code itself uses this name."""
    return name in _WORDS or _FAMILIES.fullmatch(name) is not None


def renamed(names: Collection[str], taken: Iterable[str]) -> dict[str, str]:
    """Return new names for those of `names` that are reserved; the new ones are neither among `names` nor in `taken`.
    """
    found: dict[str, str] = {}
    for name in sorted(filter(reserved, names)):
        found[name] = free_name(name, {*names, *taken, *found.values()})
    return found


def free_name(name: str, taken: Container[str]) -> str:
    """Return `name` if it is neither reserved nor in `taken`, else with underscores appended (and `own_` before
    families).
    """
    if reserved(name + "_"):
        name = f"own_{name}"
    while name in taken or reserved(name):
        name += "_"
    return name
