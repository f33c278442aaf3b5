"""The store of a run."""
