"""Tests of `runners/opencl`."""
