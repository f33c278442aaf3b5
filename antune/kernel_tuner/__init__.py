"""`tune_kernel` as Kernel Tuner's users call it: `from antune.kernel_tuner import tune_kernel` (docs/kernel_tuner.md).

The arguments, the cache file and the form of the results are those of Kernel Tuner 1.5 (van Werkhoven, "Kernel Tuner: A
search-optimizing GPU code auto-tuner", Future Generation Computer Systems 90, 2019); search, checks and measuring are
antune's, with generated code in processes of their own.

Read in this order: `tuning.py` (the function), `checking.py` and `call.py` (its arguments become a Call), `making.py`
(text and launch of a configuration), `objective.py` (what is sought), `searching.py` (the search), `measuring.py` (on a
device), `caching.py` (the cache file). Nothing here is kept in a run directory: the cache file is what a later call
goes on from.
"""

from antune.kernel_tuner.tuning import tune_kernel

__all__ = ["tune_kernel"]
