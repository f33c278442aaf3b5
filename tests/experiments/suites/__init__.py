"""The programs of the suites."""
