"""Explorers: the contract that all share, then each method."""
