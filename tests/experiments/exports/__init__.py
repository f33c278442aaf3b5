"""Exports of code and of results, built and run without antune."""
