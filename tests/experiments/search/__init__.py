"""One search from its plans to its files: checkpoints, resuming, reuse, finals, faults."""
