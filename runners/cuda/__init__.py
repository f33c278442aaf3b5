"""The CUDA driver behind `runners.driver`: NVRTC or nvcc in the compile pool, one of two bindings in the device worker.

Read in this order: `api.py` (what is needed of CUDA's driver API), `with_pycuda.py` (with `texture_object.py` for what
pycuda lacks) and `with_cuda_python.py` (the two bindings of it, which know nothing of antune), `bindings.py` (which one
is used), `compiler.py` (text to cubin, without a GPU; `bounds.py`: no spills by the compiler's own choice), `device.py`
(arrays, modules, launches), `textures.py`, `probe.py` (which devices exist; `runners/devices.py` asks it). All of this
room is imported in worker processes only.
"""
