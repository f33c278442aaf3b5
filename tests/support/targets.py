"""Targets that differ from the plain one of `tests.support.suite`: a CPU, CUDA, a Hopper GPU, an AMD GPU."""

from __future__ import annotations

from dataclasses import replace

from tests.support.suite import TARGET

CPU = replace(TARGET, shares_host_cores=True, max_threads=4096, max_block=(4096, 4096, 4096), local_bytes=1 << 18)
CUDA = replace(TARGET, dialect="cuda", sub_group=32, images=True, image_1d=1 << 27, image_2d=(131072, 65000),
               constant_bytes=1 << 16)
HOPPER = replace(TARGET, dialect="cuda", sub_group=32, local_bytes=227 * 1024, images=True, image_1d=1 << 27,
                 image_2d=(131072, 65000), constant_bytes=1 << 16, capability=(9, 0))
RDNA = replace(TARGET, dialect="hip", sub_group=32, local_bytes=64 * 1024, images=True, image_1d=1 << 27,
               image_2d=(16384, 16384), constant_bytes=1 << 16, architecture="gfx1030")
