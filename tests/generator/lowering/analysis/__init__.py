"""Tests of `generator/lowering/analysis`."""
