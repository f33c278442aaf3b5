"""CUDA: NVRTC or nvcc in the compile pool, one of two bindings in the device worker.

Read in this order: `backend.py` (the interface to other rooms), `with_pycuda.py` and `with_cuda_python.py` (two
bindings of the driver API as `runners/gpu/api.py`), `bindings.py` (the choice between them), `compiler.py` (text to
cubin, without a GPU; `headers.py`: the places of CUDA's headers; `bounds.py`: no avoidable register spills;
`negations.py`: a fault of some versions), `probe.py` (the list of devices). Only worker processes import these modules,
except for `backend.py`.
"""
