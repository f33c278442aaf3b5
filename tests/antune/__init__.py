"""The command line and the Python API, as users meet them."""
