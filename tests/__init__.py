"""Tests mirror the rooms: what `generator/lowering` does is tested in `tests/generator/lowering`.

`whole` holds tests that cross several rooms, `gpu` those that need an NVIDIA GPU, `support` what tests share, `golden`
the expected texts of generated code. A test imports from `tests.support` only, never from another test.
"""
