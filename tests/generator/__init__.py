"""From source to kernels: what concerns the whole path. Folders: sources, polyhedral, lowering, emit."""
