"""Runners: the contract that all share, processes, limits, faults."""
