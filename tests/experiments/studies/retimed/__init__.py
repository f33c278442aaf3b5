"""`antune suite timing`: the same plans timed twice."""
