"""Tests of `generator/polyhedral/pipelines`."""
