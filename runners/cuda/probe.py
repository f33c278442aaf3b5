"""Lists the CUDA devices and describes them. Runs inside worker processes only: it loads the driver."""

from __future__ import annotations

import ctypes

from generator.errors import InputError
from generator.target import Target
from runners.backend import Found, Listed
from runners.base import DeviceInfo
from runners.cuda.bindings import open_api
from runners.cuda.compiler import Capability, Translator, best_capability, open_translator
from runners.cuda.negations import warning
from runners.driver import LaunchError
from runners.gpu.api import Api, DeviceAttribute
from runners.gpu.keys import device_keys

PLATFORM = "CUDA"


def find() -> Found:
    """Return all devices that the compiler supports, in CUDA's order."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return Found((), f"there is no NVIDIA driver ({error}); install it (`nvidia-smi` shows whether it works)")
    devices: list[Listed] = []
    obstacles: list[str] = []
    try:
        api, translator = open_api(), open_translator()
        _check_versions(api, translator)
        for ordinal, key in enumerate(device_keys(api, "cuda")):
            try:
                devices.append(Listed(_describe(api, translator, ordinal, key)))
            except InputError as error:
                obstacles.append(str(error))
    except (InputError, LaunchError) as error:
        return Found((), str(error))
    if not devices and not obstacles:
        return Found((), "the NVIDIA driver has no device (is CUDA_VISIBLE_DEVICES set?)")
    return Found(tuple(devices), "; ".join(obstacles))


def _check_versions(api: Api, translator: Translator) -> None:
    """Raise InputError if the compiler is newer than the driver: drivers load code of their own major version and
    older.
    """
    major, minor = divmod(api.driver_version() // 10, 100)
    if translator.version[0] > major:
        made = ".".join(map(str, translator.version))
        raise InputError(
            f"{translator.name} belongs to CUDA {made}, but the NVIDIA driver supports CUDA {major}.{minor}; "
            f"update the driver or install a compiler of CUDA {major} (docs/devices.md)"
        )


def _describe(api: Api, translator: Translator, ordinal: int, key: str) -> DeviceInfo:
    """Describe a device. Raises InputError if the compiler makes no code for it."""
    target = _target(api, ordinal)
    assert target.capability is not None
    capability = best_capability(translator, target.capability)
    major, minor = divmod(api.driver_version() // 10, 100)
    driver = (f"CUDA {major}.{minor} ({api.name} {api.version}, {translator.name} "
              f"{'.'.join(map(str, translator.version))})")
    features = (f"sm_{target.capability[0]}{target.capability[1]}", "fp64", "images (8- to 64-bit texels)",
                f"shuffles of {target.sub_group}", "atomics (32/64 bit)")
    return DeviceInfo(key, target.name, PLATFORM, driver, target, features,
                      warning(translator, capability, (major, minor)))


def _target(api: Api, ordinal: int) -> Target:
    def ask(attribute: DeviceAttribute) -> int:
        return api.device_attribute(ordinal, attribute)

    kind = DeviceAttribute
    capability: Capability = (ask(kind.COMPUTE_CAPABILITY_MAJOR), ask(kind.COMPUTE_CAPABILITY_MINOR))
    height = ask(kind.MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)
    width = min(ask(kind.MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
                ask(kind.MAXIMUM_TEXTURE2D_LINEAR_PITCH) // 8)  # a texel has at most 8 bytes
    return Target(name=api.device_name(ordinal), dialect="cuda", max_threads=ask(kind.MAX_THREADS_PER_BLOCK),
                  max_block=(ask(kind.MAX_BLOCK_DIM_X), ask(kind.MAX_BLOCK_DIM_Y), ask(kind.MAX_BLOCK_DIM_Z)),
                  local_bytes=max(ask(kind.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), ask(kind.MAX_SHARED_MEMORY_PER_BLOCK)),
                  compute_units=ask(kind.MULTIPROCESSOR_COUNT), fp64=True, shares_host_cores=False,
                  sub_group=ask(kind.WARP_SIZE), images=True,
                  image_1d=ask(kind.MAXIMUM_TEXTURE1D_LINEAR_WIDTH), image_2d=(width, height), image_pairs=True,
                  image_narrow=True, image_pitch=ask(kind.TEXTURE_PITCH_ALIGNMENT),
                  constant_bytes=ask(kind.TOTAL_CONSTANT_MEMORY), capability=capability,
                  cache_bytes=ask(kind.L2_CACHE_SIZE))
