"""The optimization graph and the spaces of all levels."""
