"""Lowered kernels: memory, starts, and random plans run in Python."""
