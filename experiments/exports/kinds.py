"""The kinds of exports by name. This module imports nothing, so that the command line can list them quickly."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """A format that a run can be exported to."""

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
"""Kinds that contain all evaluations; the others contain one plan."""
CODE = (Kind.cuda, Kind.hip, Kind.opencl, Kind.c_header, Kind.python)
"""Kinds that contain code."""
