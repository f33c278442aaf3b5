"""The words of every dialect."""

from __future__ import annotations

from generator.emit.cuda import CUDA
from generator.emit.opencl import OPENCL
from generator.emit.words import Words
from generator.target import Dialect

WORDS: dict[Dialect, Words] = {"opencl": OPENCL, "cuda": CUDA}
