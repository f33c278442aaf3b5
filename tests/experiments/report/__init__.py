"""The report: its numbers, its page in a real browser, its tables."""
