"""The first contact with a machine that has a GPU."""
