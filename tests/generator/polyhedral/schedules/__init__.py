"""Tests of `generator/polyhedral/schedules`."""
