"""Tests of kernel templates."""
