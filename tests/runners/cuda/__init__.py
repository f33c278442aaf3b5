"""CUDA: compilers, and the runner over a double of the driver."""
