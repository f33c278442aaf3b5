"""Schedules: here they are searched, so that those which a definition brings along are accepted and have no effect."""

from __future__ import annotations

from typing import Any, Self

_METHODS = frozenset(["add_trace_tag", "align_bounds", "align_extent", "align_storage", "allow_race_conditions", "async_", "atomic", "bound_extent", "bound_storage", "clone_in", "compute_at", "compute_inline", "compute_root", "compute_with", "fold_storage", "fuse", "gpu", "gpu_blocks", "gpu_lanes", "gpu_threads", "gpu_tile", "gpu_single_thread", "hexagon", "hoist_storage", "hoist_storage_root", "in_", "memoize", "never_partition", "parallel", "partition", "prefetch", "rename", "reorder", "reorder_storage", "serial", "specialize", "split", "store_at", "store_in", "store_root", "tile", "trace_loads", "trace_realizations", "trace_stores", "unroll", "vectorize"])


class Scheduled:
    """Something with Halide's scheduling methods, which do nothing and return it."""

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return self._ignored
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _ignored(self, *arguments: object, **named: object) -> Self:
        return self

    def update(self, number: int = 0) -> Self:
        """The schedule of an update."""
        return self

    def pure(self) -> Self:
        """The schedule of the pure definition."""
        return self


class Words:
    """A set of names for schedules, as Halide's TailStrategy: any name of it is accepted."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


TailStrategy, MemoryType, DeviceAPI, PrefetchBoundStrategy = Words(), Words(), Words(), Words()
