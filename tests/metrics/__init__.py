"""Metrics, statistics, the roofline."""
