"""Tests, one file per behaviour; `*_support.py` hold what several of them share."""
