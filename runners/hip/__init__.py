"""HIP: AMD's GPUs, through the library of ROCm. Untested on hardware.

Read in this order: `backend.py` (the interface to other rooms), `library.py` (finding and loading a library),
`with_library.py` (the driver API as `runners/gpu/api.py`), `compiler.py` (text to device code by hiprtc, without a
GPU), `probe.py` (the list of devices). Only worker processes import these modules, except for `backend.py`.
"""
