"""The common part of CUDA and HIP, behind `runners.driver`: the same calls under other names.

Read in this order: `api.py` (the interface of a driver API), `units.py` (kernels are compiled one by one, without a
GPU), `device.py` (arrays, modules, launches), `graphs.py` and `intervals.py` (launches that are timed together),
`textures.py`, `texture_object.py` (a structure for both drivers), `keys.py`, `given.py` and `caller.py` (tuned code on
a caller's arrays). The rooms `cuda/` and `hip/` have the bindings, the compilers, and the lists of devices. Only worker
processes import these modules, and processes that call tuned code.
"""
