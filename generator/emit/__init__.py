"""Text of device code. `cstyle.py` prints what C-like dialects share, `opencl.py` the words of OpenCL."""
