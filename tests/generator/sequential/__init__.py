"""Programs as sequential C: what they compute, and how far rounding decides it."""
