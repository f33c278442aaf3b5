"""Measured plans to learn from, and the training."""
