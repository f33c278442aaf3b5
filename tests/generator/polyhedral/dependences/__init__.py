"""Tests of `generator/polyhedral/dependences`."""
