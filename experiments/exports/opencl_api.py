"""The part of OpenCL that an export uses, declared by itself: the export needs no headers and links with no library."""

from __future__ import annotations

from experiments.exports.templates import c_string, chain

CONSTANTS: tuple[tuple[str, int], ...] = (
    ("MEM_OBJECT_ALLOCATION_FAILURE", -4),
    ("OUT_OF_RESOURCES", -5),
    ("OUT_OF_HOST_MEMORY", -6),
    ("IMAGE_FORMAT_NOT_SUPPORTED", -10),
    ("INVALID_IMAGE_SIZE", -40),
    ("INVALID_KERNEL_NAME", -46),
    ("INVALID_WORK_GROUP_SIZE", -54),
    ("INVALID_WORK_ITEM_SIZE", -55),
    ("INVALID_OPERATION", -59),
    ("INVALID_BUFFER_SIZE", -61),
    ("INVALID_IMAGE_DESCRIPTOR", -65),
    ("PLATFORM_NAME", 0x0902),
    ("DEVICE_NAME", 0x102B),
    ("PROGRAM_BUILD_LOG", 0x1183),
    ("MEM_READ_WRITE", 1 << 0),
    ("MEM_READ_ONLY", 1 << 2),
    ("R", 0x10B0),
    ("RG", 0x10B2),
    ("SIGNED_INT32", 0x10D9),
    ("UNSIGNED_INT8", 0x10DA),
    ("UNSIGNED_INT16", 0x10DB),
    ("UNSIGNED_INT32", 0x10DC),
    ("FLOAT", 0x10DE),
    ("MEM_OBJECT_IMAGE2D", 0x10F1),
    ("MEM_OBJECT_IMAGE1D_BUFFER", 0x10F6),
)
"""Constants of the OpenCL specification, by name without CL_."""

_WAIT = "unsigned, void *const *, void **"
FUNCTIONS: tuple[tuple[str, str, str], ...] = (
    ("int", "GetPlatformIDs", "unsigned, void **, unsigned *"),
    ("int", "GetPlatformInfo", "void *, unsigned, size_t, void *, size_t *"),
    ("int", "GetDeviceIDs", "void *, unsigned long long, unsigned, void **, unsigned *"),
    ("int", "GetDeviceInfo", "void *, unsigned, size_t, void *, size_t *"),
    (
        "void *",
        "CreateContext",
        "const void *, unsigned, void *const *, void (*)(const char *, const void *, size_t, void *), void *, int *",
    ),
    ("void *", "CreateCommandQueue", "void *, void *, unsigned long long, int *"),
    ("void *", "CreateProgramWithSource", "void *, unsigned, const char **, const size_t *, int *"),
    ("int", "BuildProgram", "void *, unsigned, void *const *, const char *, void (*)(void *, void *), void *"),
    ("int", "GetProgramBuildInfo", "void *, void *, unsigned, size_t, void *, size_t *"),
    ("void *", "CreateBuffer", "void *, unsigned long long, size_t, void *, int *"),
    (
        "void *",
        "CreateImage",
        "void *, unsigned long long, const struct @F@_image_format *, const struct @F@_image_shape *, void *, int *",
    ),
    ("void *", "CreateKernel", "void *, const char *, int *"),
    ("int", "SetKernelArg", "void *, unsigned, size_t, const void *"),
    ("int", "EnqueueWriteBuffer", f"void *, void *, unsigned, size_t, size_t, const void *, {_WAIT}"),
    ("int", "EnqueueReadBuffer", f"void *, void *, unsigned, size_t, size_t, void *, {_WAIT}"),
    (
        "int",
        "EnqueueWriteImage",
        f"void *, void *, unsigned, const size_t *, const size_t *, size_t, size_t, const void *, {_WAIT}",
    ),
    (
        "int",
        "EnqueueNDRangeKernel",
        f"void *, void *, unsigned, const size_t *, const size_t *, const size_t *, {_WAIT}",
    ),
    ("int", "Finish", "void *"),
    ("int", "ReleaseKernel", "void *"),
    ("int", "ReleaseMemObject", "void *"),
    ("int", "ReleaseProgram", "void *"),
    ("int", "ReleaseCommandQueue", "void *"),
    ("int", "ReleaseContext", "void *"),
)
"""Result, name without cl and parameters of each function; handles are `void *`."""


def api_values(name: str) -> dict[str, str]:
    """Return the declarations and the loading of OpenCL for the exported function `name`."""
    fields = [f"  {result}{'' if result.endswith('*') else ' '}(*{function})({parameters});\n"
              for result, function, parameters in FUNCTIONS]
    return {"CONSTANTS": ",\n  ".join(f"{name}_{constant} = {value}" for constant, value in CONSTANTS),
            "FUNCTIONS": "".join(fields).replace("@F@", name),
            "LOAD": chain([f"{name}_function(library, {c_string(f'cl{function}')}, &{name}_cl.{function})"
                           for _, function, _ in FUNCTIONS])}
