"""`antune compare`."""
