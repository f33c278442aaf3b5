"""The text of kernels."""
