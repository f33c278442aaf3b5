"""Tests of `generator/lowering/memory`."""
