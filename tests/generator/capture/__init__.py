"""The user's program: compiled, started, guarded, its data captured."""
