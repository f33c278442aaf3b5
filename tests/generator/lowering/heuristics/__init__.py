"""Tests of `generator/lowering/heuristics`."""
