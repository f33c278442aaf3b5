"""The kinds of exports by name; imports nothing, so that the command line can list them at once."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a run can be exported to."""

    cuda = "cuda"
    hip = "hip"
    opencl = "opencl"
    c_header = "c-header"
    python = "python"
    json = "json"
    t4 = "t4"
    csv = "csv"
    kernel_tuner = "kernel-tuner"


WHOLE_RUN = (Kind.t4, Kind.csv, Kind.kernel_tuner)
"""Kinds that hold all evaluations; the others hold one plan."""
CODE = (Kind.cuda, Kind.hip, Kind.opencl, Kind.c_header, Kind.python)
"""Kinds that are code."""
