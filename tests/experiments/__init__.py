"""Runs: begun, interrupted, resumed, damaged, reused; pictures of them."""
