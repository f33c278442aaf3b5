"""Tests that need an NVIDIA GPU: `pytest -m gpu`. Elsewhere they are skipped, with the reason."""
