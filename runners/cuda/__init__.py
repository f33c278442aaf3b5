"""CUDA: NVRTC or nvcc in the compile pool, one of two bindings in the device worker.

Read in this order: `backend.py` (what the other rooms see), `with_pycuda.py` and `with_cuda_python.py` (two bindings of
the driver API as `runners/gpu/api.py` wants it), `bindings.py` (which one is used), `compiler.py` (text to cubin,
without a GPU; `headers.py`: where CUDA's are; `bounds.py`: no spills by the compiler's own choice), `probe.py` (which
devices exist). All but `backend.py` is imported in worker processes only.
"""
