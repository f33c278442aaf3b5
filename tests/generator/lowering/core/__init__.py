"""Tests of `generator/lowering/core`."""
