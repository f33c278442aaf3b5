"""Plans that are chosen without measuring.

Read `neighbours.py` (which dimension is x), `default.py` (PPCG's plan), `usual.py` (which plan is the default on a
device), `starts.py` with `warps.py` and `tensor.py` (plans that are worth measuring first).

May import `lowering.core` and `lowering.analysis`.
"""
