"""Lists the devices of HIP and describes them. Runs inside worker processes only: it loads the driver."""

from __future__ import annotations

from generator.errors import InputError
from generator.target import Target
from runners.backend import UNTESTED, Found, Listed
from runners.base import DeviceInfo
from runners.driver import LaunchError
from runners.gpu.api import DeviceAttribute
from runners.gpu.keys import device_keys
from runners.hip.compiler import Hiprtc
from runners.hip.with_library import HipLibrary

PLATFORM = "HIP"
MOST_CONSTANT_BYTES = 64 * 1024
"""AMD's GPUs keep constants in global memory, without a limit; their scalar caches hold less than this."""


def find() -> Found:
    """Return all devices, in HIP's order."""
    try:
        api = HipLibrary()
        Hiprtc()
        found = tuple(Listed(_describe(api, ordinal, key)) for ordinal, key in enumerate(device_keys(api, "hip")))
    except (InputError, LaunchError) as error:
        return Found((), str(error))
    return Found(found, "" if found else "the AMD driver has no device (is HIP_VISIBLE_DEVICES set?)")


def _describe(api: HipLibrary, ordinal: int, key: str) -> DeviceInfo:
    target = _target(api, ordinal)
    images = ("images (8- to 64-bit texels)",) if target.images else ()
    features = (
        target.architecture,
        "fp64",
        *images,
        f"shuffles of {target.sub_group}",
        "atomics (32/64 bit)",
        UNTESTED,
    )
    return DeviceInfo(key, target.name, PLATFORM, f"HIP {api.version} (hiprtc)", target, features)


def _target(api: HipLibrary, ordinal: int) -> Target:
    def ask(attribute: DeviceAttribute) -> int:
        return api.device_attribute(ordinal, attribute)

    kind, images = DeviceAttribute, api.has_images(ordinal)
    return Target(name=api.device_name(ordinal), dialect="hip", max_threads=ask(kind.MAX_THREADS_PER_BLOCK),
                  max_block=(ask(kind.MAX_BLOCK_DIM_X), ask(kind.MAX_BLOCK_DIM_Y), ask(kind.MAX_BLOCK_DIM_Z)),
                  local_bytes=ask(kind.MAX_SHARED_MEMORY_PER_BLOCK), compute_units=ask(kind.MULTIPROCESSOR_COUNT),
                  fp64=True, shares_host_cores=False, sub_group=ask(kind.WARP_SIZE), images=images,
                  image_1d=ask(kind.MAXIMUM_TEXTURE1D_LINEAR_WIDTH) if images else 0,
                  image_2d=(ask(kind.MAXIMUM_TEXTURE2D_LINEAR_WIDTH), ask(kind.MAXIMUM_TEXTURE2D_LINEAR_HEIGHT))
                  if images else (0, 0),
                  image_narrow=images, image_pitch=ask(kind.TEXTURE_PITCH_ALIGNMENT) if images else 0,
                  constant_bytes=min(ask(kind.TOTAL_CONSTANT_MEMORY), MOST_CONSTANT_BYTES),
                  architecture=api.architecture(ordinal), cache_bytes=ask(kind.L2_CACHE_SIZE))
