"""HIP's compiler and its driver over a double."""
