"""HIP: AMD's GPUs, by the library that ROCm installs. Untested on hardware.

Read in this order: `backend.py` (what the other rooms see), `library.py` (finding and loading a library),
`with_library.py` (the driver API as `runners/gpu/api.py` wants it), `compiler.py` (text to device code by hiprtc,
without a GPU), `probe.py` (which devices exist). All but `backend.py` is imported in worker processes only.
"""
