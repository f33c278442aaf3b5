"""`tune_kernel` with Kernel Tuner's interface: `from antune.kernel_tuner import tune_kernel` (docs/kernel_tuner.md).

The arguments, the cache file and the form of the results are those of Kernel Tuner 1.5 (van Werkhoven, "Kernel Tuner: A
search-optimizing GPU code auto-tuner", Future Generation Computer Systems 90, 2019); searches, checks and measurements
are antune's, with generated code in separate processes.

Read in this order: `tuning.py` (the function), `checking.py` and `call.py` (its arguments become a Call), `making.py`
(text and launch of a configuration), `objective.py`, `searching.py` (the search), `measuring.py` (on a device),
`caching.py` (the cache file). There is no run directory: later calls continue from the cache file.
"""

from antune.kernel_tuner.tuning import tune_kernel

__all__ = ["tune_kernel"]
