"""Pipelines in Python: what they compute, what is refused."""
