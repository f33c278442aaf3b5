"""The words of every dialect."""

from __future__ import annotations

from collections.abc import Mapping

from generator.emit.cuda import CUDA
from generator.emit.hip import HIP
from generator.emit.opencl import OPENCL
from generator.emit.words import Words
from generator.target import Dialect

WORDS: Mapping[Dialect, Words] = {"opencl": OPENCL, "cuda": CUDA, "hip": HIP}
