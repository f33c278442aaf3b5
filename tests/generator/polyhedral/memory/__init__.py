"""Tests of `generator/polyhedral/memory`."""
