"""Tests of `generator/polyhedral/kit`."""
