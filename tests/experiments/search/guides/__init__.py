"""The guide of the space of pipelines."""
