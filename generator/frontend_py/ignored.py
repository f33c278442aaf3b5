"""Schedules: they are searched here, so those in a definition are accepted without effect."""

from __future__ import annotations

from typing import Any, Self

from generator.frontend_py.types import Type

_NAMES = """
add_trace_tag align_bounds align_extent align_storage allow_race_conditions always_partition always_partition_all
async_ atomic bound_extent bound_storage clone_in compile_jit compute_at compute_inline compute_root compute_with
copy_to_device copy_to_host eager_inline fold_storage fuse gpu gpu_blocks gpu_lanes gpu_single_thread gpu_threads
gpu_tile hexagon hoist_storage hoist_storage_root in_ memoize never_partition never_partition_all no_profiling
parallel partition prefetch print_loop_nest rename reorder reorder_storage rfactor ring_buffer serial
set_host_alignment specialize specialize_fail split store_at store_in store_root tile trace_loads trace_realizations
trace_stores unroll unscheduled vectorize"""
_METHODS = frozenset(_NAMES.split())
_VECTOR_BYTES = 32


class Scheduled:
    """Something with Halide's scheduling methods, which do nothing and return it."""

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return self._ignored
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _ignored(self, *arguments: object, **named: object) -> Self:
        return self

    def update(self, number: int = 0) -> Self:
        """Return the schedule of an update."""
        return self

    def pure(self) -> Self:
        """Return the schedule of the pure definition."""
        return self


class Words:
    """A set of names for schedules, such as Halide's TailStrategy: any name of it is accepted."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


TailStrategy, MemoryType, DeviceAPI, PrefetchBoundStrategy = Words(), Words(), Words(), Words()
TargetFeature, TargetArch, TargetOS = Words(), Words(), Words()
LoopAlignStrategy, Partition = Words(), Words()


class LoopLevel:
    """A place in a schedule: accepted without effect."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    @staticmethod
    def root() -> LoopLevel:
        """Return the place outside of all loops."""
        return LoopLevel()

    @staticmethod
    def inlined() -> LoopLevel:
        """Return the place of inline Funcs."""
        return LoopLevel()


class Target:
    """A machine without known properties: it has no features, so that definitions choose their simplest schedules."""

    arch, os, bits = "ArchUnknown", "OSUnknown", 64

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def has_gpu_feature(self) -> bool:
        """Return False: the command chooses the device."""
        return False

    def has_feature(self, feature: object) -> bool:
        """Return False."""
        return False

    def features_any_of(self, features: object) -> bool:
        """Return False."""
        return False

    def features_all_of(self, features: object) -> bool:
        """Return False."""
        return False

    def supports_device_api(self, device: object) -> bool:
        """Return False."""
        return False

    def with_feature(self, feature: object) -> Target:
        """Return the same target."""
        return self

    without_feature = with_feature

    def set_feature(self, feature: object, value: bool = True) -> None:
        """Do nothing."""

    def natural_vector_size(self, kind: Type) -> int:
        """Return how many values of a type are in 32 bytes, a number for `vectorize`, which has no effect."""
        return _VECTOR_BYTES // kind.bytes()


def get_host_target() -> Target:
    """Return a Target."""
    return Target()


get_jit_target_from_environment = get_target_from_environment = get_host_target
