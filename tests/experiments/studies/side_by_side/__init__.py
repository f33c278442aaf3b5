"""`antune suite`: ways to search a suite, side by side."""
