"""What CUDA and HIP have in common, behind `runners.driver`: the same calls under other names.

Read in this order: `api.py` (what is needed of a driver API), `units.py` (kernels are compiled one by one, without a
GPU), `device.py` (arrays, modules, launches), `graphs.py` and `intervals.py` (launches that are timed as a whole),
`textures.py`, `texture_object.py` (a structure that both drivers take), `keys.py`, `given.py` and `caller.py` (tuned
code on a caller's arrays). The rooms `cuda/` and `hip/` have the bindings, the compilers, and what lists the devices.
All of it is imported in worker processes only, and where tuned code is called.
"""
